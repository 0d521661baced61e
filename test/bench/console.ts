/**
 * Times of the console in a real Chromium, beside their bars, on a database and a Temporal of its own:
 * `npm run bench:console [part…]`. The browser, the server and the worker share the machine.
 */
import { loadavg } from 'node:os';
import type { Page } from 'playwright-core';
import { launchChromium, visitConsole } from '../support/chromium.ts';
import { startOwnPlatform } from '../support/own-platform.ts';
import { endOf, runToEnd, startRun, until } from '../support/platform.ts';
import { insertRun } from '../support/human-tasks.ts';

const TASKS = 10_000;
const DECIDED = 10;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const percentile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;

const platform = await startOwnPlatform();
const browser = await launchChromium();
const ada = await platform.createUser({ username: 'ada', roles: ['builder'] });
const builder = await platform.as(ada);

const slowNetwork = { latency: 150, downloadThroughput: 200_000, uploadThroughput: 200_000 };
const MACHINES: [machine: string, bar: number, limits: Limits][] = [
  ['cold cache', 600, {}],
  ['cold cache, processor 4 times slower', 1_200, { slower: 4 }],
  ['the same over 1.6 Mbit/s with 150 ms', 2_000, { slower: 4, network: slowNetwork }],
];
const rows: [name: string, bar: number, value: number, unit?: string][] = [];
await addTasks({ count: TASKS, priority: 50 });
// Those that are decided come first. Each has a run of its own, which Temporal does not know: the first
// decision of a run ends it with its other tasks.
for (let n = 1; n <= DECIDED; n++) await addTasks({ count: 1, priority: 90, first: TASKS + n });
const parts = { inbox, scrolling, liveRun, longRun, anothersInbox, editor };
const wanted = process.argv.slice(2);
for (const [name, measure] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const startMs = Date.now();
  await measure();
  say(`${name} took ${Math.round((Date.now() - startMs) / 1_000)} s`);
}
say(`load average ${loadavg()[0]?.toFixed(1)}; figures of a machine that is busy otherwise mean little`);
say('| | bar | measured | |\n|---|---|---|---|');
for (const [name, bar, value, unit = 'ms'] of rows) {
  const drawn = '█'.repeat(Math.min(30, Math.max(1, Math.round((value / bar) * 15))));
  say(`| ${name} | ≤ ${bar} ${unit} | ${value.toFixed(0)} ${unit} | ${drawn}${value > bar ? ' over' : ''} |`);
}
await browser.close();
await platform.close();
process.exit(0);

/** Records in the page: long tasks, and the time of the frame in which a condition holds. */
async function opened(): Promise<{ page: Page; open: (path: string) => Promise<void> }> {
  const { page, open } = await visitConsole(browser, platform, ada);
  await page.addInitScript(`
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
    }).observe({ type: 'longtask', buffered: true });
    window.painted = (holds) => new Promise((resolve) => {
      const look = () => requestAnimationFrame(() => {
        if (!holds()) return look();
        const channel = new MessageChannel();
        channel.port1.onmessage = () => resolve(performance.timeOrigin + performance.now());
        channel.port2.postMessage(0);
      });
      look();
    });`);
  return { page, open };
}

/** @param holds JavaScript expression @returns wall-clock milliseconds of the frame that shows it */
async function painted(page: Page, holds: string): Promise<number> {
  return Number(await page.evaluate(`window.painted(() => ${holds})`));
}

interface Limits {
  /** How many times slower the processor is. */
  slower?: number;
  network?: { latency: number; downloadThroughput: number; uploadThroughput: number };
}

/** Milliseconds from the address to the painted rows, in a window without a cache. */
async function firstRows({ slower, network }: Limits): Promise<number> {
  const { page, open } = await opened();
  const devtools = await page.context().newCDPSession(page);
  if (slower !== undefined) await devtools.send('Emulation.setCPUThrottlingRate', { rate: slower });
  if (network !== undefined)
    await devtools.send('Network.emulateNetworkConditions', { offline: false, ...network });
  const startMs = Date.now();
  await open('/inbox');
  const endMs = await painted(page, `document.querySelector('[role=option]') !== null`);
  await page.context().close();
  return endMs - startMs;
}

interface NewTasks {
  count: number;
  priority: number;
  /** The number in the first title. */
  first?: number;
}

