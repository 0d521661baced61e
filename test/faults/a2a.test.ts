/**
 * A2A over real processes, two copies of the API and a worker: killed during a task, and asked side by side.
 * No update is lost or repeated, whichever copy is asked.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ownPort } from '../support/machine.ts';
import { startServer, type SeenRequest, type TestServer } from '../support/http-server.ts';
import { startTestPlatform, until, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { openStream, type SseReader } from '../support/sse-client.ts';
import { workflowAgentPath } from '../support/workflow-agent.ts';
import { httpTask } from '../support/definitions.ts';

const LONG_MS = 150_000;

let platform: TestPlatform;
let apis: [Program, Program];
let worker: Program;
let agent: TestServer;
const servers: TestServer[] = [];
let token: string;

/** Paths that the agent's server answers, and the number of its requests that ended unanswered. */
const open = new Set<string>();
let aborted = 0;
const waiting = new Map<string, (() => void)[]>();
const release = (path: string): void => {
  open.add(path);
  for (const answer of waiting.get(path) ?? []) answer();
};

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  agent = await startServer(async ({ path }, response) => {
    response.on('close', () => (aborted += response.writableFinished ? 0 : 1));
    if (!open.has(path))
      await new Promise<void>((resolve) => waiting.set(path, [...(waiting.get(path) ?? []), resolve]));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ done: path }));
  });
  [apis, worker] = await Promise.all([
    Promise.all([startProgram('api', platform), startProgram('api', platform)]),
    startProgram('worker', platform),
  ]);
  ({ token } = await platform.user('builder'));
});
afterAll(async () => {
  for (const answers of waiting.values()) for (const answer of answers) answer();
  await Promise.all([...apis, worker].map((program) => program.kill()));
  await Promise.all([agent, ...servers].map((server) => server.close()));
  await platform.close();
});

/** An agent that calls the server once for each path, in order. */
async function agentThatCalls(paths: string[]): Promise<string> {
  const builder = await platform.as('builder');
  const steps = paths.map((path, n) => ({
    [`step${n}`]: httpTask(`${agent.url}${path}`, { method: 'post', body: {} }),
  }));
  return workflowAgentPath(builder, { do: [...steps, { finish: { set: { text: 'all done' } } }] });
}

