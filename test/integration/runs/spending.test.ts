/** Turns of limited agents, and the largest sums of usage and budgets (docs/budgets.md). */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import { EVENT } from '../../../contracts/run-events.ts';
import type { Orm } from '../../../db/orm.ts';
import {
  endTurn,
  holdForRun,
  takeTurn,
  type Turn,
  type TurnState,
} from '../../../domain/registry/agent-turns.ts';
import { createChildRun } from '../../../domain/runs/children.ts';
import { appendEvents } from '../../../domain/runs/events.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import {
  bookLostCall,
  holdBudgets,
  listBudgets,
  raiseNow,
  readBudget,
  settleAsHeld,
} from '../../../domain/spending/budgets.ts';
import { asksFor, endQuestion, wakeLeftCalls } from '../../../domain/spending/questions.ts';
import { foldUsage, readUsage } from '../../../domain/spending/usage.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { endRun, insertRun, insertTask } from '../../support/human-tasks.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;
let orm: Orm;
let user: TestUser;
let client: Client;

beforeAll(async () => {
  app = await startTestApp();
  ({ orm } = app);
  user = await app.user('builder');
  client = await app.as(user);
});
afterAll(() => app.close());

async function agent(more: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await client.post('/agents', agentBody(more));
  expect(status).toBe(201);
  return body.id;
}

const run = () => insertRun(orm, { owner: user.id, status: 'running' });

const end = (runId: string): Promise<void> => endRun(orm, runId, { status: 'cancelled' });

const take = (turn: Turn): Promise<TurnState> => takeTurn(orm.em.fork(), turn);
const waitOf = (state: TurnState): number => (state.state === 'waiting' ? state.wait_ms : 0);

test('calls that give up before their turn leave the rate of the agent to others', async () => {
  const agentId = await agent();
  const runId = await run();
  const limits = { rate: { calls: 2, per: 'minute' } } as const;
  const turn = (key: string, of = runId): Turn => ({ runId: of, key, agentId, limits });
  expect(await take(turn('a'))).toEqual({ state: 'calling' });
  expect(await take(turn('b'))).toEqual({ state: 'calling' });
  const crowd = Array.from({ length: 20 }, (_unused, i) => turn(`waits-${i}`));
  const waits: number[] = [];
  for (const one of crowd) waits.push(waitOf(await take(one)));
  expect(waits[0]).toBeGreaterThan(25_000);
  expect(waits[0]).toBeLessThanOrEqual(30_000);
  // Nobody is told to come back later than in a minute, whatever comes before.
  expect(waits.at(-1)).toBe(60_000);
  for (const one of crowd) await endTurn(orm.em.fork(), one, null);
  const next = await take(turn('next'));
  expect(next).toMatchObject({ state: 'waiting', ahead: 0 });
  expect(waitOf(next)).toBeLessThanOrEqual(30_000);
});

test('the end of a run takes its waiting calls out of the queue, and no others', async () => {
  const agentId = await agent();
  const [ending, other] = [await run(), await run()];
  const limits = { concurrency: 1 };
  const turn = (runId: string, key: string): Turn => ({ runId, key, agentId, limits });
  expect(await take(turn(ending, 'calls'))).toEqual({ state: 'calling' });
  expect(await take(turn(ending, 'waits'))).toMatchObject({ ahead: 0 });
  expect(await take(turn(other, 'later'))).toMatchObject({ state: 'waiting', ahead: 1 });
  await end(ending);
  // The call under way still occupies the agent.
  expect(await take(turn(other, 'later'))).toMatchObject({ state: 'waiting', ahead: 0 });
  await endTurn(orm.em.fork(), turn(ending, 'calls'), null);
  expect(await take(turn(other, 'later'))).toEqual({ state: 'calling' });
});

/** Seconds until turns of the agent end by themselves, by their keys. */
async function turnsOf(agentId: string): Promise<Record<string, number>> {
  const rows = await orm.em.fork().execute<{ key: string; seconds: number }[]>(
    `select key, extract(epoch from least(expires_at, clock_timestamp() + interval '1 year')
                                    - clock_timestamp())::int as seconds
       from agent_turn where agent_id = ?`,
    [agentId],
  );
  return Object.fromEntries(rows.map(({ key, seconds }) => [key, seconds]));
}