async function addTasks({ count, priority, first = 1 }: NewTasks): Promise<void> {
  const run = await insertRun(platform.orm, { owner: ada.id });
  await platform.orm.em.fork().execute(
    `insert into hitl_task (id, run_id, workflow_name, owner_id, initiator_id, task, task_name, title,
                            decisions, status, priority, candidates, candidate_keys)
     select gen_random_uuid(), ?::uuid, 'refund', ?::uuid, ?::uuid, '/do/0/review', 'review', 'Refund ' || n,
            '[{"id": "approve", "label": "Approve", "requires_comment": false},
              {"id": "reject", "label": "Reject", "requires_comment": false}]',
            'open', ?, '{"users": ["ada"]}', array['name:ada']
       from generate_series(${first}, ${first + count - 1}) n`,
    [run, ada.id, ada.id, priority],
  );
  await platform.orm.em.fork().execute('vacuum analyze hitl_task');
}

async function inbox(): Promise<void> {
  // The first visit also starts the browser's processes, and compiles the server's code.
  await firstRows({});
  for (const [machine, bar, limits] of MACHINES) {
    const times: number[] = [];
    for (let n = 0; n < 5; n++) times.push(await firstRows(limits));
    rows.push([`inbox of 10,000 tasks: rows painted, ${machine}, worst of 5`, bar, Math.max(...times)]);
  }
  const { page, open } = await opened();
  await open('/inbox');
  const selected = `document.querySelector('[role=option][aria-selected=true]')?.innerText`;
  await painted(page, `${selected} !== undefined`);
  rows.push([
    'inbox: key j to painted frame, p95 of 100',
    50,
    percentile(await keys(page, selected, ['j'], 100), 0.95),
  ]);
  await open('/inbox');
  await painted(page, `${selected} !== undefined`);
  // Nobody decides a task before it is there.
  const titleOf = (element: string) => `document.querySelector('${element}')?.textContent`;
  const isWhole = `${titleOf('[aria-selected=true] span')} === ${titleOf('article h2')}`;
  rows.push([
    'inbox: decide → next task, p95 of 10',
    50,
    percentile(await keys(page, selected, ['a', 'Enter'], DECIDED, isWhole), 0.95),
  ]);
  await page.context().close();
}

/** All pages of the inbox, one after the other as the end of the list comes into view. */
async function scrolling(): Promise<void> {
  const { page, open } = await opened();
  await open('/inbox');
  await painted(page, `document.querySelector('[role=option]') !== null`);
  const devtools = await page.context().newCDPSession(page);
  // Some tasks were decided before.
  const found = await page.evaluate(`(async () => {
    window.longest = 0;
    const box = document.querySelector('[role=listbox]');
    const frames = [];
    const start = performance.now();
    for (let last = start; box.querySelector('[role=option]').ariaSetSize === '-1'; ) {
      box.scrollTop = box.scrollHeight;
      const at = await new Promise(requestAnimationFrame);
      frames.push(at - last);
      last = at;
    }
    const count = Number(box.querySelector('[role=option]').ariaSetSize);
    return { ms: performance.now() - start, frames, count };
  })()`);
  const { ms, frames, count } = found as { ms: number; frames: number[]; count: number };
  if (count < TASKS - 100) throw new Error(`the list ends with ${count} tasks`);
  await devtools.send('HeapProfiler.collectGarbage');
  const { metrics } = await devtools
    .send('Performance.enable')
    .then(() => devtools.send('Performance.getMetrics'));
  const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN;
  rows.push(
    ['inbox: all 10,000 rows by scrolling', 10_000, ms],
    ['inbox: frames while scrolling, p95', 20, percentile(frames, 0.95)],
    ['inbox: longest task while scrolling', 50, Number(await page.evaluate('longest'))],
    ['inbox: heap with all rows', 60, heap / 2 ** 20, 'MiB'],
  );
  await page.context().close();
}

/** From the last of the keys to the frame that shows another selection. */
async function keys(
  page: Page,
  selected: string,
  typed: string[],
  rounds: number,
  isReady = 'true',
): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < rounds; n++) {
    await painted(page, isReady);
    const before = JSON.stringify(await page.evaluate(selected));
    await page.evaluate(`window.frame = new Promise((resolve) => {
      document.addEventListener('keydown', ({ key, timeStamp }) => {
        if (key !== '${typed.at(-1)}') return;
        window.painted(() => ${selected} !== ${before})
          .then((at) => resolve(at - performance.timeOrigin - timeStamp));
      }, { capture: true });
    }); undefined`);
    for (const key of typed) await page.keyboard.press(key);
    times.push(Number(await page.evaluate('window.frame')));
  }
  return times;
}

