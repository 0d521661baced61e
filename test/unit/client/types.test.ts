/** What the compiler accepts and refuses: `npm run check:types` fails if a line below changes its meaning. */
import { expect, test } from '@jest/globals';

import { createClient, type Answer, type Client, type Run, type RunSummary } from '../../../client/index.ts';

async function accepted(client: Client): Promise<unknown[]> {
  const run: Run = await client.call('getRun', { path: { id: 'x' } });
  const runs: RunSummary[] = (await client.page('listRuns')).items;
  const status: 'pending' | 'running' | 'waiting' | 'suspended' | 'cancelled' | 'faulted' | 'completed' =
    run.status;
  const nothing: undefined = await client.call('deleteSecret', { path: { name: 'x' } });
  await client.call('claimHumanTask', { path: { id: 'x' } });
  await client.call('uploadFile', { query: { name: 'a.txt' }, body: new Blob(['x']) });
  for await (const { data } of client.events('streamEvents', { query: { types: 'io.cadenza.hitl' } }))
    return [status, runs, nothing, data.source];
  return [];
}

async function refused(client: Client): Promise<void> {
  // @ts-expect-error: there is no such operation
  await client.call('getRuns');
  // @ts-expect-error: the path needs an id
  await client.call('getRun');
  // @ts-expect-error: the path needs an id
  await client.call('getRun', { path: {} });
  // @ts-expect-error: there is no such filter
  await client.page('listRuns', { query: { state: 'waiting' } });
  // @ts-expect-error: a decision needs its word
  await client.call('decideHumanTask', { path: { id: 'x' }, body: { comment: 'x' } });
  // @ts-expect-error: a GET has no body
  await client.call('getMe', { body: {} });
  // @ts-expect-error: the answer is no list
  await client.page('getMe');
  // @ts-expect-error: a stream is followed, not called
  await client.call('streamEvents');
  // @ts-expect-error: there is no stream of users
  client.events('listUsers');
  const answer: Answer<'getMe'> = await client.call('getMe');
  // @ts-expect-error: a user has no password
  void answer.password;
}

test('the compiler accepts and refuses the calls above, and the client has the methods of its type', () => {
  // Type-checked, not called.
  expect([accepted, refused].map(({ length }) => length)).toEqual([1, 1]);
  expect(Object.keys(createClient()).toSorted()).toEqual(['call', 'events', 'items', 'page', 'tagged']);
});
