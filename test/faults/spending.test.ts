/** Budgets and limits of agents on several workers, of which one is killed (docs/budgets.md). */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { agentBody } from '../support/agent-body.ts';
import type { Client } from '../support/app.ts';
import { agentTask, humanTask } from '../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { readLog } from '../support/run-log.ts';
import { runFolder } from '../support/run-folder.ts';

const SKEWED_CLOCK = join(import.meta.dirname, 'long-run/skewed-clock.ts');

let platform: TestPlatform;
let target: TestServer;
let client: Client;
let workers: Program[] = [];
/** Answers to calls that wait for the test. */
const waiting: (() => void)[] = [];
/** The path whose calls wait. */
let holds: string | null = null;
let fails = false;
let most = 0;
/** A run whose only call was cut off by a kill; Temporal notices it after the time of a heartbeat. */
let cutOff: { client: Client; id: string; run: Record<string, any>; reserved: unknown };
/** The same, of an agent that may not be called twice. */
let unknown: Pick<typeof cutOff, 'id' | 'run'>;
/** A run that is a call itself, cut off while it took over the turn of that call. */
let entered: Pick<typeof cutOff, 'id' | 'run'>;

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  target = await startServer(async (request, response) => {
    if (request.path === holds)
      await new Promise<void>((resolve) => {
        most = Math.max(most, waiting.push(resolve));
      });
    // Repeats of cut-off calls come at any time.
    const isBroken = fails && request.path === '/slow';
    sendJson(response, { ok: !isBroken }, isBroken ? 503 : 200);
  });
  const killed = await worker();
  client = await platform.as(await platform.createUser({ roles: ['builder'] }));
  const { id } = await agent({
    budget: { max_invocations: 10 },
    limits: { concurrency: 1 },
    configuration: { endpoint: `${target.url}/cut`, price: { per_invocation_usd: 0.25 } },
  });
  holds = '/cut';
  const { id: once } = await agent({
    name: 'once',
    budget: { max_cost_usd: 10 },
    configuration: {
      endpoint: `${target.url}/cut`,
      price: { per_invocation_usd: 0.5 },
      retry: { idempotent: false },
    },
  });
  const run = await startRun(client, branches(id, 1));
  unknown = { id: once, run: await startRun(client, branches(once, 1)) };
  entered = await cutOffEntry();
  await until(
    async () => waiting.length,
    (count) => count === 2,
  );
  const { reserved } = (await client.get(`/budgets/${id}`)).body;
  await killed.kill();
  await endHolding();
  waiting.splice(0);
  cutOff = { client, id, run, reserved };
  workers = await Promise.all([worker(), worker(await hourAhead())]);
});
beforeEach(async () => {
  client = await platform.as(await platform.createUser({ roles: ['builder'] }));
  [holds, fails, most] = [null, false, 0];
});
afterEach(() => {
  for (const answer of waiting.splice(0)) answer();
});
afterAll(async () => {
  await Promise.all(workers.map((one) => one.kill()));
  await target.close();
  await platform.close();
});

/** An agent that is a workflow. The worker gets no further than to the statement that keeps the turn. */
async function cutOffEntry(): Promise<typeof entered> {
  const em = platform.orm.em.fork();
  await em.execute('create table holds_here ()');
  await em.execute(`
    create function hold_here() returns trigger language plpgsql as $$ begin
      if new.held_by = 'run' and exists (select from holds_here) then perform pg_sleep(600); end if;
      return new;
    end $$`);
  await em.execute(
    'create trigger hold_here before update on agent_turn for each row execute function hold_here()',
  );
  await em.execute('insert into holds_here default values');
  const definition = { do: [{ review: humanTask('Review') }] };
  const { id: workflowId } = (await client.post('/workflows', { name: 'held', definition })).body;
  const { id } = await agent({
    name: 'held',
    type: 'workflow',
    budget: { max_invocations: 10 },
    limits: { concurrency: 1 },
    configuration: { workflow_id: workflowId },
  });
  const run = (await client.post(`/agents/${id}/invoke`, { input: {} })).body;
  await until(
    () => em.fork().execute<object[]>(SLEEPING),
    ({ length }) => length === 1,
  );
  return { id, run };
}