/** A comment is an event of the run: from its request to the frame that shows it. */
async function liveRun(): Promise<void> {
  const human = { title: 'Review', candidates: { users: ['ada'] } };
  const { id } = await startRun(builder, { do: [{ review: { call: 'human', with: human } }] }, {});
  const [task] = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${id}`)).body,
    (found: any[]) => found.length > 0,
  );
  const { page, open } = await opened();
  await open(`/runs/${id}?view=log`);
  await page.getByRole('list', { name: 'Log of the run' }).getByText('Review').first().waitFor();
  // As the log counts them: of a long list only the rows in view are drawn.
  const entries = `parseInt(document.querySelector('[role=tabpanel] .number').innerText)`;
  const times: number[] = [];
  for (let n = 0; n < 20; n++) {
    const shown = Number(await page.evaluate(entries));
    const frame = painted(page, `${entries} > ${shown}`);
    const startMs = Date.now();
    const { status } = await builder.post(`/hitl/tasks/${task.id}/comments`, { comment: `note ${n}` });
    if (status !== 201) throw new Error(`the comment was answered with ${status}`);
    times.push((await frame) - startMs);
  }
  rows.push(['open run: POST → its event painted, p95 of 20', 150, percentile(times, 0.95)]);
  await page.context().close();
}

/** From the request that starts a run to the frame in which its task is in another person's open inbox. */
async function anothersInbox(): Promise<void> {
  const { page, open } = await opened();
  await open('/inbox?q=For+another');
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  const times: number[] = [];
  for (let n = 0; n < 20; n++) {
    const frame = painted(page, `document.querySelector('[role=option]')?.ariaSetSize === '${n + 1}'`);
    const human = { title: `For another ${n}`, candidates: { users: ['ada'] } };
    const definition = { do: [{ review: { call: 'human', with: human } }] };
    const { body } = await builder.post('/workflows', { name: 'For another', definition });
    const startMs = Date.now();
    const { status } = await builder.post(`/workflows/${body.id}/run`, {});
    if (status !== 201) throw new Error(`the start was answered with ${status}`);
    times.push((await frame) - startMs);
  }
  rows.push(['run started → task in an open inbox, p95 of 20', 500, percentile(times, 0.95)]);
  await page.context().close();
}

/** A key that breaks the text, until the problem is shown; 120 ms of it wait for somebody who types on. */
async function editor(): Promise<void> {
  const { page, open } = await opened();
  await open('/workflows/new');
  await page.getByText('No problems').first().waitFor();
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+End');
  const problems = `String(document.querySelectorAll('[data-severity=error]').length > 0)`;
  const times: number[] = [];
  for (let n = 0; n < 10; n++) {
    times.push(...(await keys(page, problems, ['x'], 1)));
    await keys(page, problems, ['Backspace'], 1);
  }
  rows.push(['editor: key to shown problem, p95 of 10', 250, percentile(times, 0.95)]);
  await page.context().close();
}

/** A loop of 400 rounds with two tasks each: 801 steps, 1,600 events and some. */
async function longRun(): Promise<void> {
  const round = [{ one: { set: { a: 1 } } }, { two: { set: { b: 2 } } }];
  const definition = { do: [{ each: { for: { in: '[range(400)]' }, do: round } }] };
  const { id, status, logs } = await endOf(builder, await runToEnd(builder, definition));
  if (status !== 'completed') throw new Error(`the long run is ${status}`);
  const { page, open } = await opened();
  const startMs = Date.now();
  await open(`/runs/${id}`);
  const isWhole = `document.querySelector('input[type=range]')?.max === '${logs.at(-1).seq}'
    && document.querySelector('[role=treeitem]')?.innerText.includes('×400')`;
  rows.push(['run of 801 steps: page to all bars', 1000, (await painted(page, isWhole)) - startMs]);
  await page.keyboard.press('j');
  const frame = painted(page, `document.querySelectorAll('[role=treeitem]').length > 20`);
  await page.keyboard.press('o');
  await frame;
  rows.push([
    'run of 801 steps: longest task, with the loop opened',
    100,
    Number(await page.evaluate('longest')),
  ]);
  await page.context().close();
}
