/**
 * `then` of the task of a custom function, and the effect of retrying a run on the retry limits of its
 * definition.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '../../support/app.ts';
import { endOf, startRun, startTestPlatform, type TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;
let builder: Client;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
});
afterAll(() => platform.close());

const calling = (body: unknown) => ({
  use: { functions: { greet: body } },
  do: [
    { first: { call: 'greet', with: { name: '${ .name }' } } },
    { last: { set: { reached: 'last', before: '${ . }' } } },
  ],
});

test.each([
  ['its own then', { set: { greeting: '${ "Hello " + .name }' }, then: 'end' }],
  [
    'a task in it',
    {
      do: [
        { greet: { set: { greeting: '${ "Hello " + .name }' }, then: 'end' } },
        { never: { set: { never: true } } },
      ],
    },
  ],
])('then: end in a custom function ends the workflow: %s', async (_where, body) => {
  expect(await startRun(builder, calling(body), { name: 'Ada' }, 30)).toMatchObject({
    status: 'completed',
    output: { greeting: 'Hello Ada' },
  });
});

test('then: exit leaves the function, and the workflow goes on', async () => {
  const body = {
    do: [
      { greet: { set: { greeting: '${ "Hello " + .name }' }, then: 'exit' } },
      { never: { set: { never: true } } },
    ],
  };
  expect(await startRun(builder, calling(body), { name: 'Ada' }, 30)).toMatchObject({
    status: 'completed',
    output: { reached: 'last', before: { greeting: 'Hello Ada' } },
  });
});

test("retrying a run resets the time limit of the definition's retry", async () => {
  const failing = { raise: { error: { type: 'https://example.com/broken', status: 500 } } };
  const retry = {
    delay: { milliseconds: 400 },
    limit: { duration: { milliseconds: 1_000 }, attempt: { count: 5 } },
  };
  const run = await startRun(
    builder,
    { do: [{ try: { try: [{ fail: failing }], catch: { retry } } }] },
    {},
    30,
  );
  expect(run).toMatchObject({ status: 'faulted' });
  const retried = await builder.post(`/runs/${run['id']}/retry`, {}, { headers: { prefer: 'wait=30' } });
  const ended = await endOf(builder, retried.body);
  const attempts = (await builder.get(`/runs/${retried.body.id}/logs`)).body.filter(
    ({ type }: { type: string }) => type.includes('task.retried'),
  );
  expect(ended).toMatchObject({ status: 'faulted' });
  expect(attempts.length).toBeGreaterThan(0);
});