test('a run that has ended keeps no turn of the call that it was, whatever comes late', async () => {
  const agentId = await agent({ limits: { concurrency: 1 } });
  const [ended, parent] = [await run(), await run()];
  const turn = { runId: ended, key: 'entry', agentId, limits: { concurrency: 1 } };
  await take(turn);
  await end(ended);
  await holdForRun(orm.em.fork(), turn, true);
  expect((await turnsOf(agentId))['entry']).toBeLessThanOrEqual(30);
  await endTurn(orm.em.fork(), turn, null);

  const child = uuidv7();
  const create = () =>
    orm.em.fork().transactional((em) =>
      createChildRun(
        em,
        {
          run_id: parent,
          child_run_id: child,
          task: '/do/0/part',
          workflow: { definition: { do: [{ note: { set: { done: true } } }] } },
          input: {},
          agent_id: agentId,
          batch: { events: [], projection: null, acks: [] },
        },
        runLimits(app.env),
      ),
    );
  await create();
  expect(Object.keys(await turnsOf(agentId))).toEqual(['run']);
  await end(child);
  // The activity that created it is repeated.
  await create();
  expect(await turnsOf(agentId)).toEqual({});
});

test('a repeat of a call that goes on outside leaves its turn the time of that', async () => {
  const agentId = await agent({ limits: { concurrency: 1 } });
  const turn = { runId: await run(), key: 'job', agentId, limits: { concurrency: 1 } };
  await take(turn);
  await orm.em.fork().execute(
    `update agent_turn set held_by = 'job', expires_at = clock_timestamp() + interval '1 hour'
      where agent_id = ?`,
    [agentId],
  );
  expect(await take(turn)).toEqual({ state: 'calling' });
  expect((await turnsOf(agentId))['job']).toBeGreaterThan(3_000);
});

test('a question that nobody is asked, because its call was lost, is left to those that wait', async () => {
  const agentId = await agent({ budget: { max_invocations: 1, on_exceed: 'ask' } });
  const [asking, waiting] = [await run(), await run()];
  const asks = (runId: string): Promise<boolean> =>
    orm.em.fork().transactional((em) => asksFor(em, agentId, { runId, key: 'k' }));
  expect([await asks(asking), await asks(waiting)]).toEqual([true, false]);
  const task = await insertTask(orm, asking, { subject: { budget: { subject_id: agentId } } });
  await orm.em
    .fork()
    .execute(`update budget_question set asked_at = asked_at - interval '1 hour' where subject_id = ?`, [
      agentId,
    ]);
  expect(await wakeLeftCalls(orm.em.fork())).toEqual([]);
  await orm.em.fork().execute(`update hitl_task set status = 'cancelled' where id = ?`, [task]);
  expect(await wakeLeftCalls(orm.em.fork())).toHaveLength(1);
  expect([await asks(waiting), await asks(asking)]).toEqual([true, false]);
});

test('a run that finds a budget used up while it is being raised waits, without a deadlock', async () => {
  const agentId = await agent({ budget: { max_invocations: 1, on_exceed: 'ask' } });
  const [asking, other] = [await run(), await run()];
  const asks = (runId: string): Promise<boolean> =>
    orm.em.fork().transactional((em) => asksFor(em, agentId, { runId, key: 'k' }));
  expect(await asks(asking)).toBe(true);
  const state = await readBudget(orm.em.fork(), agentId);
  if (!state) throw new Error('no budget');
  let second: Promise<boolean> | undefined;
  await orm.em.fork().transactional(async (em) => {
    await raiseNow(em, state, { by: { invocations: 1 }, lasting: false });
    second = asks(other);
    second.catch(() => {});
    await until(
      () =>
        orm.em.fork().execute(
          `select from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like '%budget%'`,
        ),
      (blocked: unknown[]) => blocked.length > 0,
    );
    await endQuestion(em, agentId, asking);
  });
  expect(await second).toBe(true);
});

