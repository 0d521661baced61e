/** Expensive schemas of one user do not delay others. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { violations } from '../../language/schema/validate-json.ts';
import { schemaViolations } from '../../domain/schema-check.ts';
import { agentBody } from '../support/agent-body.ts';
import { startTestApp, type Client, type TestApp } from '../support/app.ts';
import { insertRun, insertTask } from '../support/human-tasks.ts';
import { threadClock } from '../support/machine.ts';

let app: TestApp;
let builder: Client;

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
});
afterAll(() => app.close());

/** A schema that checks one value two to the power of 39 times. */
function exponential(): Record<string, unknown> {
  const defs: Record<string, unknown> = { a0: { type: 'object' } };
  for (let index = 1; index < 40; index += 1)
    defs[`a${index}`] = { allOf: [{ $ref: `#/$defs/a${index - 1}` }, { $ref: `#/$defs/a${index - 1}` }] };
  return { $defs: defs, $ref: '#/$defs/a39' };
}

/** The most that this thread, which serves all requests, worked until one was answered. */
async function longestWorkMs(work: Promise<unknown>): Promise<number> {
  const state = { done: false };
  const finished = work.finally(() => {
    state.done = true;
  });
  let longest = 0;
  while (!state.done) {
    const spentMs = threadClock();
    expect((await app.anonymous.get('/healthz')).status).toBe(200);
    longest = Math.max(longest, spentMs());
  }
  await finished;
  return longest;
}

test('endless schemas of inputs, payloads and forms do not delay other requests', async () => {
  const workflow = await builder.post('/workflows', {
    name: 'slow',
    definition: { input: { schema: { document: exponential() } }, do: [{ a: { set: { b: 1 } } }] },
  });
  const agent = await builder.post('/agents', agentBody({ input_schema: exponential() }));
  const owner = await app.user('builder');
  const task = await insertTask(app.orm, await insertRun(app.orm, { owner: owner.id }), {
    form_schema: exponential(),
    assignee: owner.id,
  });
  const requests = [
    `/workflows/${workflow.body.id}/run`,
    `/agents/${agent.body.id}/invoke`,
    `/hitl/tasks/${task}/decision`,
  ];
  const replies = Promise.all(
    requests.map((path) =>
      builder.post(
        path,
        path.endsWith('run')
          ? { input_params: {} }
          : path.endsWith('invoke')
            ? { input: {} }
            : { decision: 'approve', payload: {} },
      ),
    ),
  );
  // A check takes about a second.
  expect(await longestWorkMs(replies)).toBeLessThan(500);
  for (const { status, body } of await replies) {
    expect([status, JSON.stringify(body.errors)]).toEqual([
      422,
      expect.stringMatching(/takes? too (many steps|long)/),
    ]);
  }
});

test('a value checked in the thread gets the same answer as one checked directly', async () => {
  const schema = { items: { type: 'integer' }, uniqueItems: true };
  const many = Array.from({ length: 100_000 }, (_, index) => index);
  expect(await schemaViolations('a-user', schema, many)).toEqual([]);
  expect(await schemaViolations('a-user', schema, [...many, 7])).toEqual(violations(schema, [...many, 7]));
  expect(await schemaViolations('a-user', schema, ['a'])).toEqual(violations(schema, ['a']));
});

test('waiting checks are limited for all and for each user, and the next one is refused', async () => {
  const users = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'b', 'c', 'c', 'c', 'c', 'd', 'd', 'd', 'd', 'e'];
  const results = await Promise.allSettled(users.map((user) => schemaViolations(user, exponential(), {})));
  const refused = results.filter((result) => result.status === 'rejected');
  expect(users.filter((_, index) => results[index]?.status === 'rejected')).toEqual(['a', 'e']);
  expect(refused[0]?.reason).toMatchObject({ kind: 'unavailable', code: 'busy' });
});

test('files of a hidden run are not listed, not even public ones', async () => {
  const owner = await app.user('builder');
  const runId = await insertRun(app.orm, { owner: owner.id });
  const file = await builder.post('/files?visibility=public', 'text', {
    headers: { 'content-type': 'text/plain' },
  });
  await app.orm.em
    .fork()
    .execute('insert into run_file (run_id, file_id) values (?, ?)', [runId, file.body.id]);
  const listed = async (client: Client): Promise<unknown[]> =>
    (await client.get(`/files?run_id=${runId}`)).body.map(({ id }: { id: string }) => id);
  expect(await listed(builder)).toEqual([file.body.id]);
  expect(await listed(await app.as('admin'))).toEqual([file.body.id]);
  expect(await listed(await app.as('viewer'))).toEqual([]);
  expect((await (await app.as('viewer')).get(`/files/${file.body.id}`)).status).toBe(200);
});
