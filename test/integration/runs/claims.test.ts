/** Attempts of one call: which of them calls, and whose outcome is kept. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createOrm, type Orm } from '../../../db/orm.ts';
import { unclaim } from '../../../domain/registry/agent-turns.ts';
import {
  beginInvocation,
  failInvocation,
  finishInvocation,
  keepOutcomes,
  type AttemptOrder,
} from '../../../domain/runs/invocations.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { insertRun } from '../../support/human-tasks.ts';

let app: TestApp;
let orm: Orm;
let run: string;

beforeAll(async () => {
  app = await startTestApp();
  orm = createOrm({ url: app.databaseUrl });
});
beforeEach(async () => {
  const { id: owner } = await app.user('builder');
  run = await insertRun(orm, { owner, status: 'running' });
});
afterAll(async () => {
  await orm.close(true);
  await app.close();
});

const ERROR = { type: 'about:blank', status: 500 };
const T = 1_795_000_000_000;
const ordinary = (attempt: number, scheduledMs = T): AttemptOrder => ({ scheduledMs, attempt });
const short = (taskStartedMs: number, { replayed = false } = {}): AttemptOrder => ({
  scheduledMs: taskStartedMs,
  attempt: replayed ? 0 : -1,
});

async function begin(key: string, order: AttemptOrder) {
  const call = { task: '/do/0/call', name: 'call', visit: 1, attempt: 1, pin: null, digest: '00' };
  const batch = { events: [], projection: null, acks: [] };
  return beginInvocation(orm.em.fork(), run, batch, { ...call, key, order }, []);
}

/** Begins an attempt. @returns its claim; `overtaken` if it must not call */
async function claim(key: string, order: AttemptOrder): Promise<number | 'overtaken'> {
  const begun = await begin(key, order);
  return begun.overtaken ? 'overtaken' : begun.claim;
}

/** As the release before calls the function. @returns its claim */
async function claimAsBefore(key: string): Promise<number> {
  const [row] = await orm.em.fork().execute<{ claim: number }[]>(
    `select (begin_invocation(?::uuid, '[]'::json, null::jsonb, '{}'::uuid[], ?::text, null::text,
                                '/do/0/call'::text, 1::int, '00'::text,
                                 null::json) ->> 'claim')::int as claim`,
    [run, key],
  );
  return row?.claim ?? Number.NaN;
}

async function stored(key: string): Promise<unknown> {
  const [row] = await orm.em
    .fork()
    .execute<{ result: unknown; error: unknown }[]>(
      'select result, error from invocation where run_id = ? and key = ?',
      [run, key],
    );
  return row?.result ?? row?.error ?? null;
}

const keep = (key: string, output: number, of: number, required = false): Promise<boolean> =>
  keepOutcomes(orm.em.fork(), run, [{ key, ended: { result: { output } }, required, claim: of }], {
    durable: true,
  });

test('only the attempt that has claimed the key last stores an outcome', async () => {
  const em = orm.em.fork();
  expect([await claim('a', ordinary(1)), await claim('a', ordinary(2))]).toEqual([1, 2]);
  await keep('a', 1, 1);
  expect(await stored('a')).toBeNull();
  await keep('a', 2, 2);
  expect(await stored('a')).toEqual({ output: 2 });
  expect([await claim('b', ordinary(1)), await claim('b', ordinary(2))]).toEqual([1, 2]);
  expect(await finishInvocation(em, run, 'b', { output: 1 }, undefined, 1)).toBe(false);
  expect(await failInvocation(em, run, 'b', ERROR, undefined, 1)).toBe(false);
  expect(await stored('b')).toBeNull();
  expect(await failInvocation(em, run, 'b', ERROR, undefined, 2)).toBe(true);
  expect(await stored('b')).toEqual(ERROR);
});

test('an attempt that waits for its turn, unseen, does not take the claim of a later one', async () => {
  const em = orm.em.fork();
  expect([await claim('a', ordinary(1)), await claim('a', ordinary(2))]).toEqual([1, 2]);
  await unclaim(em, { runId: run, key: 'a', claim: 1 });
  expect(await finishInvocation(em, run, 'a', { output: 2 }, undefined, 2)).toBe(true);
  await claim('b', ordinary(1));
  await unclaim(em, { runId: run, key: 'b', claim: 1 });
  expect(await claim('b', ordinary(2))).toBe(1);
});

describe('an earlier attempt that begins late', () => {
  const orders: [string, AttemptOrder, AttemptOrder][] = [
    ['of the same activity', ordinary(1), ordinary(2)],
    ['of an activity that was scheduled before', ordinary(3, T), ordinary(1, T + 1)],
    ['in a workflow task that was lost', short(T), short(T + 1)],
    ['in a workflow task whose history was replayed', short(T), short(T, { replayed: true })],
    ['as a short call that became an ordinary one', short(T, { replayed: true }), ordinary(1, T)],
  ];
  test.each(orders)('%s: neither calls nor takes the claim', async (_of, earlier, later) => {
    expect(await claim('a', later)).toBe(1);
    expect(await claim('a', earlier)).toBe('overtaken');
    await keep('a', 2, 1);
    expect(await stored('a')).toEqual({ output: 2 });
  });

  test.each(orders)('%s: returns the outcome that is recorded', async (_of, earlier, later) => {
    await claim('a', later);
    await keep('a', 2, 1);
    expect(await begin('a', earlier)).toMatchObject({ overtaken: false, result: { output: 2 } });
    await claim('b', later);
    await failInvocation(orm.em.fork(), run, 'b', ERROR, undefined, 1);
    expect(await begin('b', earlier)).toMatchObject({ overtaken: false, error: ERROR });
  });

  test.each(orders)('%s: that began in time is repeated', async (_of, earlier, later) => {
    expect(await claim('a', earlier)).toBe(1);
    expect(await begin('a', later)).toMatchObject({ overtaken: false, claim: 2, claimed_before: true });
    await keep('a', 1, 1);
    expect(await stored('a')).toBeNull();
  });
});

test('of two that made a short call, the later one goes on, and the other gets a conflict', async () => {
  expect([await claim('a', short(T)), await claim('a', short(T + 1))]).toEqual([1, 2]);
  expect(await keep('a', 1, 1, true)).toBe(false);
  expect(await stored('a')).toBeNull();
  expect(await keep('a', 2, 2, true)).toBe(true);
  expect(await keep('a', 1, 1, true)).toBe(false);
  expect(await stored('a')).toEqual({ output: 2 });
});

test('an activity is not refused for ever after the clock of the server was set back', async () => {
  await claim('a', short(T + 60_000));
  expect(await claim('a', ordinary(1, T))).toBe('overtaken');
  expect(await claim('a', ordinary(1, T))).toBe('overtaken');
  expect(await claim('a', ordinary(2, T))).toBe(2);
  // Within one activity no clock decides.
  expect(await claim('a', ordinary(4, T))).toBe(3);
  expect(await claim('a', ordinary(2, T))).toBe('overtaken');
  expect(await claim('a', ordinary(3, T))).toBe('overtaken');
  expect(await claim('a', ordinary(4, T))).toBe(4);
});

test('workers of the release before claim as they did, before and after those of this one', async () => {
  expect([await claimAsBefore('a'), await claim('a', ordinary(2))]).toEqual([1, 2]);
  expect(await claimAsBefore('a')).toBe(3);
  expect(await claim('a', ordinary(1))).toBe('overtaken');
  expect(await claim('a', ordinary(4))).toBe(4);
});