const headers = () => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  'A2A-Version': '1.0',
});
const ask = async (api: Program, path: string, body?: unknown): Promise<any> =>
  (
    await fetch(api.url + path, {
      headers: headers(),
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
  ).json();
const follow = (api: Program, path: string, lastEventId?: string): Promise<SseReader> =>
  openStream(`${api.url}${path}:subscribe`, {
    headers: { ...headers(), ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) },
  });
const message = (messageId: string) => ({ messageId, role: 'ROLE_USER', parts: [{ text: 'go' }] });
const ids = (events: { id: string }[]): string[] => events.map(({ id }) => id);
const called = (path: string) => agent.seen.filter((request) => request.path === path);
const keysOf = (requests: SeenRequest[]) => [
  ...new Set(requests.map((request) => request.headers['idempotency-key'])),
];
/** All updates of a task, as a new subscriber sees them. */
async function allOf(api: Program, path: string): Promise<SseReader['events']> {
  const reader = await follow(api, path, '0');
  await reader.ended;
  return reader.events;
}

test('two copies stream the same events, a dropped stream resumes, and either copy cancels', async () => {
  const base = await agentThatCalls(['/a', '/b', '/c', '/never']);
  const { task } = await ask(apis[0], `${base}/message:send`, {
    message: message('two'),
    configuration: { returnImmediately: true },
  });
  const path = `${base}/tasks/${task.id}`;
  await until(
    async () => called('/a').length,
    (count) => count === 1,
    LONG_MS,
  );
  const [first, second, dropped] = await Promise.all([
    follow(apis[0], path),
    follow(apis[1], path),
    follow(apis[0], path),
  ]);
  await until(
    async () => dropped.events.length,
    (count) => count > 0,
    LONG_MS,
  );
  dropped.drop();
  await dropped.ended;
  const seen = dropped.events.at(-1)!.id;
  // At least three more events.
  for (const step of ['/a', '/b', '/c']) release(step);
  await until(
    async () => called('/never').length,
    (count) => count === 1,
    LONG_MS,
  );
  const missed = await until(
    () => allSoFar(apis[1], path),
    (events) => events.filter(({ id }) => Number(id) > Number(seen)).length >= 3,
    LONG_MS,
  );

  const back = await follow(apis[1], path, seen);
  const afresh = await follow(apis[1], path);
  const cancelled = await ask(apis[1], `${path}:cancel`, {});
  expect(cancelled.status.state).toBe('TASK_STATE_CANCELED');
  await Promise.all([first, second, back, afresh].map(({ ended }) => ended));
  await until(
    async () => aborted,
    (count) => count === 1,
    LONG_MS,
  );

  const all = await allOf(apis[0], path);
  expect(all.at(-1)?.data.statusUpdate.status.state).toBe('TASK_STATE_CANCELED');
  expect(await allOf(apis[1], path)).toEqual(all);
  expect(new Set(ids(all)).size).toBe(all.length);
  expect(ids(missed)).toEqual(ids(all).slice(0, missed.length));
  // A client that names the last event gets what followed it. One that names none gets the current task, then
  // what follows.
  expect(back.events).toEqual(all.filter(({ id }) => Number(id) > Number(seen)));
  expect(back.events.length).toBeGreaterThanOrEqual(4);
  for (const reader of [first, second, afresh]) {
    const [first, ...later] = reader.events;
    expect(first?.data.task.id).toBe(task.id);
    expect(later).toEqual(all.filter(({ id }) => Number(id) > Number(first!.id)));
  }
  expect(called('/never')).toHaveLength(1);
});

async function receiver(port = 0): Promise<TestServer> {
  const server = await startServer((_request, response) => void response.end(), port);
  servers.push(server);
  return server;
}

async function allSoFar(api: Program, path: string): Promise<SseReader['events']> {
  const reader = await follow(api, path, '0');
  await until(
    async () => reader.events.length,
    (count) => count > 0,
    LONG_MS,
  );
  reader.drop();
  await reader.ended;
  return reader.events;
}

test('kill -9 of api and worker during a task loses and repeats no update', async () => {
  const [up, down] = [await receiver(), await ownPort()];
  // The second target is unreachable from the beginning: no server listens there until the task is over.
  const base = await agentThatCalls(['/first', '/second', '/third']);
  const sent = await openStream(`${apis[0].url}${base}/message:stream`, {
    method: 'POST',
    headers: headers(),
    body: JSON.stringify({
      message: message('killed'),
      configuration: { taskPushNotificationConfig: { id: 'up', url: up.url } },
    }),
  });
  await until(
    async () => sent.events.length,
    (count) => count > 0,
    LONG_MS,
  );
  const { id } = sent.events[0]!.data.task;
  const path = `${base}/tasks/${id}`;
  await ask(apis[1], `${path}/pushNotificationConfigs`, { id: 'down', url: `http://127.0.0.1:${down}` });
  release('/first');
  await until(
    async () => called('/second').length,
    (count) => count === 1,
    LONG_MS,
  );
  await Promise.all([...apis, worker].map((program) => program.kill()));
  await sent.ended;
  const last = sent.events.at(-1)!.id;

  await Promise.all([...apis, worker].map((program) => program.start()));
  expect((await ask(apis[1], path)).status.state).toBe('TASK_STATE_WORKING');
  const repeated = await ask(apis[1], `${base}/message:send`, {
    message: message('killed'),
    configuration: { returnImmediately: true },
  });
  expect(repeated.task).toMatchObject({ id, status: { state: 'TASK_STATE_WORKING' } });
  const back = await follow(apis[1], path, last);
  release('/second');
  release('/third');
  await back.ended;

  const all = await allOf(apis[0], path);
  expect(all.at(-1)?.data.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
  expect(ids([...sent.events.slice(1), ...back.events])).toEqual(
    ids(all).filter((eventId) => Number(eventId) > Number(sent.events[0]!.id)),
  );
  expect(back.events).toEqual(all.filter((event) => Number(event.id) > Number(last)));
  expect(all.filter(({ data }) => data.artifactUpdate)).toHaveLength(1);
  const done = await ask(apis[0], path);
  expect(done).toMatchObject({
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ parts: [{ text: 'all done' }] }],
    history: [{ messageId: 'killed' }],
  });
  expect([done.artifacts.length, done.history.length]).toEqual([1, 1]);
  // The interrupted call was repeated under the same key, every other one was made once.
  expect([called('/first').length, called('/third').length]).toEqual([1, 1]);
  expect(keysOf(['/first', '/second', '/third'].flatMap(called))).toHaveLength(3);

  // The delivery log is the outbox: each event once, in order, with the ids of the stream.
  const target = await receiver(down);
  const notified = ids(all).map((eventId) => `${id}-${eventId.replace('.', '-')}`);
  const got = (server: TestServer) =>
    server.seen.map((request) => String(request.headers['a2a-notification-id']));
  const wanted = (server: TestServer) => notified.slice(notified.indexOf(got(server)[0] ?? ''));
  for (const server of [up, target]) {
    await until(
      async () => [...new Set(got(server))],
      (seen) => seen.at(-1) === notified.at(-1),
    );
    // A repeated delivery has the same id, so the first deliveries are in order.
    expect([...new Set(got(server))]).toEqual(wanted(server));
  }
  expect(wanted(up).length).toBeGreaterThanOrEqual(all.length - 1);
  expect(wanted(target).length).toBeGreaterThanOrEqual(3);
});

