/** Agents of kind `api` whose jobs take long, end to end: docs/agents.md#long-jobs. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SignJWT, generateKeyPair } from 'jose';

import { registeredAgent } from '../../support/agent-body.ts';
import type { Client, Reply } from '../../support/app.ts';
import { agentTask } from '../../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { processorClock } from '../../support/machine.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;
let builder: Client;
let service: TestServer;
/** What the service answers when the state of a job is asked for, one after the other; the last stays. */
let states: Record<string, { status?: number; headers?: Record<string, string>; body: unknown }[]>;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  states = {};
  service = await startServer((request, response) => {
    const [, what = '', name = ''] = request.path.split(/[/?]/);
    if (request.method === 'DELETE') return sendJson(response, {}, 204);
    if (what === 'state') {
      const left = states[name] ?? [];
      const {
        status = 200,
        headers = {},
        body,
      } = (left.length > 1 ? left.shift() : left[0]) ?? { body: null };
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(body));
      return;
    }
    if (what === 'refuses') return sendJson(response, { error: 'no room' }, 503);
    response.writeHead(202, { 'content-type': 'application/json', location: `/state/${name}` });
    response.end(JSON.stringify({ id: name }));
  });
});
afterAll(async () => {
  await service.close();
  await platform.close();
});

let named = 0;
async function longAgent(name: string, long: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const { path = 'start', limits, ...configuration } = more;
  return registeredAgent(builder, {
    name: `long-${++named}`,
    ...(limits === undefined ? {} : { limits }),
    configuration: {
      endpoint: `${service.url}/${path as string}/${name}`,
      async: { interval: 20, ...long },
      ...configuration,
    },
    output_schema: { type: 'object', required: ['n'], properties: { n: { type: 'number' } } },
  });
}

const call = (agent: { id: string }, more: Record<string, unknown> = {}) =>
  startRun(builder, { do: [{ far: agentTask(agent.id, { input: { q: 1 }, ...more }) }] });
const seen = (method: string, path: string) =>
  service.seen.filter((request) => request.method === method && request.path.startsWith(path));
/** The address that the service was given, once it was called. */
const callbackOf = (name: string): Promise<string> =>
  until(
    async () => String(seen('POST', `/start/${name}`).at(-1)?.headers['x-callback-url'] ?? ''),
    (url) => url !== '',
  );
const post = (url: string, body: unknown): Promise<Reply> => platform.anonymous.post(url, body);

test('a job is asked for until it has ended, with the pauses that the service wants', async () => {
  states['slow'] = [
    { status: 503, body: null },
    { status: 202, headers: { 'retry-after': '0' }, body: { status: 'RUNNING' } },
    { body: { status: 'in_progress' } },
    { body: { status: 'Succeeded', output: { n: 3 } } },
  ];
  const run = await call(await longAgent('slow', { mode: 'poll' }, { headers: { 'X-Key': 'k' } }));
  const ended = await endOf(builder, run);
  expect(ended).toMatchObject({ status: 'completed', output: { n: 3 } });
  expect(ended['tasks'][0].usage.requests).toBe(5);
  expect(seen('POST', '/start/slow')).toHaveLength(1);
  expect(seen('GET', '/state/slow')[0]?.headers['x-key']).toBe('k');
});

test('a service that wants no pause gets the usual ones', async () => {
  const headers = { 'retry-after': '0' };
  states['eager'] = [{ status: 202, headers, body: { status: 'running' } }];
  const agent = await longAgent('eager', { mode: 'poll', interval: undefined }, { timeout: 2_400 });
  expect((await endOf(builder, await call(agent)))['error']).toMatchObject({ status: 408 });
  expect(seen('GET', '/state/eager')).toHaveLength(1);
});

test('an expression names the address, another the state, and `response` gives the output', async () => {
  states['own'] = [{ body: { job: { phase: 'WAIT' } } }, { body: { job: { phase: 'FINE', n: 4 } } }];
  const agent = await longAgent(
    'own',
    {
      mode: 'poll',
      status_url: '"/state/" + .id',
      state: '.job.phase',
      succeeded: ['fine'],
    },
    { response: '{n: .job.n}' },
  );
  expect(await endOf(builder, await call(agent))).toMatchObject({ status: 'completed', output: { n: 4 } });
});

test('a failed job faults with the reason of the service, a result with another shape too', async () => {
  states['bad'] = [{ body: { status: 'failed', error: { message: 'out of paper' } } }];
  const { error } = await endOf(builder, await call(await longAgent('bad', { mode: 'poll' })));
  expect(error).toMatchObject({ status: 502, detail: expect.stringContaining('out of paper') });
  states['odd'] = [{ body: { done: true, response: { n: 'four' } } }];
  const odd = await endOf(builder, await call(await longAgent('odd', { mode: 'poll' })));
  expect(odd['error'].title).toBe('Validation Error');
});

