/** Runs and human tasks by the command line: real processes on the real platform. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Client, TestUser } from '../../support/app.ts';
import { cliOnTerminal, cliUser, noTerminal, type CliUser, type TerminalCli } from '../../support/cli.ts';
import { testUnless } from '../../support/outside.ts';
import { startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;
let builder: Client;
let ada: TestUser;
let cli: CliUser;

const form = {
  type: 'object',
  required: ['amount'],
  properties: { amount: { type: 'number', title: 'Amount to refund', minimum: 1 } },
};
const review = (title: string, more: object = {}) => ({
  input: {
    schema: { document: { type: 'object', required: ['order'], properties: { order: { type: 'string' } } } },
  },
  do: [
    { check: { set: { order: '${ .order }' } } },
    {
      review: { call: 'human', with: { title, candidates: { users: ['ada'] }, context: ['check'], ...more } },
    },
  ],
});
const workflow = async (name: string, definition: unknown): Promise<void> => {
  const created = await builder.post('/workflows', { name, definition });
  expect([created.status, created.body.problems]).toEqual([201, []]);
};

beforeAll(async () => {
  platform = await startTestPlatform();
  ada = await platform.createUser({ username: 'ada', roles: ['builder'] });
  builder = await platform.as(ada);
  cli = cliUser({ CADENZA_URL: platform.url, CADENZA_TOKEN: ada.token });
  await workflow('Refund', review('Refund ${ .order }?'));
  await workflow('Amount', review('How much for ${ .order }?', { form }));
});
afterAll(async () => platform.close());

/** The id of the task that waits, found as a person does. */
const waitingTask = (run: string): Promise<string> =>
  until(
    async () => (await builder.get(`/hitl/tasks?run_id=${run}`)).body[0]?.id as string,
    (id) => id !== undefined,
  );
const started = async (name: string, order: string): Promise<string> => {
  const { exitCode, stdout, stderr } = await cli.run([
    'run',
    'start',
    name,
    '-i',
    `order=${order}`,
    '-o',
    'name',
  ]);
  expect([exitCode, stderr]).toEqual([0, '']);
  return stdout.trim();
};

test('somebody starts a run, decides its task, and the watching process sees the end', async () => {
  const run = await started('Refund', '12');
  const watch = cli.start(['run', 'watch', run]);
  const task = await waitingTask(run);
  const inbox = await cli.run(['inbox']);
  expect(inbox.json()).toMatchObject([{ id: task, title: 'Refund 12?', run_id: run }]);
  const shown = (await cli.run(['task', 'get', task, '-o', 'table'])).stdout;
  expect(shown).toContain('decisions: approve, reject');
  expect(shown).toContain('what led here:\n  check (completed)\n    order: "12"\n');
  expect((await cli.run(['run', 'get', run, '-o', 'table'])).stdout).toContain(`cadenza task decide ${task}`);

  const decided = await cli.run(['task', 'decide', task, 'approve', '-m', 'Lovely']);
  expect([decided.exitCode, decided.json().decision]).toMatchObject([
    0,
    { decision: 'approve', comment: 'Lovely' },
  ]);
  const watched = await watch.done;
  expect(watched.exitCode).toBe(0);
  const entries = watched.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1));
  expect(watched.stderr).toContain('completed');

  const again = await cli.run(['task', 'decide', task, 'reject', '-o', 'json']);
  expect([again.exitCode, JSON.parse(again.stderr)]).toMatchObject([
    5,
    { code: 'already_decided', decision: { decision: 'approve' } },
  ]);
  const [steps, errors, drawn] = await Promise.all([
    cli.run(['run', 'logs', run, '--step', 'check', '--jq', '.task']),
    cli.run(['run', 'logs', run, '--level', 'error']),
    cli.run(['run', 'diagram', run, '--svg']),
  ]);
  expect(drawn.stdout).toMatch(/<svg.*completed/s);
  expect(new Set(steps.stdout.trim().split('\n'))).toEqual(new Set(['/do/0/check']));
  expect(errors.stdout).toBe('');
});

