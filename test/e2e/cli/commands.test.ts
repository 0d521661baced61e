/** What the other files leave: records that several people share, by real processes on the real platform. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Client } from '../../support/app.ts';
import { cliOnTerminal, cliUser, noTerminal, type CliUser, type TerminalCli } from '../../support/cli.ts';
import { agentTask, humanTask } from '../../support/definitions.ts';
import { testUnless } from '../../support/outside.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';

const folder = mkdtempSync(join(tmpdir(), 'cadenza-commands-'));
let platform: TestPlatform;
let service: TestServer;
/** Answers of the service with an error, before it works. */
let failures = 0;
let asAda: Client;
let ada: CliUser;
let grace: CliUser;
let admin: CliUser;

beforeAll(async () => {
  service = await startServer((_request, response) => {
    failures -= 1;
    sendJson(response, { summary: 'short' }, failures >= 0 ? 503 : 200);
  });
  platform = await startTestPlatform();
  const users = await Promise.all(
    (['ada', 'grace'] as const).map((username) => platform.createUser({ username, roles: ['builder'] })),
  );
  [ada, grace, admin] = [...users, await platform.user('admin')].map(({ token }) =>
    cliUser({ CADENZA_URL: platform.url, CADENZA_TOKEN: token }),
  ) as [CliUser, CliUser, CliUser];
  asAda = await platform.as(users[0] as (typeof users)[number]);
});
afterAll(async () => {
  await platform.close();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

const statusOf = async (run: string): Promise<string> => (await asAda.get(`/runs/${run}`)).body.status;
const becomes = (run: string, status: string): Promise<string> =>
  until(
    () => statusOf(run),
    (now) => now === status,
  );
const summariser = (name: string) => ({
  name,
  type: 'api',
  version: '1.0.0',
  visibility: 'private',
  input_schema: {
    type: 'object',
    required: ['text'],
    properties: { text: { type: 'string', title: 'Text' } },
  },
  configuration: { endpoint: service.url, headers: { 'X-Key': '<SERVICE_KEY>' } },
});

test('an agent is invoked, after its input is checked', async () => {
  await asAda.put('/secrets/SERVICE_KEY', { value: 'v' });
  const { body: agent } = await asAda.post('/agents', summariser('summariser'));
  await asAda.post(`/agents/${agent.id}/versions/1.0.0/publish`);
  const [missing, invoked] = await Promise.all([
    ada.run(['agent', 'invoke', 'summariser', '-o', 'json']),
    ada.run(['agent', 'invoke', 'summariser', '-i', 'text=long', '--wait', '60']),
  ]);
  expect([missing.exitCode, JSON.parse(missing.stderr).errors[0].pointer]).toEqual([1, '/input/text']);
  expect([invoked.exitCode, invoked.json().output]).toEqual([0, { summary: 'short' }]);
  expect(JSON.parse(service.seen.at(-1)?.body ?? '')).toEqual({ text: 'long' });
});

test('files are attached to an input, as fields or as a list', async () => {
  const photo = join(folder, 'photo.PNG');
  const note = join(folder, 'note.txt');
  for (const path of [photo, note]) writeFileSync(path, 'content');
  const attached = ['--attach', `photo=${photo}`, '--attach', note];
  const invoked = await ada.run([
    'agent',
    'invoke',
    'summariser',
    '-i',
    'text=long',
    ...attached,
    '--wait',
    '60',
  ]);
  expect([invoked.exitCode, invoked.json().input_params]).toEqual([
    0,
    {
      text: 'long',
      photo: expect.objectContaining({ name: 'photo.PNG', media_type: 'image/png', size: 7 }),
      files: [expect.objectContaining({ name: 'note.txt', media_type: 'text/plain' })],
    },
  ]);
  const missing = await ada.run(['agent', 'invoke', 'summariser', '--attach', join(folder, 'nothing')]);
  const path = join(folder, 'nothing');
  expect([missing.exitCode, missing.stderr]).toEqual([1, `error: Cannot read ${path}: no such file\n`]);
});

test('several files go to a field that is a list of files, and one only to a field for one', async () => {
  const file = { type: 'object', required: ['file_id'], properties: { file_id: { type: 'string' } } };
  const document = {
    type: 'object',
    properties: {
      receipts: { type: 'array', items: { ...file, additionalProperties: false } },
      letter: file,
    },
  };
  const definition = { input: { schema: { format: 'json', document } }, do: [{ a: { set: { x: 1 } } }] };
  expect((await asAda.post('/workflows', { name: 'Trip', definition })).status).toBe(201);
  const [one, two] = [join(folder, 'one.pdf'), join(folder, 'two.pdf')];
  for (const path of [one, two]) writeFileSync(path, 'content');
  const start = (...files: string[]) =>
    ada.run(['run', 'start', 'Trip', '-o', 'json', ...files.flatMap((name) => ['--attach', name])]);
  const run = await start(`receipts=${one}`, `letter=${one}`, `receipts=${two}`);
  const { receipts, letter } = run.json().input_params;
  expect([receipts, letter.name]).toEqual([
    [{ file_id: expect.any(String) }, { file_id: expect.any(String) }],
    'one.pdf',
  ]);
  const names = await Promise.all(
    receipts.map(async ({ file_id: id }: { file_id: string }) => {
      return (await asAda.get(`/files/${id}/metadata`)).body.name;
    }),
  );
  expect(names).toEqual(['one.pdf', 'two.pdf']);
  const files = (await asAda.get('/files?limit=200')).body.length;
  const twice = await start(`letter=${one}`, `letter=${two}`);
  expect([twice.exitCode, twice.stderr]).toEqual([2, expect.stringContaining('letter=… is given twice')]);
  expect((await asAda.get('/files?limit=200')).body).toHaveLength(files);
});

test('files are attached without the role builder: by a runner to a start, to a decision', async () => {
  const [rolf, nina] = await Promise.all([
    platform.createUser({ username: 'rolf', roles: ['viewer'] }),
    platform.createUser({ username: 'nina', roles: ['approver'] }),
  ]);
  const cliOf = ({ token }: { token: string }) =>
    cliUser({ CADENZA_URL: platform.url, CADENZA_TOKEN: token });
  const receipt = { type: 'object', required: ['file_id'], properties: { file_id: { type: 'string' } } };
  const document = { type: 'object', required: ['receipt'], properties: { receipt } };
  const stamp = { ...receipt, additionalProperties: false };
  const form = { type: 'object', required: ['stamp'], properties: { stamp } };
  const candidates = { users: ['nina'] };
  const definition = {
    input: { schema: { format: 'json', document } },
    do: [{ review: { call: 'human', with: { title: 'Fine?', candidates, form } } }],
  };
  const made = await asAda.post('/workflows', { name: 'Expense', definition, runners: { users: ['rolf'] } });
  expect([made.status, made.body.problems]).toEqual([201, []]);
  const photo = join(folder, 'receipt.png');
  writeFileSync(photo, 'content');

  const refused = await cliOf(rolf).run(['file', 'upload', photo, '-o', 'json']);
  expect([refused.exitCode, JSON.parse(refused.stderr).code]).toEqual([1, 'role_required']);
  const run = await cliOf(rolf).run(['run', 'start', 'Expense', '--attach', `receipt=${photo}`]);
  expect([run.exitCode, run.json().input_params]).toEqual([
    0,
    { receipt: expect.objectContaining({ name: 'receipt.png', media_type: 'image/png', size: 7 }) },
  ]);
  const waiting = await cliOf(rolf).run(['file', 'upload', photo, '--workflow', 'Expense']);
  expect([waiting.exitCode, waiting.json().workflow_id]).toEqual([0, made.body.id]);

  const asNina = await platform.as(nina);
  const [task] = await until(
    async () => (await asNina.get('/hitl/tasks')).body,
    (tasks) => tasks.length === 1,
  );
  const uploaded = await cliOf(nina).run(['file', 'upload', photo, '--human-task', task.id]);
  expect([uploaded.exitCode, uploaded.json().owner_id]).toEqual([0, nina.id]);
  const decide = ['task', 'decide', task.id, 'approve'];
  const missing = await cliOf(nina).run([...decide, '-o', 'json']);
  expect([missing.exitCode, JSON.parse(missing.stderr).errors[0].pointer]).toEqual([1, '/payload/stamp']);
  const decided = await cliOf(nina).run([...decide, '--attach', `stamp=${photo}`]);
  expect([decided.exitCode, decided.json().decision.payload]).toEqual([
    0,
    { stamp: { file_id: expect.any(String) } },
  ]);
  const late = await cliOf(nina).run([...decide, '--attach', `stamp=${photo}`, '-o', 'json']);
  expect([late.exitCode, JSON.parse(late.stderr).code]).toEqual([5, 'already_decided']);
});

test('an agent is evaluated on a sheet, and what ended in an error is tried again', async () => {
  const sheet = join(folder, 'cases.csv');
  writeFileSync(sheet, 'id,text,expected.summary\none,a,short\ntwo,b,short\n');
  const reported = async (args: string[]) => {
    const running = ada.start(['agent', ...args, '--concurrency', '1', '--wait', '60']);
    await until(
      async () => {
        await platform.reconcile();
        return running.child.exitCode;
      },
      (code) => code !== null,
    );
    const { exitCode, stdout, stderr } = await running.done;
    return [exitCode, stderr, JSON.parse(stdout)] as const;
  };
  failures = 1;
  const evaluate = ['evaluate', 'summariser', sheet, '--name', 'A sheet', '--version', '1.0.0'];
  const [code, , first] = await reported(evaluate);
  expect([code, first]).toMatchObject([
    3,
    { name: 'A sheet', cases: 2, report: { versions: [{ passed: 1, errors: 1 }] } },
  ]);
  expect(await reported(['retry-evaluation', first.id])).toMatchObject([
    0,
    '',
    { retry_of: first.id, report: { versions: [{ passed: 2, errors: 0 }] } },
  ]);
  const [again] = await reported(['retry-evaluation', first.id, '--failed']);
  expect(again).toBe(0);
});

test('a failed run is retried, another suspended, resumed, opened, and terminated by an admin', async () => {
  failures = 1;
  const faulted = (
    await startRun(asAda, { do: [{ ask: { call: 'http', with: { method: 'get', endpoint: service.url } } }] })
  )['id'];
  await becomes(faulted, 'faulted');
  const retried = await ada.run(['run', 'retry', faulted, '-o', 'name']);
  expect([retried.exitCode, retried.stdout.trim()]).toEqual([0, expect.not.stringContaining(faulted)]);
  expect((await ada.run(['run', 'watch', retried.stdout.trim()])).exitCode).toBe(0);
  const [tasks, visits, task] = await Promise.all([
    ada.run(['run', 'tasks', faulted]),
    ada.run(['run', 'tasks', faulted, '--visits', '--step', 'ask', '-o', 'table']),
    ada.run(['run', 'task', retried.stdout.trim(), 'ask']),
  ]);
  expect(tasks.json()).toMatchObject([{ name: 'ask', count: 1, faulted: 1 }]);
  expect(visits.stdout).toContain('503');
  expect(task.json()).toMatchObject({ status: 'completed', output: { summary: 'short' } });

  const run = (await startRun(asAda, { do: [{ ask: humanTask('Well?') }] }))['id'];
  await becomes(run, 'waiting');
  const suspended = await ada.run(['run', 'suspend', run]);
  expect([suspended.exitCode, suspended.stderr]).toEqual([0, '1 run asked to suspend.\n']);
  await becomes(run, 'suspended');
  const resumed = await ada.run(['run', 'resume', run]);
  expect([resumed.exitCode, resumed.stderr]).toEqual([0, '1 run asked to resume.\n']);
  await becomes(run, 'waiting');
  const [opened, unasked, refused] = await Promise.all([
    ada.run(['run', 'open', run, '--print']),
    admin.run(['run', 'terminate', run]),
    ada.run(['run', 'terminate', run, '--yes']),
  ]);
  expect(opened.stdout).toBe(`${platform.url}/console/runs/${run}\n`);
  expect([unasked.exitCode, refused.exitCode]).toEqual([2, 1]);
  expect(await statusOf(run)).toBe('waiting');
  const ended = await admin.run(['run', 'terminate', run, '--yes', '--reason', 'it is stuck']);
  expect([ended.exitCode, ended.stderr]).toEqual([0, '']);
  const { body } = await asAda.get(`/runs/${run}`);
  expect([body.status, JSON.stringify(body.logs)]).toEqual([
    'cancelled',
    expect.stringContaining('it is stuck'),
  ]);
});

test('a task is claimed, released, commented and delegated', async () => {
  const candidates = { users: ['ada', 'grace'] };
  const run = (await startRun(asAda, { do: [{ ask: humanTask('Shall we?', { candidates }) }] }))['id'];
  await becomes(run, 'waiting');
  const task = (await asAda.get(`/hitl/tasks?run_id=${run}`)).body[0].id;
  const claimed = await ada.run(['task', 'claim', task]);
  expect([claimed.exitCode, claimed.json().status]).toEqual([0, 'claimed']);
  expect((await grace.run(['task', 'decide', task, 'approve'])).exitCode).toBe(5);
  expect((await ada.run(['task', 'release', task, '--jq', '.status'])).stdout).toBe('open\n');
  expect((await ada.run(['task', 'comment', task, 'Is it insured?'])).exitCode).toBe(0);
  const [delegated, shown] = [
    await ada.run(['task', 'delegate', task, 'grace']),
    await grace.run(['task', 'get', task, '-o', 'table']),
  ];
  expect(delegated.exitCode).toBe(0);
  expect(shown.stdout).toContain('comment: Is it insured?');
  expect((await ada.run(['task', 'decide', task, 'approve', '-o', 'json'])).stderr).toContain('delegated');
  expect((await grace.run(['task', 'decide', task, 'approve'])).exitCode).toBe(0);
  await becomes(run, 'completed');
  const audit = await ada.run(['task', 'audit', task]);
  expect(audit.json().map(({ action }: { action: string }) => action)).toEqual([
    'created',
    'claimed',
    'released',
    'commented',
    'delegated',
    'decided',
  ]);
  expect((await grace.run(['task', 'summary'])).json()).toMatchObject({ claimed_by_me: 0 });
});

test('an item goes from its submission to the installation and review of somebody else', async () => {
  const created = await Promise.all(
    ['shared', 'unwanted'].map(async (name) => {
      const { body } = await asAda.post('/agents', summariser(name));
      return asAda.post(`/agents/${body.id}/versions/1.0.0/publish`);
    }),
  );
  expect(created.map(({ status }) => status)).toEqual([200, 200]);
  const submit = (name: string) =>
    ada.run(['market', 'submit', 'agent', name, '--summary', 'Says it in short', '--license', 'MIT']);
  const [first, second] = await Promise.all([submit('shared'), submit('unwanted')]);
  expect([first.json().status, second.json().status]).toEqual(['submitted', 'submitted']);
  const [item, other] = [first.json().id, second.json().id];
  const waiting = await admin.run(['market', 'search', '--waiting', '-o', 'name']);
  expect(waiting.stdout.split('\n')).toEqual(expect.arrayContaining([item, other]));
  const shown = await admin.run(['market', 'version', item, '-o', 'table']);
  expect(shown.stdout).toContain('needs secrets: SERVICE_KEY');
  const digestOf = async (id: string): Promise<string> =>
    (await admin.run(['market', 'version', id, '--jq', '.digest'])).stdout.trim();
  const [digest, otherDigest] = [await digestOf(item), await digestOf(other)];
  expect(shown.stdout).toContain(`digest: ${digest}`);
  // What nobody has looked at, or has other content by now, is not decided.
  const approve = ['market', 'approve', item, '--version', '1.0.0'];
  const [unseen, changed] = [
    await admin.run(approve),
    await admin.run(['market', 'reject', item, 'No.', '--digest', otherDigest]),
  ];
  expect([unseen.exitCode, unseen.stderr]).toEqual([2, expect.stringContaining('--digest')]);
  expect([changed.exitCode, changed.stderr]).toEqual([5, expect.stringContaining(digest)]);
  expect((await ada.run([...approve, '--digest', digest])).exitCode).toBe(1);
  const [approved, rejected] = await Promise.all([
    admin.run([...approve, '--digest', digest]),
    admin.run(['market', 'reject', other, 'There is one already.', '--digest', otherDigest]),
  ]);
  expect(approved.stderr).toContain(digest);
  expect([approved.json().status, rejected.json().status]).toEqual(['approved', 'rejected']);
  const told = JSON.stringify((await asAda.get(`/marketplace/items/${other}`)).body);
  expect(told).toContain('There is one already.');

  expect((await grace.run(['market', 'review', item, '--rating', '5'])).exitCode).not.toBe(0);
  const unbound = await grace.run(['market', 'install', item, '--bind', 'SERVICE_KEY=MINE']);
  expect([unbound.exitCode, unbound.stderr]).toEqual([1, expect.stringContaining('cadenza secret set MINE')]);
  await grace.run(['secret', 'set', 'MINE', '--stdin'], { stdin: 'v' });
  const installed = await grace.run(['market', 'install', item, '--bind', 'SERVICE_KEY=MINE']);
  expect([installed.exitCode, installed.stderr, installed.json().name]).toEqual([0, '', 'shared']);
  const copy = await grace.run(['agent', 'get', installed.json().ref_id, '--jq', '.configuration.headers']);
  expect(JSON.parse(copy.stdout)).toEqual({ 'X-Key': '<MINE>' });
  expect((await grace.run(['market', 'review', item, '--rating', '5', '--text', 'Fine'])).exitCode).toBe(0);
  expect((await ada.run(['market', 'get', item, '--jq', '.rating'])).json()).toMatchObject({
    average: 5,
    count: 1,
  });
  const [plan, reviews] = await Promise.all([
    grace.run(['market', 'plan', item]),
    ada.run(['market', 'reviews', item]),
  ]);
  expect([plan.json().copy.name, reviews.json()]).toMatchObject(['shared', [{ rating: 5, text: 'Fine' }]]);
  expect((await ada.run(['market', 'withdraw', item, '--yes'])).exitCode).toBe(0);
  expect((await grace.run(['market', 'get', item])).exitCode).toBe(1);
});

const shows = (terminal: TerminalCli, text: string): Promise<string> =>
  until(
    async () => terminal.seen(),
    (all) => all.includes(text),
  );

testUnless(noTerminal)('on a terminal a version is shown, and decided after a question', async () => {
  const { body } = await asAda.post('/agents', summariser('seen'));
  await asAda.post(`/agents/${body.id}/versions/1.0.0/publish`);
  const item = (await ada.run(['market', 'submit', 'agent', 'seen', '-o', 'name'])).stdout.trim();
  const env = { CADENZA_URL: platform.url, CADENZA_TOKEN: (await platform.user('admin')).token };
  const asked = cliOnTerminal(`market reject ${item} 'Not that one.'`, env);
  const text = await shows(asked, '[y/N]');
  expect(text).toContain('needs secrets: SERVICE_KEY');
  expect(text).toMatch(/digest: [0-9a-f]{64}[^]*Reject seen 1\.0\.0 with digest [0-9a-f]{64}\?/);
  asked.press('n\r');
  expect(await asked.ended).toBe(1);
  expect((await ada.run(['market', 'get', item, '--jq', '.status'])).stdout).toBe('submitted\n');
  const again = cliOnTerminal(`market reject ${item} 'Not that one.'`, env);
  await shows(again, '[y/N]');
  again.press('y\r');
  expect(await again.ended).toBe(0);
  expect((await ada.run(['market', 'get', item, '--jq', '.status'])).stdout).toBe('rejected\n');
});

test('a webhook that fails says so in the list, and one of an unknown type when it is saved', async () => {
  const made = await ada.run(['webhook', 'create', 'http://127.0.0.1:1', '--types', 'io.cadenza.hitll']);
  expect(made.stderr).toContain('warning at /types/0: matches none of Cadenza');
  const { id } = made.json();
  await ada.run(['webhook', 'test', id]);
  await until(
    async () => (await asAda.get(`/webhooks/${id}`)).body,
    ({ last_error: error }) => error !== null,
  );
  const { stdout } = await ada.run(['webhook', 'list', '-o', 'table']);
  // The address stays in sight, however long the error is.
  expect(stdout).toMatch(
    /io\.cadenza\.hitll +http:\/\/127\.0\.0\.1:1\/? +since \d+\w+ ago, 1 waiting: .*refused/,
  );
  const [wrong, right] = [
    await ada.run(['webhook', 'update', id, '--types', 'io.cadenza.hitl,io.cadenza.rum']),
    await ada.run(['webhook', 'update', id, '--types', 'io.cadenza.hitl']),
  ];
  expect([wrong.exitCode, wrong.stderr, right.stderr]).toEqual([
    0,
    expect.stringContaining('warning at /types/1: matches none of Cadenza'),
    '',
  ]);
  expect((await ada.run(['webhook', 'delete', id, '--yes'])).exitCode).toBe(0);
});

test('a webhook is tested, and a delivery sent again', async () => {
  const hook = (await ada.run(['webhook', 'create', service.url, '-o', 'name'])).stdout.trim();
  const sent = await ada.run(['webhook', 'test', hook, '-o', 'name']);
  expect(sent.exitCode).toBe(0);
  const delivered = (count: number): Promise<unknown> =>
    until(
      async () => (await asAda.get(`/webhooks/${hook}/deliveries?status=delivered`)).body,
      ({ length }) => length === count,
    );
  await delivered(1);
  const list = await ada.run(['webhook', 'deliveries', hook, '--status', 'delivered', '-o', 'name']);
  expect(list.stdout).toBe(sent.stdout);
  expect((await ada.run(['webhook', 'redeliver', hook, sent.stdout.trim()])).exitCode).toBe(0);
  await delivered(2);
  const [whole, none, off] = [
    await ada.run(['webhook', 'delivery', hook, sent.stdout.trim()]),
    await ada.run(['webhook', 'redeliver', hook, '--failed', '-o', 'name']),
    await ada.run(['webhook', 'update', hook, '--off', '--types', 'io.cadenza.hitl,io.cadenza.run']),
  ];
  expect([JSON.parse(whole.json().body).type, none.stdout]).toEqual(['io.cadenza.webhook.test.v1', '0\n']);
  expect(off.json()).toMatchObject({ active: false, types: ['io.cadenza.hitl', 'io.cadenza.run'] });
  expect((await admin.run(['webhook', 'list', '--owner', 'ada', '-o', 'name'])).stdout).toContain(hook);
  expect((await admin.run(['webhook', 'list', '--owner', 'me', '-o', 'name'])).stdout).toBe('');
  const rotated = (await ada.run(['webhook', 'rotate-secret', hook, '--former', '2h'])).json();
  expect(rotated).toMatchObject({ id: hook, secret: expect.stringMatching(/^whsec_/) });
  const leftMs = Date.parse(rotated.former_secret_until) - Date.now();
  expect([leftMs > 3_600_000, leftMs < 7_200_001]).toEqual([true, true]);
  const alone = await ada.run(['webhook', 'rotate-secret', hook, '--former', '0', '-o', 'json']);
  expect(alone.json().former_secret_until).toBeNull();
  expect((await ada.run(['webhook', 'rotate-secret', hook, '--former', '8d'])).exitCode).not.toBe(0);
});

test('events are sent in, listed and bound, and inbound webhooks rotate their secret', async () => {
  const sent = await ada.run([
    'event',
    'send',
    '--type',
    'made',
    '--id',
    '1',
    '--data',
    '{"n": 1}',
    '-o',
    'name',
  ]);
  expect(sent.exitCode).toBe(0);
  const again = await ada.run(['event', 'send', '--type', 'made', '--id', '1']);
  expect(JSON.parse(again.stdout)).toMatchObject([{ duplicate: true }]);
  const listed = await ada.run(['event', 'list', '--type', 'made', '-o', 'name']);
  expect(listed.stdout).toBe(sent.stdout);
  const shown = await ada.run(['event', 'get', sent.stdout.trim()]);
  expect(JSON.parse(shown.stdout)).toMatchObject({ event: { data: { n: 1 } } });
  const bound = await ada.run(['event', 'bind', 'urn:till', '--share', 'grace', '-o', 'name']);
  // The same source again is changed, and keeps what no flag says.
  const rebound = await ada.run(['event', 'bind', 'urn:till', '--user', 'ada']);
  expect([bound.stderr, rebound.stderr]).toEqual(['', '']);
  expect(rebound.json()).toMatchObject({
    id: bound.stdout.trim(),
    user_id: expect.any(String),
    shared_with: [expect.any(String)],
  });
  expect((await ada.run(['event', 'sources'])).stdout).toContain('urn:till');
  // Administrators see it, and mean their own record by the name.
  const sourcesOf = async (owner: string) =>
    (await admin.run(['event', 'sources', '--owner', owner, '-o', 'name'])).stdout.trim();
  const own = (await admin.run(['event', 'bind', 'urn:till', '-o', 'name'])).stdout.trim();
  expect([await sourcesOf('ada'), await sourcesOf('me')]).toEqual([bound.stdout.trim(), own]);
  expect((await admin.run(['event', 'sources', '-o', 'name'])).stdout.split('\n')).toEqual(
    expect.arrayContaining([bound.stdout.trim(), own]),
  );
  expect((await admin.run(['event', 'unbind', 'urn:till', '--yes'])).exitCode).toBe(0);
  expect((await admin.run(['event', 'unbind', 'urn:till', '--yes'])).stderr).toContain('urn:till');
  expect((await ada.run(['event', 'unbind', 'urn:till', '--yes'])).exitCode).toBe(0);
  expect((await ada.run(['event', 'unbind', 'urn:till', '--yes'])).stderr).toContain('urn:till');

  const definition = { do: [{ a: { set: { n: 1 } } }] };
  await asAda.post('/workflows', { name: 'listens', definition });
  expect((await ada.run(['event', 'allow', 'listens', 'grace'])).stderr).toContain('shares no source');
  await grace.run(['event', 'bind', 'urn:shop', '--share', 'ada']);
  const allowed = await ada.run(['event', 'allow', 'listens', 'grace']);
  expect(allowed.json()).toMatchObject([{ username: 'grace' }]);
  expect((await ada.run(['event', 'senders', 'listens'])).stdout).toBe(allowed.stdout);
  expect((await ada.run(['event', 'disallow', 'listens', 'grace'])).json()).toEqual([]);
  // Commands at the same time do not undo each other.
  const { body: me } = await asAda.get('/users/me');
  const several = ['hal', 'ivy', 'joe'];
  for (const username of several) {
    const client = await platform.as(await platform.createUser({ username, roles: ['builder'] }));
    await client.post('/event-sources', { source: `urn:${username}`, shared_with: [me.id] });
  }
  await Promise.all(several.map((one) => ada.run(['event', 'allow', 'listens', one])));
  const senders = (await ada.run(['event', 'senders', 'listens'])).json();
  expect(senders.map(({ username }: { username: string }) => username).toSorted()).toEqual(several);

  for (const name of ['HOOK_OLD', 'HOOK_NEW'])
    await asAda.put(`/secrets/${name}`, { value: 'a key of at least sixteen bytes' });
  const create = ['hook', 'create', 'Issues', '--scheme', 'github', '--secret', 'HOOK_OLD', '-o', 'name'];
  const hook = (await ada.run(create)).stdout.trim();
  await ada.run(['hook', 'update', hook, '--secret', 'HOOK_NEW']);
  // Once more does not lose the old secret.
  const rotated = await ada.run(['hook', 'update', hook, '--secret', 'HOOK_NEW', '--tolerance', '1m']);
  expect(JSON.parse(rotated.stdout)).toMatchObject({ secret: 'HOOK_NEW', former_secret: 'HOOK_OLD' });
  expect((await ada.run(['hook', 'update', hook, '--done', '--off'])).stdout).not.toContain('HOOK_OLD');
  expect((await ada.run(['hook', 'list', '-o', 'name'])).stdout.trim()).toBe(hook);
  const hooksOf = async (owner: string) =>
    (await admin.run(['hook', 'list', '--owner', owner, '-o', 'name'])).stdout.trim();
  expect([await hooksOf('ada'), await hooksOf('grace')]).toEqual([hook, '']);
  expect((await ada.run(['hook', 'delete', hook, '--yes'])).exitCode).toBe(0);
});

test('a machine client is created, and logs in with the secret that is shown once', async () => {
  const created = await ada.run(['client', 'create', 'nightly', '--expires', '1h']);
  const { id, client_id: clientId, client_secret: secret, expires_at: expires } = created.json();
  expect(Date.parse(expires) - Date.now()).toBeGreaterThan(50 * 60_000);
  const ci = cliUser({
    CADENZA_URL: platform.url,
    CADENZA_CLIENT_ID: clientId,
    CADENZA_CLIENT_SECRET: secret,
  });
  const [me, list] = await Promise.all([ci.run(['whoami', '-o', 'name']), ada.run(['client', 'list'])]);
  expect([me.stdout, list.stdout.includes(secret)]).toEqual(['ada\n', false]);
  expect((await ada.run(['client', 'delete', id, '--yes'])).exitCode).toBe(0);
  expect((await ci.run(['whoami'])).exitCode).toBe(4);
});

test('a machine client has the scopes that it is given, and the list shows them', async () => {
  const scopes = ['--scope', 'runs:read', '--scope', 'workflows:read'];
  const [limited, free, wrong] = [
    await ada.run(['client', 'create', 'reader', ...scopes]),
    await ada.run(['client', 'create', 'worker']),
    await ada.run(['client', 'create', 'other', '--scope', 'runs:reed']),
  ];
  expect([limited.json().scopes, free.json().scopes]).toEqual([['runs:read', 'workflows:read'], null]);
  expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining('did you mean "runs:read"')]);
  const { client_id: clientId, client_secret: secret } = limited.json();
  const reader = cliUser({
    CADENZA_URL: platform.url,
    CADENZA_CLIENT_ID: clientId,
    CADENZA_CLIENT_SECRET: secret,
  });
  const [runs, agents] = await Promise.all([reader.run(['run', 'list']), reader.run(['agent', 'list'])]);
  expect([runs.exitCode, agents.exitCode]).toEqual([0, 1]);
  expect(agents.stderr).toContain('agents:read');
  const { stdout } = await ada.run(['client', 'list', '-o', 'table']);
  expect(stdout).toMatch(/SCOPES/);
  expect(stdout).toMatch(/runs:read.*workflows:read.*reader/);
  expect(stdout).toMatch(/ all +worker/);
  for (const { json } of [limited, free])
    expect((await ada.run(['client', 'delete', json().id, '--yes'])).exitCode).toBe(0);
});

