/** The memory of language models: who may add to a session, and whose it is. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Invoked } from '../../contracts/activities.ts';
import { beginTurn, openConversation, storeTurn } from '../../domain/conversations/conversation.ts';
import { registeredAgent } from '../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../support/app.ts';
import { insertRun } from '../support/human-tasks.ts';

let app: TestApp;
let ann: TestUser;
let client: Client;
let agentId: string;
const em = () => app.orm.em.fork();

beforeAll(async () => {
  app = await startTestApp();
  ann = await app.createUser({ roles: ['builder'] });
  client = await app.as(ann);
  ({ id: agentId } = await registeredAgent(await app.as(await app.createUser()), { type: 'llm' }));
});
afterAll(() => app.close());

interface Call {
  run: string;
  conversation: string;
}

/** A call that has begun and holds the session. */
async function begin(session: string): Promise<Call> {
  const run = await insertRun(app.orm, { owner: ann.id, status: 'running' });
  await em().execute(
    `insert into run_task (run_id, reference, visit, seq, name, type, status, started_at)
     values (?, '/do/0/ask', 1, 1, 'ask', 'call', 'running', now())`,
    [run],
  );
  const holder = { run_id: run, task: '/do/0/ask', visit: 1 };
  const given = { agent_id: agentId, input: 'hello', tools: [], session };
  const conversation = await em().transactional((tx) => openConversation(tx, given, holder));
  await beginTurn(em(), conversation, { number: 1 });
  return { run, conversation };
}

async function end({ conversation }: Call, answer: string): Promise<Invoked> {
  const [row] = await em().execute<{ session_id: string }[]>(
    'select session_id from conversation where id = ?',
    [conversation],
  );
  const stored = { messages: [], outcome: { output: answer } };
  return storeTurn(em(), { id: conversation, session_id: row?.session_id ?? null }, 1, stored, [
    { role: 'user', text: 'hello' },
    { role: 'assistant', text: answer },
  ]);
}

const said = async (session: string): Promise<string[]> =>
  (await client.get(`/agents/${agentId}/sessions/${session}`)).body.said.map(
    ({ text }: { text: string }) => text,
  );

test('a call that has lost its session does not write into it', async () => {
  const first = await begin('taken');
  // Its run ends without it: the worker still waits for the model.
  await em().execute(`update run_task set status = 'cancelled' where run_id = ?`, [first.run]);
  const second = await begin('taken');
  const late = await end(first, 'too late');
  expect(late.warnings?.[0]).toMatch(/does not remember this answer/);
  await expect(begin('taken')).rejects.toThrow(/in use by the run/);
  expect(await end(second, 'in time')).toEqual({ output: 'in time' });
  expect(await said('taken')).toEqual(['hello', 'in time']);
  // A repeat of the activity gets what was stored.
  expect(await end(second, 'again')).toEqual({ output: 'in time' });
});

test('the answer of a call that was cancelled meanwhile is not remembered', async () => {
  const call = await begin('cancelled');
  await em().execute(`update run set status = 'cancelled' where id = ?`, [call.run]);
  expect((await end(call, 'too late')).warnings).toHaveLength(1);
  expect(await said('cancelled')).toEqual([]);
});

test('a session that is deleted during a call stays deleted', async () => {
  const call = await begin('deleted');
  await client.delete(`/agents/${agentId}/sessions/deleted`);
  expect(await end(call, 'gone')).toEqual({ output: 'gone' });
  expect((await client.get(`/agents/${agentId}/sessions/deleted`)).status).toBe(404);
});

test('one’s own conversations are found and deleted, even with an agent that one may not see', async () => {
  await end(await begin('about otters'), 'Otters float');
  expect((await client.get(`/agents/${agentId}`)).status).toBe(404);
  const found = (await client.get('/conversations?q=FLOAT')).body;
  expect(found).toMatchObject([{ agent_id: agentId, session: 'about otters', messages: 2 }]);
  expect((await client.get(`/agents/${agentId}/sessions?q=otters`)).body).toHaveLength(1);
  expect((await client.get(`/conversations?agent_id=${ann.id}`)).body).toEqual([]);
  const stranger = await app.as(await app.createUser());
  expect((await stranger.get('/conversations')).body).toEqual([]);
  expect((await stranger.get(`/agents/${agentId}/sessions`)).status).toBe(404);
  expect((await stranger.delete(`/agents/${agentId}/sessions/about%20otters`)).status).toBe(404);
  expect((await client.delete(`/agents/${agentId}/sessions/about%20otters`)).status).toBe(204);
  expect((await client.get('/conversations?q=float')).body).toEqual([]);
});