test('cancelling the run, and a timeout, cancel the job at the service', async () => {
  for (const name of ['left', 'late']) states[name] = [{ body: { status: 'running' } }];
  const left = await call(await longAgent('left', { mode: 'poll', cancel: true }));
  await until(
    async () => seen('GET', '/state/left').length,
    (count) => count > 1,
  );
  await builder.post(`/runs/${left['id']}/cancel`);
  expect((await endOf(builder, left))['status']).toBe('cancelled');
  await until(async () => seen('DELETE', '/state/left').length, Boolean);
  const cancel = { method: 'POST', path: 'cancel' };
  const long = { mode: 'poll', cancel, status_url: '"/state/late?v=1"' };
  const late = await call(await longAgent('late', long, { timeout: 5_000 }));
  expect((await endOf(builder, late))['error']).toMatchObject({ status: 408 });
  expect(seen('POST', '/state/late/cancel?v=1')).toHaveLength(1);
});

test('another worker goes on asking, and does not start the job again', async () => {
  states['kept'] = [{ body: { status: 'running' } }];
  const run = await call(await longAgent('kept', { mode: 'poll', cancel: true }));
  await until(async () => seen('GET', '/state/kept').length, Boolean);
  await platform.stopWorker();
  states['kept'] = [{ body: { status: 'done', result: { n: 5 } } }];
  await platform.startWorker();
  expect(await endOf(builder, run)).toMatchObject({ status: 'completed', output: { n: 5 } });
  expect(seen('POST', '/start/kept')).toHaveLength(1);
  expect(seen('DELETE', '/state/kept')).toHaveLength(0);
});

test('a callback completes the call, once; what it says is checked and redacted', async () => {
  await builder.put('/secrets/LONG_KEY', { value: 'the-long-key-4711' });
  const agent = await longAgent(
    'told',
    { mode: 'callback' },
    { headers: { 'X-Key': '<LONG_KEY>' }, body: { hook: '${ $callback }' } },
  );
  const run = await call(agent);
  const url = await callbackOf('told');
  expect(JSON.parse(seen('POST', '/start/told')[0]?.body ?? '')).toEqual({ hook: url });
  expect(await platform.anonymous.get(url)).toMatchObject({ status: 200, body: { status: 'waiting' } });
  expect(await post(url, { output: { n: 'six' } })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/output/n' }] },
  });
  expect(await post(url, {})).toMatchObject({ status: 422 });
  const body = { output: { n: 6, key: 'the-long-key-4711' } };
  const replies = await Promise.all([post(url, body), post(url, body), post(url, { output: { n: 7 } })]);
  const [first, second, other] = replies.map(({ status }) => status);
  // Which of the two bodies is first is open.
  expect([
    [200, 200, 410],
    [410, 410, 200],
  ]).toContainEqual([first, second, other]);
  const ended = await endOf(builder, run);
  expect(ended['output'].n).toBe(first === 200 ? 6 : 7);
  expect(JSON.stringify(ended)).not.toContain('the-long-key-4711');
  expect(await post(url, { error: 'late' })).toMatchObject({ status: 410 });
  // The address is nowhere that people look at.
  const token = url.split('/').at(-1) ?? '';
  expect(JSON.stringify([ended, (await builder.get(`/runs/${run['id']}/logs`)).body])).not.toContain(token);
});

test('a callback with an error faults the task; rules read the words of the service', async () => {
  const failed = await call(await longAgent('fails', { mode: 'callback' }));
  const url = await callbackOf('fails');
  expect(await post(url, { error: { title: 'Jam', detail: 'paper jam' } })).toMatchObject({ status: 200 });
  expect((await endOf(builder, failed))['error']).toMatchObject({ title: 'Jam', detail: 'paper jam' });

  const webhook = { mode: 'callback', header: 'Webhook' };
  const agent = await longAgent('words', webhook, { response: '{n: .sum, html: "<B>"}' });
  const run = await call(agent);
  const own = await until(
    async () => String(seen('POST', '/start/words')[0]?.headers['webhook'] ?? ''),
    (found) => found !== '',
  );
  expect(await post(own, { status: 'processing' })).toMatchObject({ status: 202 });
  expect(await post(own, { status: 'succeeded', sum: 8 })).toMatchObject({ status: 200 });
  expect(await endOf(builder, run)).toMatchObject({ status: 'completed', output: { n: 8 } });
});