test('kill -9 of the API leaves the runs of MCP and OpenAI, and a repeat begins no other', async () => {
  const builder = await platform.as('builder');
  await agentThatCalls(['/held-call']);
  const [{ id, name }] = (await builder.get('/agents?limit=1')).body;
  const post = (api: Program, path: string, key: string, body: unknown) =>
    fetch(api.url + path, {
      method: 'POST',
      headers: {
        ...headers(),
        'idempotency-key': key,
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify(body),
    });
  const chat = { model: id, messages: [{ role: 'user', content: 'go' }] };
  const tool = { name: `an_agent-a${id.slice(-12)}`, arguments: {} };
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: tool };
  const answers = (api: Program) => [
    post(api, '/v1/chat/completions', 'chat-1', chat).then(async (response) => ({
      run: response.headers.get('x-run-id'),
      text: await response.text(),
    })),
    post(api, '/mcp', 'tool-1', call).then(async (response) => ({ run: null, text: await response.text() })),
  ];
  const begun = Promise.allSettled(answers(apis[0]));
  await until(
    async () => called('/held-call').length,
    (count) => count === 2,
    LONG_MS,
  );
  const runs = async () => (await builder.get(`/agents/${id}/runs`)).body as { id: string; status: string }[];
  const before = await runs();
  await apis[0].kill();
  await begun;
  expect((await runs()).map(({ status }) => status)).toEqual(['running', 'running']);
  const repeated = answers(apis[1]);
  // Both wait for the runs of the first calls.
  await until(
    async () => {
      const [row] = await platform.orm.em
        .fork()
        .execute<{ n: number }[]>('select count(*)::int as n from protocol_call');
      return row?.n;
    },
    (count) => count === 4,
    LONG_MS,
  );
  release('/held-call');
  const [chatted, tooled] = await Promise.all(repeated);
  expect(JSON.parse(chatted?.text ?? '').choices[0].message.content).toBe('all done');
  expect(before.map((run) => run.id)).toContain(chatted?.run);
  expect(tooled?.text).toContain('all done');
  const after = await runs();
  expect(after.map((run) => [run.id, run.status])).toEqual(before.map((run) => [run.id, 'completed']));
  expect([name, called('/held-call').length]).toEqual(['An agent', 2]);
  await apis[0].start();
});