test('a runner starts a workflow that they do not see, by name and id, and watches its state', async () => {
  const viewer = await platform.createUser({ roles: ['viewer'] });
  const runner = cliUser({ CADENZA_URL: platform.url, CADENZA_TOKEN: viewer.token });
  const schema = { document: { type: 'object', required: ['order'] } };
  const definition = { input: { schema }, do: [{ check: { set: { order: '${ .order }' } } }] };
  const body = { name: 'Closed', definition, runners: { users: [viewer.username] } };
  const { id } = (await builder.post('/workflows', body)).body;
  const [wrong, watched, waited, misspelled] = await Promise.all([
    runner.run(['run', 'start', 'Closed', '-o', 'json']),
    runner.run(['run', 'start', 'Closed', '-i', 'order=1', '--watch']),
    runner.run(['run', 'start', id, '-i', 'order=2', '--wait', '60s']),
    runner.run(['run', 'start', 'Closd', '-i', 'order=1']),
  ]);
  expect(JSON.parse(wrong.stderr).errors).toMatchObject([{ pointer: '/input_params/order' }]);
  expect([watched.exitCode, watched.stdout]).toEqual([0, '']);
  expect(watched.stderr).toMatch(/You see the state of this run, not its log\.\nRun \S+ completed\n$/);
  expect([waited.exitCode, waited.json()]).toMatchObject([
    0,
    { status: 'completed', by_grant: true, output: { order: 2 } },
  ]);
  expect([misspelled.exitCode, misspelled.stderr]).toEqual([1, expect.stringContaining('Closed')]);
  const run = waited.json().id as string;
  const [watch, logs, listed] = await Promise.all([
    runner.run(['run', 'watch', run]),
    runner.run(['run', 'logs', run, '--follow', '-o', 'json']),
    runner.run(['run', 'list', '--workflow', 'Closed', '-o', 'name']),
  ]);
  expect([watch.exitCode, watch.stderr]).toEqual([0, expect.stringContaining(`Run ${run} completed`)]);
  expect([logs.exitCode, JSON.parse(logs.stderr).code]).toEqual([1, 'inside_hidden']);
  expect(listed.stdout.trim().split('\n')).toHaveLength(2);
  // Of two of the same name, one of which they see, neither is chosen for them.
  await builder.post('/workflows', { name: 'Closed', definition: { do: [] }, visibility: 'public' });
  const several = await runner.run(['run', 'start', 'Closed', '-o', 'json']);
  expect([several.exitCode, JSON.parse(several.stderr).code]).toEqual([1, 'ambiguous_name']);
});

test('two people decide at the same moment: one wins, the other gets 5', async () => {
  const task = await waitingTask(await started('Refund', 'race'));
  const both = await Promise.all(
    ['approve', 'reject'].map((decision) => cli.run(['task', 'decide', task, decision, '-o', 'json'])),
  );
  expect(both.map(({ exitCode }) => exitCode).toSorted()).toEqual([0, 5]);
});

test('several tasks are decided at once; a refused one among them is told', async () => {
  const tasks = await Promise.all(
    (await Promise.all([started('Refund', 'b1'), started('Refund', 'b2')])).map(waitingTask),
  );
  const all = await cli.run(['task', 'decide', ...tasks, 'reject']);
  expect([all.exitCode, all.json().map(({ task }: any) => task.status)]).toEqual([0, ['decided', 'decided']]);
  const again = await cli.run(['task', 'decide', ...tasks, 'approve']);
  expect([again.exitCode, again.stderr]).toEqual([5, expect.stringContaining('2 of 2')]);
});

test('wrong input is told by field before anything is sent, in the words of the console', async () => {
  const before = (await builder.get('/runs')).body.length;
  const [missing, unknown] = await Promise.all([
    cli.run(['run', 'start', 'Refund', '-o', 'json']),
    cli.run(['run', 'start', 'Nothing']),
  ]);
  expect([missing.exitCode, JSON.parse(missing.stderr)]).toMatchObject([
    1,
    {
      code: 'form_mismatch',
      errors: [{ pointer: '/input_params/order', message: expect.stringContaining('Order') }],
    },
  ]);
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('no workflow Nothing')]);
  expect((await builder.get('/runs')).body).toHaveLength(before);

  const task = await waitingTask(await started('Amount', 'form'));
  const [none, small] = await Promise.all([
    cli.run(['task', 'decide', task, 'approve']),
    cli.run(['task', 'decide', task, 'approve', '-i', 'amount=0']),
  ]);
  expect([none.exitCode, none.stderr]).toEqual([
    1,
    expect.stringContaining('/payload/amount: Amount to refund'),
  ]);
  expect(small.exitCode).toBe(1);
  const [misspelt, farOff, wrong, start] = await Promise.all([
    cli.run(['task', 'decide', task, 'approve', '-i', 'amount=5', '-i', 'amuont=6']),
    cli.run(['task', 'decide', task, 'approve', '-i', 'reason=none']),
    cli.run(['task', 'decide', task, 'aprove']),
    cli.run(['run', 'start', 'Refund', '-i', 'ordr=7']),
  ]);
  for (const { exitCode } of [misspelt, farOff, wrong, start]) expect(exitCode).toBe(2);
  expect(misspelt.stderr).toBe('error: -i amuont=6: the form has no field amuont, did you mean "amount"?\n');
  expect(farOff.stderr).toBe('error: -i reason=none: the form has no field reason. It has: amount\n');
  expect(wrong.stderr).toBe(`error: Task ${task} has no decision aprove, did you mean "approve"?\n`);
  expect(start.stderr).toContain('the input has no field ordr, did you mean "order"?');
  expect((await builder.get('/runs')).body).toHaveLength(before + 1);
  const good = await cli.run(['task', 'decide', task, 'approve', '-f', '-'], { stdin: 'amount: 5' });
  expect([good.exitCode, good.json().decision.payload]).toEqual([0, { amount: 5 }]);
});

