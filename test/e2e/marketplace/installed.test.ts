/** An installed workflow runs with the secrets of its new owner only. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Client } from '../../support/app.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { approvedItem, createdWorkflow, installed, publishedAgent } from '../../support/marketplace.ts';
import { endOf, startTestPlatform, type RunRecord, type TestPlatform } from '../../support/platform.ts';
import { agentTask, httpTask } from '../../support/definitions.ts';

let platform: TestPlatform;
let target: TestServer;
let publisher: Client;
let user: Client;
let admin: Client;

beforeAll(async () => {
  platform = await startTestPlatform();
  publisher = await platform.as(await platform.createUser({ username: 'ada' }));
  user = await platform.as(await platform.createUser({ username: 'bob' }));
  admin = await platform.as('admin');
  target = await startServer((request, response) => sendJson(response, { path: request.path }));
  for (const [client, whose] of [
    [publisher, 'publisher'],
    [user, 'user'],
  ] as const) {
    for (const name of ['API_KEY', 'TOKEN'])
      await client.put(`/secrets/${name}`, { value: `${name} of the ${whose}` });
  }
  await user.put('/secrets/MINE', { value: 'what the user bound' });
});
afterAll(async () => {
  await target.close();
  await platform.close();
});

async function run(workflowId: string): Promise<RunRecord> {
  const reply = await user.post(`/workflows/${workflowId}/run`, {}, { headers: { prefer: 'wait=30' } });
  expect([reply.status, reply.body.errors]).toEqual([201, undefined]);
  return endOf(user, reply.body);
}

test('an installed workflow uses bound secrets, and faults before sending with an unbound one', async () => {
  await publishedAgent(publisher, {
    name: 'asker',
    configuration: { endpoint: `${target.url}/agent`, headers: { 'X-Key': '<API_KEY>' } },
  }).then((agent) => approvedItem(publisher, admin, agent));
  const definition = {
    use: { secrets: ['TOKEN'] },
    do: [
      { ask: agentTask('asker', { input: {} }) },
      {
        fetch: httpTask(`${target.url}/http`, { headers: { 'X-Key': '${ $secrets.TOKEN }' } }),
      },
    ],
  };
  const item = await approvedItem(publisher, admin, await createdWorkflow(publisher, definition));

  const bound = await installed(user, item, { TOKEN: 'MINE', 'asker/API_KEY': 'MINE' });
  expect(bound.missing).toEqual({ secrets: [], agents: [], workflows: [] });
  expect(await run(bound.ref_id)).toMatchObject({ status: 'completed', output: { path: '/http' } });
  expect(target.seen.map(({ headers }) => headers['x-key'])).toEqual([
    'what the user bound',
    'what the user bound',
  ]);

  // The copy is deleted, so another one is created. The agent that was installed before is used again. The
  // workflow's own secret is not bound this time.
  expect((await user.delete(`/workflows/${bound.ref_id}`)).status).toBe(204);
  const unbound = await installed(user, item);
  expect(unbound).toMatchObject({ agents: [], missing: { secrets: ['TOKEN'] } });
  const faulted = await run(unbound.ref_id);
  expect(faulted).toMatchObject({ status: 'faulted', error: { status: 403, instance: '/do/1/fetch' } });
  expect(target.seen).toHaveLength(3);

  expect((await user.delete(`/agents/${bound.agents[0].ref_id}`)).status).toBe(204);
  const alone = await installed(user, { id: (await user.get('/marketplace/items?kind=agent')).body[0].id });
  const reply = await user.post(
    `/agents/${alone.ref_id}/invoke`,
    { input: {} },
    { headers: { prefer: 'wait=30' } },
  );
  expect(await endOf(user, reply.body)).toMatchObject({
    status: 'faulted',
    error: { detail: expect.stringContaining('API_KEY') },
  });
  expect(target.seen).toHaveLength(3);
});