test('the dearest calls can be counted, reserved and summed up in any number', async () => {
  const agentId = await agent({ budget: { max_invocations: 1_000 } });
  const runId = await run();
  // What a counterpart says is bounded before it is stored.
  const usage = { input_tokens: 1e300, output_tokens: 1, cost_usd: 1e15 };
  const events = Array.from({ length: 120 }, (_unused, i) => ({
    key: `t${i}`,
    type: EVENT.taskCompleted,
    at: new Date().toISOString(),
    level: 'info' as const,
    task: '/do/0/ask',
    message: 'done',
    data: { visit: 1, agent_id: agentId, usage },
  }));
  await orm.em.fork().transactional((em) => appendEvents(em, runId, { events, projection: null, acks: [] }));
  expect(await foldUsage(orm.em.fork())).toBeGreaterThanOrEqual(120);
  const actor = { id: user.id, roles: ['builder'] } as never;
  const [sum] = await readUsage(orm.em.fork(), actor, { by: 'agent', agent_id: agentId }, { limit: 10 });
  expect(sum).toMatchObject({ invocations: 120, input_tokens: 120e12, cost_usd: 120e9 });
  for (let i = 0; i < 120; i++) {
    await claimKey(runId, `k${i}`);
    const hold = { runId, key: `k${i}`, claim: 1, agentId, costUsd: 1e9, tokens: 1, estimated: false };
    expect(await holdBudgets(orm.em.fork(), hold)).toEqual({ held: 1 });
    await settleAsHeld(orm.em.fork(), runId, `k${i}`);
  }
  const state = await readBudget(orm.em.fork(), agentId);
  expect(state?.used).toMatchObject({ cost_usd: 120e9, invocations: 120 });
});

/** For the first time. */
async function claimKey(runId: string, key: string): Promise<void> {
  await orm.em.fork().execute('insert into invocation (run_id, key) values (?, ?)', [runId, key]);
}

test('a lost call that a budget bears is booked once, and only if it was made', async () => {
  const agentId = await agent({ budget: { max_cost_usd: 10 } });
  const runId = await run();
  await claimKey(runId, 'k');
  const usage = { input_tokens: 1, output_tokens: 2 };
  const call = {
    runId,
    key: 'k',
    claim: 1,
    task: '/do/0/ask',
    agentId,
    agentVersion: '1.0.0',
    model: null,
  };
  const lost = () => bookLostCall(orm.em.fork(), { ...call, usage, costUsd: 1.5, budgeted: true });
  expect(await lost()).toBe(false);
  const hold = { runId, key: 'k', claim: 1, agentId, costUsd: 2, tokens: 3, estimated: true };
  await holdBudgets(orm.em.fork(), hold);
  expect([await lost(), await lost()]).toEqual([true, false]);
  const state = await readBudget(orm.em.fork(), agentId);
  expect(state).toMatchObject({
    used: { cost_usd: 2, tokens: 3, invocations: 1 },
    reserved: { cost_usd: 0 },
  });
  const actor = { id: user.id, roles: ['builder'] } as never;
  const sums = await readUsage(orm.em.fork(), actor, { by: 'agent', agent_id: agentId }, { limit: 1 });
  expect(sums).toMatchObject([{ invocations: 1, cost_usd: 1.5 }]);
});

test('an attempt that another has overtaken reserves nothing, and books nothing of the other', async () => {
  const agentId = await agent({ budget: { max_cost_usd: 10 } });
  const runId = await run();
  const em = orm.em.fork();
  const begin = (finished: boolean): Promise<unknown> =>
    em.execute(
      `insert into invocation (run_id, key, finished_at) values (?, 'k', ${finished ? 'now()' : 'null'})
       on conflict (run_id, key)
       do update set claims = invocation.claims + 1, finished_at = excluded.finished_at`,
      [runId],
    );
  const hold = (claim: number): Promise<unknown> =>
    holdBudgets(em, { runId, key: 'k', claim, agentId, costUsd: 2, tokens: 3, estimated: true });
  const spent = async (): Promise<unknown> => {
    const state = await readBudget(em, agentId);
    return [state?.used.invocations, state?.reserved.invocations];
  };
  expect(await hold(1)).toEqual({ overtaken: true });
  await begin(false);
  expect(await hold(1)).toEqual({ held: 1 });
  await begin(false);
  // The first attempt's statements come late.
  expect(await hold(1)).toEqual({ overtaken: true });
  await settleAsHeld(em, runId, 'k', 1);
  expect(await spent()).toEqual([0, 1]);
  await settleAsHeld(em, runId, 'k', 2);
  expect(await spent()).toEqual([1, 0]);
  await begin(true);
  expect(await hold(3)).toEqual({ overtaken: true });
  expect(await spent()).toEqual([1, 0]);
});