test('the shell completes names and ids of records, and no name that it could act on', async () => {
  const definition = { do: [{ a: { set: { n: 1 } } }] };
  const created = await Promise.all(
    ['refund', 'refill', 'refund $(touch pwned)', '`id`', '-x'].map((name) =>
      asAda.post('/workflows', { name, definition, description: `about ${name.length}\tand more` }),
    ),
  );
  const ids = created.map(({ body }) => body.id);
  const complete = async (user: CliUser, ...words: string[]): Promise<string[][]> => {
    const { exitCode, stdout, stderr } = await user.run(['__complete', '--', ...words]);
    expect([exitCode, stderr]).toEqual([0, '']);
    return stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split('\t'));
  };
  // The shell waits two seconds for the platform. On a busy machine one presses TAB again.
  const proposed = (user: CliUser, ...words: string[]): Promise<string[][]> =>
    until(
      () => complete(user, ...words),
      (lines) => lines.some(([word = '']) => !word.startsWith('--')),
    );
  const granted = { name: 'reimburse', definition, runners: { users: ['grace'] } };
  expect((await asAda.post('/workflows', granted)).status).toBe(201);
  expect(await complete(grace, 'workflow', 'get', 're')).toEqual([]);
  expect(await proposed(grace, 'run', 'start', 're')).toMatchObject([['reimburse', expect.any(String)]]);
  const away = cliUser({ CADENZA_URL: 'http://127.0.0.1:2', CADENZA_TOKEN: 'x' });
  const [some, all, runs, people, unknown, server] = await Promise.all([
    proposed(ada, 'workflow', 'get', 're'),
    proposed(ada, 'workflow', 'get', ''),
    proposed(ada, 'run', 'logs', '--level', 'info', ''),
    proposed(ada, 'task', 'delegate', ids[0], 'gr'),
    complete(cliUser({ CADENZA_URL: platform.url }), 'workflow', 'get', ''),
    complete(away, 'workflow', 'get', ''),
  ]);
  expect(some.toSorted()).toEqual([
    ['refill', 'about 6 and more'],
    ['refund', 'about 6 and more'],
    ['reimburse', expect.any(String)],
  ]);
  const words = all.map(([word]) => word);
  expect(words).toEqual(expect.arrayContaining(['refund', ids[2], ids[3], ids[4]]));
  expect(words.filter((word) => !/^[\w-]+$/.test(word ?? ''))).toEqual([]);
  const [run] = (await asAda.get('/runs?limit=1')).body;
  expect(runs.find(([id]) => id === run.id)?.[1]).toContain(run.workflow_name);
  expect(people).toEqual([['grace', 'user']]);
  for (const lines of [unknown, server])
    expect(lines.filter(([word]) => !word?.startsWith('--'))).toEqual([]);
});

