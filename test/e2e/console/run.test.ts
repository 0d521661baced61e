/** The screen of a run in a real browser, on the real platform. */
import { afterAll, expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import type { LogEntry } from '../../../client/index.ts';
import { foldRun } from '../../../web/src/screens/run/fold-run.ts';
import type { Client, TestUser } from '../../support/app.ts';
import { accessibilityProblems, keepPicture, type Visit, type VisitOptions } from '../../support/chromium.ts';
import { consoleTests, expectFits, expectScreensFit, type Screen } from '../../support/console.ts';
import { agentBody, registeredAgent } from '../../support/agent-body.ts';
import { agentTask } from '../../support/definitions.ts';
import { startServer, type TestServer } from '../../support/http-server.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';
import { startStreamingModel } from '../../support/streaming-model.ts';
import { readLog } from '../../support/run-log.ts';
import { startRun, until } from '../../support/platform.ts';

let builder: Client;
let owner: TestUser;
let shop: TestServer;
/** Answers of the shop with an error, before it works. */
let failures = 0;

const { inBrowser, visit: visitAs } = consoleTests(async (platform) => {
  owner = await platform.createUser({ username: 'olga', roles: ['builder'] });
  builder = await platform.as(owner);
  shop = await startServer((_, response) => {
    failures -= 1;
    response.writeHead(failures >= 0 ? 503 : 200, { 'content-type': 'application/json' });
    response.end('{"stock":4}');
  });
});
afterAll(async () => shop?.close());

const view = encodeURIComponent;

/** A fork, a loop, a try that succeeds at the third attempt, and a person who decides. */
const order = () => ({
  do: [
    {
      gather: {
        fork: {
          branches: [
            { history: { set: { seen: true } } },
            { carrier: { do: [{ settle: { wait: { milliseconds: 50 } } }, { ask: { set: { late: 2 } } }] } },
          ],
        },
      },
    },
    {
      stock: {
        try: [{ count: { call: 'http', with: { method: 'get', endpoint: `${shop.url}/stock` } } }],
        catch: { retry: { delay: { milliseconds: 20 }, limit: { attempt: { count: 5 } } } },
      },
    },
    { each: { for: { in: '[range(12)]' }, do: [{ line: { set: { at: '${ $index }' } } }] } },
    {
      review: {
        call: 'human',
        with: { title: 'Send ${ $workflow.input.order }?', candidates: { users: ['olga'] } },
      },
    },
    { settle: { set: { done: true } } },
  ],
});

const visit = (options?: VisitOptions): Promise<Visit> => visitAs(owner, options);

async function waitingRun(name: string): Promise<string> {
  failures = 2;
  const { id } = await startRun(builder, order(), { order: name });
  await until(
    async () => (await builder.get(`/runs/${id}`)).body.status,
    (now) => now === 'waiting',
  );
  return id;
}

const task = (page: Page, name: RegExp) =>
  page.getByRole('group', { name: 'Diagram of the workflow' }).getByRole('button', { name });

inBrowser('the diagram shows the state of each task, and chooses steps by keyboard', async () => {
  const run = await waitingRun('D-1');
  const { page, complaints, open } = await visit();
  await open(`/runs/${run}`);
  await page.getByRole('tab', { name: 'Diagram' }).waitFor();
  await page.keyboard.press('2');
  await task(page, /^waiting review/).waitFor();
  await task(page, /^completed count.*try 3/).waitFor();
  await task(page, /^completed line.*×12/).waitFor();
  // One tab stop, arrows move.
  await task(page, /^completed gather/).focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  expect(await task(page, /carrier/).getAttribute('aria-pressed')).toBe('true');
  await page.getByRole('complementary').getByRole('heading', { name: 'carrier' }).waitFor();
  await page.keyboard.press('End');
  expect(await page.evaluate('document.activeElement.innerText')).toContain('settle');
  // A task that the run has not reached has nothing to show.
  await page.keyboard.press('Enter');
  await page.getByRole('complementary').getByRole('heading', { name: 'carrier' }).waitFor();
  expect(await page.locator('[aria-label="Diagram of the workflow"] [tabindex="0"]').count()).toBe(1);
  expect(complaints).toEqual([]);
});

const step = (page: Page, name: RegExp) => page.getByRole('treeitem', { name });
const statusOf = async (run: string): Promise<string> => (await builder.get(`/runs/${run}`)).body.status;
const becomes = (run: string, status: string) =>
  until(
    () => statusOf(run),
    (now) => now === status,
  );

async function decide(run: string): Promise<void> {
  const [asked] = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${run}`)).body,
    (found: any[]) => found.length > 0,
  );
  const { status } = await builder.post(`/hitl/tasks/${asked.id}/decision`, { decision: 'approve' });
  expect(status).toBe(200);
}

inBrowser('the timeline folds loops, and the scrubber shows the run as it was while it goes on', async () => {
  const run = await waitingRun('T-1');
  const { page, complaints, open } = await visit();
  await open(`/runs/${run}`);
  await step(page, /^waiting review/).waitFor();
  const loop = step(page, /^completed each for ▸ ×12/);
  await loop.click();
  expect(await step(page, /line/).count()).toBe(0);
  await page.keyboard.press('o');
  await step(page, /^completed line set · visit 12/).waitFor();
  expect(await step(page, /^completed line/).count()).toBe(12);
  await page.keyboard.press('ArrowLeft');
  await loop.waitFor();
  // Three attempts are three rows.
  expect(await step(page, /count http/).allInnerTexts()).toEqual([
    expect.stringContaining('count'),
    expect.stringContaining('try 2'),
    expect.stringContaining('try 3'),
  ]);
  const { body: before } = await builder.get(`/runs/${run}/logs?limit=200`);
  const begun = before.find(({ task: at, type }: any) => at === '/do/1/stock' && type.includes('started'));
  await page.getByRole('slider').fill(String(begun.seq));
  await step(page, /^running stock/).waitFor();
  expect(await step(page, /review/).count()).toBe(0);
  await page.waitForURL((url) => url.searchParams.get('at') === String(begun.seq));
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.getByText(`event ${begun.seq - 2} of`).waitFor();
  expect(await step(page, /stock/).count()).toBe(0);
  await decide(run);
  await page.locator('h1 ~ p').getByText('completed').waitFor();
  // The run is over, and the page still shows how it was.
  expect(await step(page, /review/).count()).toBe(0);
  await page.keyboard.press('.');
  await step(page, /^completed review/).waitFor();
  await page.waitForURL((url) => !url.searchParams.has('at'));
  expect(complaints).toEqual([]);
});

inBrowser('a step shows what its model writes while it writes', async () => {
  const model = await startStreamingModel();
  try {
    const configuration = { base_url: `${model.url}/v1`, model: 'tiny' };
    await builder.post('/agents', agentBody({ name: 'poet', type: 'llm', configuration }));
    const { id } = await startRun(builder, {
      do: [{ ask: agentTask('poet', { input: 'Hi', stream: true }) }],
    });
    await model.begun(1);
    const { page, complaints, open } = await visit();
    await open(`/runs/${id}?step=${view('/do/0/ask#1')}`);
    const inspector = page.getByRole('complementary');
    const soFar = inspector.getByRole('group', { name: 'Output so far' });
    model.say('Once <b>upon');
    await soFar.getByText('Once <b>upon', { exact: true }).waitFor();
    model.say(' a time');
    await soFar.getByText('Once <b>upon a time', { exact: true }).waitFor();
    model.finish();
    await inspector.getByRole('heading', { name: 'Output', exact: true }).waitFor();
    expect(await soFar.count()).toBe(0);
    expect(complaints).toEqual([]);
  } finally {
    await model.close();
  }
});

inBrowser('turns and tools of a model are steps, and its calls are approved in the inbox', async () => {
  const model = await startScriptedModel();
  try {
    model.script(({ messages }) =>
      messages.at(-1).role === 'user'
        ? { text: 'I pay back.', calls: [{ name: 'pay-back', arguments: { amount: 80 } }] }
        : { text: 'Paid.' },
    );
    const amount = { type: 'integer', minimum: 1 };
    const input_schema = { type: 'object', required: ['amount'], properties: { amount } };
    await builder.post(
      '/agents',
      agentBody({ name: 'pay-back', configuration: { endpoint: shop.url }, input_schema }),
    );
    const tools = [{ agent: 'pay-back', approval: 'always' }];
    const configuration = { base_url: `${model.url}/v1`, model: 'tiny', tools };
    const clerk = await registeredAgent(builder, { name: 'clerk', type: 'llm', configuration });
    const { page, complaints, open } = await visit();
    await open(`/agents/${clerk.id}?view=try`);
    await page.getByLabel('Text, or JSON').fill('My kettle broke');
    await page.getByLabel('Conversation').fill('olga-1');
    await page.getByRole('button', { name: /^Invoke/ }).click();
    await page.getByRole('link', { name: 'A person is asked. Open the inbox' }).waitFor();
    await open('/inbox?q=pay-back');
    await page.getByRole('heading', { name: 'May clerk call pay-back?' }).waitFor();
    await page.getByText('I pay back.', { exact: true }).waitFor();
    await page.getByRole('group', { name: 'Arguments' }).getByLabel('Amount').fill('70');
    await page.getByRole('button', { name: 'Approve' }).click();
    const run = await until(
      async () => (await builder.get(`/agents/${clerk.id}/runs`)).body[0],
      ({ status }) => status === 'completed',
    );
    await open(`/runs/${run.id}?step=${view('/do/0/invoke/tools/pay-back#1')}`);
    await step(page, /invoke: turn 1/).waitFor();
    await step(page, /invoke: turn 2/).waitFor();
    await page.getByRole('complementary').getByRole('heading', { name: 'pay-back' }).waitFor();
    expect(JSON.parse(shop.seen.at(-1)?.body ?? '')).toEqual({ amount: 70 });
    await open(`/agents/${clerk.id}?view=try`);
    await page.getByText('2 messages').click();
    await page.getByText('Paid.', { exact: true }).waitFor();
    await keepPicture(page, 'conversation');
    await page.getByRole('button', { name: 'Forget' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
    await page.getByText('2 messages').waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  } finally {
    await model.close();
  }
});

inBrowser('a step shows its input and output, and the log follows it', async () => {
  const run = await waitingRun('I-1');
  await decide(run);
  await becomes(run, 'completed');
  const { page, complaints, open } = await visit();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(`/runs/${run}?step=${view('/do/4/settle#1')}`);
  const inspector = page.getByRole('complementary');
  await inspector.getByRole('heading', { name: 'Input' }).waitFor();
  expect(await inspector.getByRole('heading', { level: 3 }).allInnerTexts()).toEqual(['Input', 'Output']);
  await inspector.getByRole('button', { name: 'Copy as curl' }).click();
  await page.getByText('Copied.').waitFor();
  const copied = await page.evaluate('navigator.clipboard.readText()');
  expect(copied).toContain(`/runs/${run}/tasks/%2Fdo%2F4%2Fsettle?visit=1`);
  await page.keyboard.press('3');
  const log = page.getByRole('list', { name: 'Log of the run' });
  await log.getByRole('listitem').first().waitFor();
  expect(await log.getByRole('listitem').count()).toBe(2);
  await page.keyboard.press('Escape');
  await page.getByText(/^\d+ entries$/).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('attempt');
  await page.getByText(/^\d+ of \d+ entries$/).waitFor();
  await page.getByRole('searchbox').fill('');
  await page.getByRole('heading', { level: 1 }).click();
  await page.keyboard.press('End');
  await log.getByText('settle').last().waitFor();
  await page.keyboard.press('p');
  const { body: all } = await builder.get(`/runs/${run}/logs?limit=200`);
  const text = await page.getByRole('region', { name: 'Log of the run' }).innerText();
  expect(text.split('\n').map((line) => Number(line.split('\t')[0]))).toEqual(all.map(({ seq }: any) => seq));
  expect(complaints).toEqual([]);
});

inBrowser('a run is suspended, resumed, cancelled and started again by keyboard', async () => {
  const run = await waitingRun('A-1');
  const { page, complaints, open } = await visit();
  await open(`/runs/${run}`);
  await step(page, /review/).waitFor();
  await page.keyboard.press('S');
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  await becomes(run, 'suspended');
  await page.keyboard.press('S');
  await page.getByRole('button', { name: 'Suspend' }).waitFor();
  await becomes(run, 'waiting');
  await page.keyboard.press('C');
  await page.getByRole('dialog').getByText('A cancelled run cannot be resumed.').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await statusOf(run)).toBe('waiting');
  await page.keyboard.press('C');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel run' }).focus();
  await page.keyboard.press('Enter');
  await becomes(run, 'cancelled');
  await page.getByRole('button', { name: 'Run again' }).waitFor();
  await page.keyboard.press('R');
  const input = page.getByRole('dialog').getByLabel('Input as JSON');
  expect(JSON.parse(await input.inputValue())).toEqual({ order: 'A-1' });
  expect(await accessibilityProblems(page)).toEqual([]);
  await keepPicture(page, 'run-again');
  await input.fill('{"order": ');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByText('This is not JSON.').waitFor();
  await input.fill('{"order": "A-2"}');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(run));
  const next = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  await becomes(next, 'waiting');
  expect((await builder.get(`/runs/${next}`)).body.input_params).toEqual({ order: 'A-2' });
  expect(complaints).toEqual([]);
});

inBrowser('a failed run is retried from the failed step, and seen to its end', async () => {
  failures = 1000;
  const { id: run } = await startRun(builder, order(), { order: 'F-1' });
  await becomes(run, 'faulted');
  const { page, complaints, open } = await visit();
  await open(`/runs/${run}`);
  await step(page, /^faulted count http · try 5/).waitFor();
  failures = 0;
  await page.keyboard.press('R');
  await page.getByRole('dialog').getByRole('button', { name: 'Retry from the failed step' }).click();
  await page.getByRole('link', { name: 'Retry of' }).waitFor();
  const retried = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  expect(retried).not.toBe(run);
  await step(page, /^waiting review/).waitFor();
  await decide(retried);
  await page.locator('h1 ~ p').getByText('completed').waitFor();
  await step(page, /^completed settle/).waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('a failed run is retried by another revision, from another step, with another input', async () => {
  failures = 1000;
  const { id: run, workflow_id: workflow } = await startRun(builder, order(), { order: 'F-2' });
  await becomes(run, 'faulted');
  const definition = { do: [...order().do.slice(0, 4), { settle: { set: { done: 'anew' } } }] };
  expect((await builder.patch(`/workflows/${workflow}`, { definition })).body.revision).toBe(2);
  const { page, complaints, open } = await visit();
  await open(`/runs/${run}`);
  await step(page, /^faulted count http · try 5/).waitFor();
  await page.keyboard.press('R');
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await dialog.getByRole('button', { name: 'Change something…' }).click();
  await dialog.getByLabel('Revision').fill('2');
  await dialog.getByLabel('Continue with step').fill('/do/3/review');
  await dialog.getByLabel('Its input, as JSON').fill('{"order": ');
  const retry = dialog.getByRole('button', { name: 'Retry', exact: true });
  await retry.click();
  await dialog.getByText('The input is not JSON.').waitFor();
  await dialog.getByLabel('Its input, as JSON').fill('{"order": "F-3"}');
  await dialog.getByLabel('Revision').fill('7');
  await retry.click();
  await dialog
    .getByRole('alert')
    .getByText(/revision/)
    .waitFor();
  expect(complaints.splice(0)).toEqual([expect.stringContaining('404')]);
  await expectFits(page, 'run-retry-with-changes');
  await dialog.getByLabel('Revision').fill('2');
  await retry.click();
  await page.getByRole('link', { name: 'Retry of' }).waitFor();
  const retried = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  await step(page, /^waiting review/).waitFor();
  const { body: review } = await builder.get(`/runs/${retried}/tasks/${view('/do/3/review')}`);
  expect(review.input).toEqual({ order: 'F-3' });
  await decide(retried);
  await becomes(retried, 'completed');
  const { body: record } = await builder.get(`/runs/${retried}`);
  expect(record).toMatchObject({ retry_of: run, workflow_revision: 2, output: { done: 'anew' } });
  expect(complaints).toEqual([]);
});

inBrowser(
  'every view of a run is accessible and fits, on a desk and on a phone, light and dark',
  async () => {
    const run = await waitingRun('V-1');
    const screens = viewsOfRun.map(([name, query, ready]) => [name, `/runs/${run}${query}`, ready] as const);
    await expectScreensFit((viewport) => visit({ viewport }), screens);
  },
);

inBrowser('what the page folds out of the log is what the server has written beside it', async () => {
  const { body: runs } = await builder.get('/runs?limit=50');
  const statuses = new Set<string>();
  for (const { id, status } of runs) {
    const { body: record } = await builder.get(`/runs/${id}`);
    const fold = foldRun((await readLog(builder, id)) as LogEntry[]);
    const fields = ({ reference, visit, name, type, attempt, ...more }: any) =>
      [`${reference}#${visit}`, { name, type, attempt, status: more.status }] as const;
    expect(Object.fromEntries(fold.steps.map(fields))).toEqual(Object.fromEntries(record.tasks.map(fields)));
    for (const { reference, visit, error, hitl_task_id: asked = null } of record.tasks) {
      const found = fold.steps.find((one) => one.key === `${reference}#${visit}`);
      expect([found?.error, found?.humanTaskId]).toEqual([error ?? null, asked]);
    }
    statuses.add(status);
  }
  expect([...statuses]).toEqual(expect.arrayContaining(['completed', 'cancelled', 'faulted', 'waiting']));
});

/** Name, query, and a text that shows that the view is there. */
const viewsOfRun: Screen[] = [
  ['run-timeline', `?step=${view('/do/1/stock/try/0/count#3')}`, '×12'],
  ['run-earlier', '?at=12', 'event 12 of'],
  ['run-diagram', `?view=diagram&step=${view('/do/1/stock/try/0/count#3')}`, 'try 3'],
  ['run-log-of-step', `?view=log&step=${view('/do/2/each#1')}`, 'Only each: show all'],
];