test('a budget is raised to at most what it can be set to', async () => {
  const id = await agent({ budget: { max_cost_usd: 999_999_999 } });
  for (const lasting of [true, false]) {
    const { status, body } = await client.post(`/budgets/${id}/raise`, { cost_usd: 1_000_000_000, lasting });
    expect({ status, max: body.max_cost_usd }).toEqual({ status: 200, max: 1_000_000_000 });
  }
  expect((await client.post(`/budgets/${id}/raise`, { cost_usd: 1_000_000_000 })).body.raised.cost_usd).toBe(
    1_000_000_000,
  );
  // The record still fits its own schema.
  expect((await client.patch(`/agents/${id}`, { budget: { on_exceed: 'ask' } })).status).toBe(200);
});

test('a change of limits leaves the others, null clears one, and a part needs what it is about', async () => {
  const limits = { concurrency: 2, rate: { calls: 60, per: 'minute' }, breaker: { failures: 3, within: 5 } };
  const id = await agent({ limits });
  const patch = async (more: unknown) => client.patch(`/agents/${id}`, { limits: more });
  expect((await patch({ concurrency: null, rate: { calls: 5 } })).body.limits).toEqual({
    rate: { calls: 5, per: 'minute' },
    breaker: { failures: 3, within: 5 },
  });
  const refused = await patch({ breaker: { failures: null } });
  expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, '/limits/breaker/failures']);
  expect((await patch(null)).body.limits).toBeNull();
});

test('one page of budgets is read by indexes, however many runs of others have one', async () => {
  const em = app.orm.em.fork();
  const other = (await app.createUser({ roles: ['builder'] })).id;
  const [one, theirs] = [await run(), await insertRun(orm, { owner: other, status: 'running' })];
  await em.execute(
    `insert into run (id, workflow_name, definition, status, input, owner_id, root_run_id, budget_id)
     select n.id, 'many', '{}', 'running', '{}', ?::uuid, n.id, n.id
       from (select gen_random_uuid() as id from generate_series(1, 20000)) n`,
    [other],
  );
  await em.execute(`update run set budget_id = id where id = any(?::uuid[])`, [`{${one},${theirs}}`]);
  await em.execute(`insert into budget (subject_id, subject) select id, 'run' from run where budget_id = id`);
  await em.execute('vacuum analyze run, budget');
  const list = async () => (await client.get('/budgets?subject=run')).body.map((state: any) => state.id);
  expect(await list()).toContain(one);
  expect(await list()).not.toContain(theirs);
  const asked: { sql: string; values: unknown[] }[] = [];
  const watched = { execute: async (sql: string, values: unknown[]) => (asked.push({ sql, values }), []) };
  const actor = { id: user.id, roles: ['builder'] } as never;
  await listBudgets(watched as never, actor, {}, { limit: 50 });
  const [{ sql, values } = { sql: '', values: [] }] = asked;
  const [row] = await em.execute<any[]>(`explain (analyze, buffers, format json) ${sql}`, values);
  const plan = row['QUERY PLAN'][0].Plan;
  expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(500);
});

test('usage is read up to the last day that there is', async () => {
  expect((await client.get('/usage?to=9999-12-31T12:00:00Z')).status).toBe(200);
});

test('a price from before 1970 is refused, and one that begins with 1970 is not', async () => {
  const admin = await app.as('admin');
  const price = { model: 'old-model', input_per_million_usd: 1, output_per_million_usd: 1 };
  for (const validFrom of ['0001-01-01T00:00:00Z', '0099-12-31T00:00:00Z', '1969-12-31T23:59:59.999Z']) {
    const { status, body } = await admin.post('/prices', { ...price, valid_from: validFrom });
    expect([status, body.errors?.[0]]).toMatchObject([422, { pointer: '/valid_from', code: 'out_of_range' }]);
  }
  const first = await admin.post('/prices', { ...price, valid_from: '1970-01-01T00:00:00Z' });
  expect(first.status).toBe(201);
  const early = { ...price, valid_from: '0001-01-01T00:00:00Z' };
  const changed = await admin.put(`/prices/${first.body.id}`, early);
  expect(changed.status).toBe(422);
});