test('an action of the audit log is completed by the shell, and a mistyped one refused', async () => {
  const { stdout } = await ada.run(['__complete', '--', 'audit', 'list', '--action', 'issuer_c']);
  const words = stdout.split('\n').map((line) => line.split('\t')[0]);
  expect(words).toEqual(['issuer_create_user', 'issuer_change_access', '']);
  const operations = await ada.run(['__complete', '--', 'audit', 'export', '--action', 'updateWorkf']);
  expect(operations.stdout).toMatch(/^updateWorkflow\t/m);
  const { exitCode, stderr } = await ada.run(['audit', 'list', '--action', 'updateWorkfow']);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('--action is no action of the audit log, did you mean "updateWorkflow"?');
});

test('a worker says of each job how it ended, and why it failed', async () => {
  const { body: agent } = await asAda.post('/agents', {
    ...summariser('adder'),
    type: 'sensor',
    execution_type: 'edge',
    input_schema: { type: 'object' },
    output_schema: { type: 'object', properties: { sum: { type: 'number' } } },
    configuration: { max_attempts: 1 },
  });
  await asAda.post(`/agents/${agent.id}/versions/1.0.0/publish`);
  const program = join(folder, 'add.sh');
  writeFileSync(
    program,
    'read -r input\n' +
      'case "$input" in\n' +
      '  *fail*) printf "one\\ntwo\\nthree\\nfour\\n" >&2; exit 3;;\n' +
      '  *text*) echo \'{"sum": "x"}\';;\n' +
      '  *) echo \'{"sum": 3}\';;\n' +
      'esac\n',
  );
  const working = ada.start(['worker', 'run', 'adder', '--', 'sh', program]);
  const says = (pattern: RegExp): Promise<string> =>
    until(
      async () => working.stderr(),
      (all) => pattern.test(all),
    );
  for (const [task, end] of [
    ['add', /^job \S+ of adder completed in \d+\.\d s$/m],
    ['fail', /^job \S+ of adder failed after \d+\.\d s: sh ended with 3: two \/ three \/ four$/m],
    ['text', /^job \S+ of adder failed after .* s: the output was refused: \/output\/sum: /m],
  ] as const) {
    await startRun(asAda, { do: [{ ask: agentTask(agent.id, { input: { task } }) }] });
    await says(end);
  }
  expect(working.stderr().trim().split('\n')).toHaveLength(4);
  working.child.kill('SIGINT');
  expect((await working.done).exitCode).toBe(130);
});