test('a callback whose rules take long is refused soon, and the call goes on waiting', async () => {
  const state = '.text as $x | [range(100000) | $x | length] | "done"';
  const agent = await longAgent('slow', { mode: 'callback', state }, { response: '.n' });
  const run = await call(agent);
  const url = await callbackOf('slow');
  const spentMs = processorClock();
  const body = { text: 'é'.repeat(1_000_000), n: { n: 9 } };
  expect(await post(url, body)).toMatchObject({
    status: 422,
    body: { errors: [{ code: 'expression', message: expect.stringContaining('limit exceeded') }] },
  });
  // Of all threads; minutes without a limit.
  expect(spentMs()).toBeLessThan(15_000);
  await builder.post(`/runs/${run['id']}/cancel`);
  expect((await endOf(builder, run))['status']).toBe('cancelled');
});

test('after a timeout, a cancellation or a refused start the address is void', async () => {
  const late = await call(await longAgent('void', { mode: 'callback', cancel: true }, { timeout: 5_000 }));
  const url = await callbackOf('void');
  expect((await endOf(builder, late))['error']).toMatchObject({ status: 408 });
  expect(await post(url, { output: { n: 1 } })).toMatchObject({
    status: 410,
    body: { code: 'callback_void' },
  });
  await until(async () => seen('DELETE', '/state/void').length, Boolean);

  const left = await call(await longAgent('dropped', { mode: 'callback', cancel: true }));
  const other = await callbackOf('dropped');
  await builder.post(`/runs/${left['id']}/cancel`);
  expect((await endOf(builder, left))['status']).toBe('cancelled');
  expect(await post(other, { output: { n: 1 } })).toMatchObject({ status: 410 });
  await until(async () => seen('DELETE', '/state/dropped').length, Boolean);

  const refused = await call(await longAgent('x', { mode: 'callback' }, { path: 'refuses' }));
  expect((await endOf(builder, refused))['error']).toMatchObject({ status: 503 });
  const given = String(seen('POST', '/refuses/x')[0]?.headers['x-callback-url']);
  expect(await post(given, { output: { n: 1 } })).toMatchObject({ status: 410 });
  expect(await openWaits()).toBe(0);
});

const openWaits = async (): Promise<number> => {
  const sql = `select count(*)::int as open from job where kind = 'callback' and finished_at is null`;
  const [row] = await platform.orm.em.fork().execute<{ open: number }[]>(sql);
  return row?.open ?? -1;
};

test('a refused start waits for no callback while its run goes on, and gives its turn back', async () => {
  const limits = { concurrency: 1 };
  const agent = await longAgent('y', { mode: 'callback' }, { path: 'refuses', limits });
  const person = { call: 'human', with: { title: 'Go on?' } };
  const run = await startRun(builder, {
    do: [
      {
        far: {
          try: [{ ask: agentTask(agent.id, { input: { q: 1 } }) }],
          catch: { do: [{ wait: person }] },
        },
      },
    ],
  });
  await until(
    async () => (await builder.get(`/runs/${run['id']}`)).body.status,
    (status) => status === 'waiting',
  );
  expect(await openWaits()).toBe(0);
  expect((await endOf(builder, await call(agent)))['error']).toMatchObject({ status: 503 });
  await builder.post(`/runs/${run['id']}/cancel`);
});

test('a call that waits for its callback counts as a call until then', async () => {
  const agent = await longAgent('counted', { mode: 'callback' }, { limits: { concurrency: 1 } });
  const first = await call(agent);
  const url = await callbackOf('counted');
  const second = await call(agent);
  await until(
    async () => (await builder.get(`/runs/${second['id']}`)).body.logs,
    (log: any[]) => log.some(({ type }) => type === 'io.cadenza.agent.waits.v1'),
  );
  expect(seen('POST', '/start/counted')).toHaveLength(1);
  await post(url, { output: { n: 1 } });
  await endOf(builder, first);
  await until(
    async () => seen('POST', '/start/counted').length,
    (length) => length === 2,
  );
  await builder.post(`/runs/${second['id']}/cancel`);
});

test('a forged address is none, and one for a call is none for another kind of link', async () => {
  const { privateKey } = await generateKeyPair('ES256');
  const forge = (typ: string) =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', typ, kid: 'nobody' })
      .setIssuer(platform.url)
      .setAudience('cadenza-callbacks')
      .setJti(crypto.randomUUID())
      .setExpirationTime('1h')
      .sign(privateKey);
  for (const token of [await forge('callback+jwt'), await forge('at+jwt'), 'x', 'a.b.c'])
    expect(await post(`/callbacks/${token}`, { output: 1 })).toMatchObject({ status: 404 });
  const { token } = await platform.user('builder');
  expect(await post(`/callbacks/${token}`, { output: 1 })).toMatchObject({ status: 404 });
});