const SLEEPING = `select pid from pg_stat_activity
  where wait_event = 'PgSleep' and datname = current_database()`;

/** What a killed worker has asked for goes on in the database. */
async function endHolding(): Promise<void> {
  const em = platform.orm.em.fork();
  await em.execute('delete from holds_here');
  await em.execute(`select pg_terminate_backend(pid) from (${SLEEPING}) sleeping`);
}

const worker = (more = {}) => startProgram('worker', platform, { EGRESS_ALLOW: '127.0.0.0/8', ...more });

/** Limits and budgets must not depend on the clock of a worker. */
async function hourAhead(): Promise<Record<string, string>> {
  const clock = join(runFolder(), 'an-hour-ahead.clock');
  await writeFile(clock, String(3_600_000));
  return { NODE_OPTIONS: `--import ${SKEWED_CLOCK}`, FAULTS_CLOCK: clock };
}

async function agent(more: Record<string, unknown>): Promise<any> {
  const body = agentBody({ name: 'limited', configuration: { endpoint: `${target.url}/slow` }, ...more });
  return (await client.post('/agents', body)).body;
}

const branches = (id: string, count: number, timeout = { seconds: 60 }) => ({
  do: [
    {
      all: {
        fork: {
          branches: Array.from({ length: count }, (_unused, i) => ({
            [`b${i}`]: {
              try: [{ ask: agentTask(id, { input: {}, timeout }) }],
              catch: { as: 'e', do: [{ no: { set: { failed: '${ $e.detail }', type: '${ $e.type }' } } }] },
            },
          })),
        },
      },
    },
  ],
});

const outputsOf = (run: Record<string, any>): any[] => Object.values<any>(run['output']);

test('two workers keep to a concurrency of three, and the log says once that a call waits', async () => {
  const { id } = await agent({ limits: { concurrency: 3 } });
  holds = '/slow';
  const run = await startRun(client, branches(id, 8));
  await until(
    async () => waiting.length,
    (count) => count === 3,
  );
  const waits = async () => (await readLog(client, run['id'])).filter(({ type }) => type.includes('waits'));
  await until(waits, (events) => events.length === 5);
  holds = null;
  for (const answer of waiting.splice(0)) answer();
  const ended = await endOf(client, run);
  expect(outputsOf(ended).filter(({ ok }) => ok)).toHaveLength(8);
  expect(most).toBe(3);
  const events = await waits();
  expect(events).toHaveLength(5);
  expect(JSON.stringify(events[0])).toContain(
    'the agent limited allows 3 calls at once (limits.concurrency)',
  );
});

test('a call that waits longer than its timeout is an error that names the limit', async () => {
  const { id } = await agent({ limits: { rate: { calls: 1, per: 'hour' } } });
  const ended = await endOf(client, await startRun(client, branches(id, 2, { seconds: 10 })));
  const failed = outputsOf(ended).filter(({ failed: detail }) => detail !== undefined);
  expect(failed).toHaveLength(1);
  expect(failed[0].type).toContain('timeout');
  expect(failed[0].failed).toContain('allows 1 call a hour (limits.rate)');
});

test('the circuit opens after failures, lets one call try, and its owner closes it', async () => {
  const breaker = { failures: 2, within: 60, open_for: 600 };
  const { id } = await agent({ visibility: 'public', limits: { breaker } });
  const invoke = async () => endOf(client, (await client.post(`/agents/${id}/invoke`, { input: {} })).body);
  const circuit = async () => (await client.get(`/agents/${id}`)).body.circuit?.state;
  const mayTry = () =>
    platform.orm.em
      .fork()
      .execute('update agent_gate set trial_at = clock_timestamp() where agent_id = ?', [id]);
  fails = true;
  await invoke();
  expect(await circuit()).toBe('closed');
  const opening = await invoke();
  expect(await circuit()).toBe('open');
  expect((await readLog(client, opening['id'])).map(({ type }) => type)).toContain(
    'io.cadenza.agent.circuit-opened.v1',
  );
  const refused = await invoke();
  expect(refused['error']).toMatchObject({ status: 503, title: 'Circuit Open' });
  expect(refused['error'].detail).toContain('has failed 2 times');
  // The trial fails, and the circuit opens again.
  await mayTry();
  expect((await invoke())['error'].title).not.toBe('Circuit Open');
  expect([await circuit(), (await invoke())['error'].title]).toEqual(['open', 'Circuit Open']);
  fails = false;
  await mayTry();
  expect((await invoke())['status']).toBe('completed');
  expect(await circuit()).toBe('closed');
  fails = true;
  await invoke();
  await invoke();
  const stranger = await platform.as(await platform.createUser({ roles: ['builder'] }));
  expect((await stranger.post(`/agents/${id}/circuit/close`)).status).toBe(403);
  expect((await client.post(`/agents/${id}/circuit/close`)).body.circuit).toMatchObject({ state: 'closed' });
  fails = false;
  expect(await invoke()).toMatchObject({ status: 'completed' });
});