const put = (path: string, content: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
};
const greet = (text: string): string =>
  `document: { dsl: 1.0.3, namespace: default, name: greet, version: 1.0.0 }\n` +
  `do:\n  - hello: { set: { text: "${text}", to: "\${ .name }" } }\n`;

test('dev applies a folder at each change, shows mistakes, follows runs, ends with Ctrl-C', async () => {
  put('cadenza.yaml', 'set: dev\n');
  put('input.yaml', 'name: Ada\n');
  put('workflows/greet.yaml', greet('hello'));
  const dev = ada.start(['dev', folder, '--run', 'greet', '-o', 'jsonl']);
  const says = (text: string, times = 1): Promise<string> =>
    until(
      async () => dev.stderr(),
      (all) => all.split(text).length > times,
    );
  const current = async (): Promise<any> => (await asAda.get('/workflows?q=greet')).body[0];
  await says(' completed');
  const [applied, ...log] = dev
    .stdout()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(applied).toMatchObject({ action: 'create', kind: 'workflow', name: 'greet' });
  expect(log.at(-1).data.output).toEqual({ text: 'hello', to: 'Ada' });

  put('workflows/greet.yaml', 'do:\n  - a: { sett: 1 }\n');
  await says('workflows/greet.yaml:2:10#/do/0/a');
  expect(await current()).toMatchObject({ revision: 1 });

  put('workflows/greet.yaml', greet('goodbye'));
  await says(' completed', 2);
  expect(await current()).toMatchObject({ revision: 2 });

  // A folder that was not there before; what the server refuses is told with its file.
  put('agents/wrong.yaml', 'type: nonsense\nversion: 1.0.0\nvisibility: private\n');
  await says('agents/wrong.yaml:1:1#/type');
  rmSync(join(folder, 'agents/wrong.yaml'));
  await says(' completed', 3);

  dev.child.kill('SIGINT');
  const { exitCode, stderr } = await dev.done;
  expect([exitCode, stderr]).toEqual([130, expect.not.stringContaining('    at ')]);
});