test('exit codes of a run: 0 completed, 3 faulted, 6 when the wait ran out', async () => {
  await workflow('Fine', { do: [{ a: { set: { done: true } } }] });
  await workflow('Broken', {
    do: [{ a: { raise: { error: { type: 'https://example.com/broken', status: 500, title: 'Broken' } } } }],
  });
  const [fine, broken, watched, waiting] = await Promise.all([
    cli.run(['run', 'start', 'Fine', '--wait=60s', '--max-invocations', '7', '--on-exceed', 'ask']),
    cli.run(['run', 'start', 'Broken', '--wait', '60s']),
    cli.run(['run', 'start', 'Broken', '--watch']),
    cli.run(['run', 'start', 'Refund', '-i', 'order=w', '--wait', '1']),
  ]);
  expect([fine.exitCode, fine.json().output]).toEqual([0, { done: true }]);
  expect((await builder.get(`/budgets/${fine.json().id}`)).body).toMatchObject({
    max_invocations: 7,
    on_exceed: 'ask',
  });
  expect([broken.exitCode, broken.stderr]).toEqual([3, expect.stringContaining('faulted: Broken')]);
  expect(watched.exitCode).toBe(3);
  expect([waiting.exitCode, waiting.json().status]).toEqual([
    6,
    expect.stringMatching(/pending|running|waiting/),
  ]);
  const counts = await cli.run(['run', 'stats', '--by', 'day', '--workflow', 'Broken']);
  expect(counts.json()).toMatchObject([{ started: 2, faulted: 2, completed: 0, slowest_ms: null }]);
  const table = await cli.run(['run', 'stats', '--last', '2h', '-o', 'table']);
  expect(table.stdout).toMatch(/^FROM +STARTED +COMPLETED +FAULTED +CANCELLED +MEAN +SLOWEST\n/);
  const id = waiting.json().id;
  const cancelled = await cli.run(['run', 'cancel', id]);
  expect(cancelled.exitCode).toBe(0);
  await until(
    async () => (await builder.get(`/runs/${id}`)).body.status,
    (status) => status === 'cancelled',
  );
  const refused = await cli.run(['run', 'suspend', id]);
  expect(refused.exitCode).toBe(5);
});

test('Ctrl-C while watching is 130, and the run goes on', async () => {
  const run = await started('Refund', 'interrupt');
  await waitingTask(run);
  const watch = cli.start(['run', 'watch', run]);
  await until(
    async () => watch.stdout(),
    (text) => text.includes('\n'),
  );
  watch.child.kill('SIGINT');
  expect((await watch.done).exitCode).toBe(130);
  expect((await builder.get(`/runs/${run}`)).body.status).toBe('waiting');
});

const shows = (terminal: TerminalCli, text: string): Promise<string> =>
  until(
    async () => terminal.seen(),
    (all) => all.includes(text),
  );

testUnless(noTerminal)('on a terminal the inbox is a picker: a, Enter decides', async () => {
  await cli.run(['task', 'list', '-o', 'name']);
  for (const { id } of (await builder.get('/hitl/tasks')).body) {
    const rejected = await cli.run(['task', 'decide', id, 'reject']);
    expect(rejected.exitCode).toBe(0);
  }
  const run = (await startRun(builder, review('Shall we?'), { order: 'p' }))['id'];
  const task = await waitingTask(run);
  const inbox = cliOnTerminal('inbox', { CADENZA_URL: platform.url, CADENZA_TOKEN: ada.token });
  await shows(inbox, '› Shall we?');
  inbox.press('a');
  await shows(inbox, 'Enter sends');
  inbox.press('\r');
  await shows(inbox, 'Nothing waits for you.');
  inbox.press('q');
  expect(await inbox.ended).toBe(0);
  expect((await builder.get(`/hitl/tasks/${task}`)).body.decision.decision).toBe('approve');
});
