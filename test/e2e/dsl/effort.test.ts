/** Definitions that compute for a long time end, and do not delay other runs. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '../../support/app.ts';
import { startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;
let builder: Client;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
});
afterAll(() => platform.close());

const read = async (id: string) => (await builder.get(`/runs/${id}`)).body;
/** As many steps as an expression may take. */
const heavy = '${ reduce range(600000) as $i (0; . + 1) }';

test('a loop and branches of heavy expressions end, and other runs proceed', async () => {
  const loop = {
    do: [
      {
        f: { for: { each: 'i', in: '${ [range(25)] }' }, do: [{ s: { set: { sum: heavy, i: '${ $i }' } } }] },
      },
    ],
  };
  const fork = {
    do: [
      {
        f: {
          fork: { branches: Array.from({ length: 25 }, (_, i) => ({ [`b${i}`]: { set: { sum: heavy } } })) },
        },
      },
    ],
  };
  const runs = await Promise.all([startRun(builder, loop), startRun(builder, fork)]);
  const light = await startRun(builder, { do: [{ s: { set: { ok: true } } }] }, {}, 60);
  expect(light['status']).toBe('completed');
  const [looped, forked] = await Promise.all(
    runs.map((run) =>
      until(
        () => read(run['id']),
        (now) => now.status !== 'pending' && now.status !== 'running',
        270_000,
      ),
    ),
  );
  expect(looped).toMatchObject({ status: 'completed', output: { sum: 600_000, i: 24 } });
  expect(forked).toMatchObject({ status: 'completed', error: null });
  expect(forked.output).toEqual(Array.from({ length: 25 }, () => ({ sum: 600_000 })));
});

test('the expressions of one task share a budget', async () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, heavy]));
  const run = await platform.runToEnd({ do: [{ s: { set: many } }] });
  expect(run).toMatchObject({
    status: 'faulted',
    error: { instance: '/do/0/s', detail: expect.stringMatching(/limit exceeded: steps/) },
  });
});

test('characters that JSON escapes count as they are written', async () => {
  const make = { set: { text: '${ "\\u0001" * 15000000 }' } };
  const branches = Array.from({ length: 4 }, (_, i) => ({ [`b${i}`]: make }));
  const run = await platform.runToEnd({ do: [{ all: { fork: { branches } } }] });
  expect(run).toMatchObject({
    status: 'faulted',
    error: { detail: expect.stringContaining('more than 16777216 characters of JSON') },
  });
  const small = await platform.runToEnd({
    do: [{ s: { set: { length: '${ "\\u0001" * 2000000 | length }' } } }],
  });
  expect(small).toMatchObject({ status: 'completed', output: { length: 2_000_000 } });
});

test("the size of a run's state is limited, and a catch can recover", async () => {
  const big = { make: { set: { x: '${ "0123456789" * 400000 }' } } };
  const branches = Array.from({ length: 24 }, (_, i) => ({
    [`b${i}`]: { do: [big, { stay: { wait: { milliseconds: 1 } } }] },
  }));
  const fork = { f: { fork: { branches } } };
  const caught = await platform.runToEnd({
    do: [
      {
        t: {
          try: [fork],
          catch: { errors: {}, as: 'e', do: [{ say: { set: { detail: '${ $e.detail }' } } }] },
        },
      },
    ],
  });
  expect(caught).toMatchObject({
    status: 'completed',
    output: {
      detail: expect.stringMatching(
        /^limit exceeded: the run holds \d+ characters of JSON at once .* more than 67108864$/,
      ),
    },
  });
});