test('a call under way is booked when its run is terminated', async () => {
  const { id } = await agent({ budget: { max_invocations: 10 } });
  holds = '/slow';
  const run = await startRun(client, branches(id, 2));
  await until(
    async () => waiting.length,
    (count) => count === 2,
  );
  await (await platform.as('admin')).post(`/runs/${run['id']}/terminate`);
  expect((await client.get(`/budgets/${id}`)).body).toMatchObject({
    used: { invocations: 2 },
    reserved: { invocations: 0 },
  });
});

test('a call that a kill cut off is made again, and both are booked', async () => {
  const { id, run, reserved } = cutOff;
  expect(reserved).toMatchObject({ invocations: 1, cost_usd: 0.25 });
  const ended = await endOf(cutOff.client, run);
  expect(outputsOf(ended)).toEqual([{ ok: true }]);
  expect((await cutOff.client.get(`/budgets/${id}`)).body).toMatchObject({
    used: { invocations: 2, cost_usd: 0.5 },
    reserved: { invocations: 0, cost_usd: 0 },
  });
  expect((await cutOff.client.get(`/usage?by=agent&agent_id=${id}`)).body).toMatchObject([
    { key: id, invocations: 2, cost_usd: 0.5 },
  ]);
  expect(ended['usage']).toMatchObject({ lost: 1, cost_usd: 0.5 });
  const log = JSON.stringify(await readLog(cutOff.client, run['id']));
  expect(log).toContain('the worker of a call of the agent limited was lost');
  expect(log).toContain('Both count in usage, costs and budgets, the lost one by its estimate.');
});

test('a run that is a call keeps the turn of the call, wherever a kill cuts that off', async () => {
  const { id, run } = entered;
  const read = async () => (await cutOff.client.get(`/runs/${run['id']}`)).body;
  await until(read, ({ status }) => status === 'waiting');
  const turns = await platform.orm.em
    .fork()
    .execute<object[]>(
      `select held_by, expires_at = 'infinity' as stays from agent_turn where agent_id = ?`,
      [id],
    );
  expect(turns).toEqual([{ held_by: 'run', stays: true }]);
  const next = (await cutOff.client.post(`/agents/${id}/invoke`, { input: {} })).body;
  const log = async () => JSON.stringify(await readLog(cutOff.client, next['id']));
  await until(log, (text) => text.includes('allows 1 call at once'));
  await cutOff.client.post(`/runs/${run['id']}/cancel`, {});
  await until(
    async () => (await cutOff.client.get(`/runs/${next['id']}`)).body,
    ({ status }) => status === 'waiting',
  );
  await cutOff.client.post(`/runs/${next['id']}/cancel`, {});
  await endOf(cutOff.client, next);
  expect((await cutOff.client.get(`/budgets/${id}`)).body.reserved).toMatchObject({ invocations: 0 });
});

test('a call that may not be repeated after a kill costs what it had reserved', async () => {
  const [output] = outputsOf(await endOf(cutOff.client, unknown.run));
  expect(output.failed).toContain('The outcome of an earlier call is unknown');
  expect((await cutOff.client.get(`/budgets/${unknown.id}`)).body).toMatchObject({
    used: { invocations: 1, cost_usd: 0.5 },
    reserved: { invocations: 0, cost_usd: 0 },
  });
});
