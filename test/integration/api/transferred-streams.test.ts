/** Streams that are open when what they follow is handed over or removed: they end without what follows. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { removeEndedRuns } from '../../../domain/retention/remove.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { insertTask } from '../../support/human-tasks.ts';
import { connectMcp } from '../../support/mcp-client.ts';
import { until } from '../../support/platform.ts';
import { openStream, type SseReader } from '../../support/sse-client.ts';
import { workflowAgent } from '../../support/workflow-agent.ts';

const V1 = { 'A2A-Version': '1.0' };
const TASK_NOT_FOUND = -32001;
const STEPS = { do: [{ a: { wait: { hours: 1 } } }] };
/** What nobody but the new owner may see. */
const LATER = 'after-the-transfer';

let app: TestApp;
let admin: Client;

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as(await app.createUser({ roles: ['admin'] }));
});
afterAll(() => app.close());

interface Person {
  user: TestUser;
  client: Client;
}

async function person(): Promise<Person> {
  const user = await app.createUser({ roles: ['builder'] });
  return { user, client: await app.as(user) };
}

const sql = (text: string, values: unknown[] = []) => app.orm.em.fork().execute<any[]>(text, values);
const bearer = ({ user }: Person) => ({ authorization: `Bearer ${user.token}` });
const json = { 'content-type': 'application/json' };

async function transfer(from: Person, to: Person): Promise<void> {
  const done = await admin.post(`/users/${from.user.id}/transfer`, { to: to.user.id });
  expect(done.status).toBe(200);
}

/** Adds an entry to the run's log that has the text. */
async function addEntry(runId: string): Promise<void> {
  const taskId = await insertTask(app.orm, runId, { task_name: LATER });
  expect((await admin.post(`/hitl/tasks/${taskId}/comments`, { comment: 'x' })).status).toBe(201);
}

const follow = (who: Person, runId: string): Promise<SseReader> =>
  openStream(`${app.url}/api/v1/runs/${runId}/events`, { headers: bearer(who) });

async function startedRun({ client }: Person): Promise<string> {
  const { body: workflow } = await client.post('/workflows', { name: 'waits', definition: STEPS });
  return (await client.post(`/workflows/${workflow.id}/run`)).body.id;
}

const agentOf = ({ client }: Person): Promise<string> =>
  workflowAgent(client, STEPS, { visibility: 'public' });

/** A task of A2A, and a subscription of its owner. */
async function subscribed(who: Person): Promise<{ id: string; stream: SseReader }> {
  const path = `/api/v1/a2a/${await agentOf(who)}`;
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'x' }] };
  const params = { message, configuration: { returnImmediately: true } };
  const sent = await who.client.post(
    path,
    { jsonrpc: '2.0', id: 1, method: 'SendMessage', params },
    { headers: V1 },
  );
  const { id } = sent.body.result.task;
  const stream = await openStream(`${app.url}${path}`, {
    method: 'POST',
    headers: { ...bearer(who), ...json, ...V1 },
    body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'SubscribeToTask', params: { id } }),
  });
  await until(
    async () => stream.events.length,
    (count) => count > 0,
  );
  return { id, stream };
}

test('the stream of a run ends for its former owner, and the new one follows it', async () => {
  const [ann, bob] = [await person(), await person()];
  const runId = await startedRun(ann);
  const former = await follow(ann, runId);
  await until(
    async () => former.events.length,
    (count) => count > 0,
  );
  await transfer(ann, bob);
  await former.ended;
  await addEntry(runId);
  const next = await follow(bob, runId);
  await until(
    async () => JSON.stringify(next.events),
    (text) => text.includes(LATER),
  );
  next.drop();
  await next.ended;
  expect(JSON.stringify(former.events)).not.toContain(LATER);
});

test('what comes at once with the transfer does not come to the former owner', async () => {
  const [ann, bob] = [await person(), await person()];
  const runId = await startedRun(ann);
  const former = await follow(ann, runId);
  const { id, stream } = await subscribed(ann);
  await transfer(ann, bob);
  await Promise.all([addEntry(runId), addEntry(id)]);
  await Promise.all([former.ended, stream.ended]);
  expect(JSON.stringify([former.events, stream.events])).not.toContain(LATER);
});

test('a subscription to a task of A2A ends for its former owner, although nothing happens', async () => {
  const [ann, bob] = [await person(), await person()];
  const { stream } = await subscribed(ann);
  await transfer(ann, bob);
  await stream.ended;
  expect(stream.events.at(-1)?.data.error?.code).toBe(TASK_NOT_FOUND);
});

test('a subscription ends when retention removes its task', async () => {
  const { id, stream } = await subscribed(await person());
  // Without an event, as if the stream had missed the end.
  await sql(`update a2a_task set state = 'TASK_STATE_COMPLETED' where id = ?`, [id]);
  await sql(
    `update run set status = 'completed', created_at = now() - interval '1 year',
            finished_at = now() - interval '91 days' where id = ?`,
    [id],
  );
  expect((await removeEndedRuns(app.orm.em.fork(), 90)).runs).toBe(1);
  await stream.ended;
  expect(stream.events.at(-1)?.data.error?.code).toBe(TASK_NOT_FOUND);
});

test('a chat ends for the former owner of its run, which goes on', async () => {
  const [ann, bob] = [await person(), await person()];
  const model = await agentOf(ann);
  const response = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...bearer(ann), ...json },
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'hi' }] }),
  });
  const runId = response.headers.get('x-run-id') ?? '';
  expect([response.status, runId.length]).toEqual([200, 36]);
  await transfer(ann, bob);
  await addEntry(runId);
  const text = await response.text();
  expect(text).not.toContain(LATER);
  expect(text.trimEnd().split('\n').at(-1)).toMatch(/^data: \{"error":.*"code":"not_found"/);
  const { status } = (await bob.client.get(`/runs/${runId}`)).body;
  expect(['pending', 'running', 'waiting']).toContain(status);
});

test('the wait of an MCP tool ends when the run has another owner', async () => {
  const [ann, bob] = [await person(), await person()];
  const runId = await startedRun(ann);
  const { client, close } = await connectMcp(app.url, ann.user.token);
  const waiting = client.callTool({ name: 'get_run', arguments: { run_id: runId, wait_seconds: 50 } });
  // The wait has begun once its stream counts.
  await until(
    async () =>
      app.orm.em.fork().execute<object[]>('select from open_stream where user_id = ?', [ann.user.id]),
    ({ length }) => length > 0,
  );
  const begun = performance.now();
  await transfer(ann, bob);
  expect((await waiting).isError).toBe(true);
  expect(performance.now() - begun).toBeLessThan(45_000);
  await close();
});
