/** Jobs of external workers, end to end: docs/external-workers.md. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { createClient as createApiClient, createWorker } from '../../../client/index.ts';
import { agentBody, registeredAgent } from '../../support/agent-body.ts';
import { createClient, type Client, type Reply } from '../../support/app.ts';
import { agentTask } from '../../support/definitions.ts';
import { sendJson, startServer } from '../../support/http-server.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { openStream } from '../../support/sse-client.ts';

let platform: TestPlatform;
let builder: Client;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
});
afterAll(() => platform.close());

const OUTPUT_SCHEMA = {
  type: 'object',
  required: ['sum'],
  properties: { sum: { type: 'number' } },
};

let named = 0;
async function edgeAgent(configuration: Record<string, unknown> = {}, more: Record<string, unknown> = {}) {
  const name = `adder-${++named}`;
  return registeredAgent(builder, {
    ...agentBody(),
    name,
    type: 'sensor',
    execution_type: 'edge',
    configuration,
    output_schema: OUTPUT_SCHEMA,
    ...more,
  });
}

async function workerFor(agent: { id: string }, more: { id: string }[] = []): Promise<Client> {
  const { status, body } = await builder.post(`/agents/${agent.id}/worker-tokens`, {
    name: 'plant 7',
    agent_ids: more.map(({ id }) => id),
  });
  expect(status).toBe(201);
  return createClient(platform.url, body.token);
}

const call = (agent: { id: string }, input: unknown = { a: 1, b: 2 }, more: Record<string, unknown> = {}) =>
  startRun(builder, { do: [{ add: agentTask(agent.id, { input, ...more }) }] });

const poll = (worker: Client, agent: { id: string }, more: Record<string, unknown> = {}): Promise<Reply> =>
  worker.post(`/agents/${agent.id}/jobs/poll`, { wait_seconds: 20, ...more });

async function onlyJob(worker: Client, agent: { id: string }, more: Record<string, unknown> = {}) {
  const { status, body } = await poll(worker, agent, more);
  expect({ status, jobs: body.length, body }).toMatchObject({ status: 200, jobs: 1 });
  return body[0];
}

const jobsOf = async (agent: { id: string }) => (await builder.get(`/agents/${agent.id}/jobs`)).body;

/** As if the lease had run out. */
const endLease = (id: string) =>
  platform.orm.em
    .fork()
    .execute(`update job set available_at = clock_timestamp() - interval '1 second' where id = ?`, [id]);

test('a worker that waits gets the job at once, and its output is the output of the task', async () => {
  const agent = await edgeAgent({ queue: 'plant', settings: { key: '<PLANT_KEY>', unit: 'mm' } });
  await builder.put('/secrets/PLANT_KEY', { value: 'plant-secret-4711' });
  const worker = await workerFor(agent);
  const waiting = poll(worker, agent, { queue: 'plant', worker: 'arm-1' });
  const run = await call(agent);
  const [job] = (await waiting).body;
  expect(job).toEqual({
    id: expect.any(String),
    agent_id: agent.id,
    version: '1.0.0',
    input: { a: 1, b: 2 },
    idempotency_key: expect.stringContaining(run['id']),
    attempt: 1,
    lease_expires_at: expect.any(String),
    lease_seconds: expect.any(Number),
    settings: { key: 'plant-secret-4711', unit: 'mm' },
  });
  expect((await jobsOf(agent))[0]).toMatchObject({ status: 'leased', queue: 'plant', worker: 'arm-1' });

  const wrong = await worker.post(`/jobs/${job.id}/complete`, { output: { sum: 'three' } });
  expect(wrong).toMatchObject({ status: 422, body: { errors: [{ pointer: '/output/sum' }] } });
  const beat = await worker.post(`/jobs/${job.id}/heartbeat`, { progress: 50, attempt: 1 });
  expect(beat).toMatchObject({ status: 200, body: { cancelled: false } });
  const output = { sum: 3, echoed: 'plant-secret-4711' };
  const done = await worker.post(`/jobs/${job.id}/complete`, { output });
  expect(done).toMatchObject({ status: 200, body: { id: job.id, status: 'completed' } });
  const again = await worker.post(`/jobs/${job.id}/complete`, { output: { sum: 4 } });
  expect(again).toMatchObject({ status: 200, body: { status: 'completed' } });
  expect((await worker.post(`/jobs/${job.id}/fail`, {})).body).toMatchObject({ code: 'job_completed' });

  const ended = await endOf(builder, run);
  expect(ended).toMatchObject({ status: 'completed', output: { sum: 3, echoed: '<PLANT_KEY>' } });
  expect(ended['tasks'][0]).toMatchObject({ agent_id: agent.id, usage: { requests: 1 } });
  expect(ended['logs'].map(({ type }: { type: string }) => type)).toContain('io.cadenza.job.created.v1');
  const queue = await until(
    async () => (await builder.get(`/agents/${agent.id}/queue`)).body,
    ({ workers }) => workers.length > 0,
  );
  expect(queue).toMatchObject({ waiting: 0, leased: 0, workers: [{ worker: 'arm-1', leased: 0 }] });
  const [token] = (await builder.get(`/agents/${agent.id}/worker-tokens`)).body;
  expect(token).toMatchObject({ name: 'plant 7', agent_ids: [agent.id], last_used: expect.any(String) });
});

test('jobs are handed out oldest first, each to one of the pollers, and by queue', async () => {
  const agent = await edgeAgent({ queue: 'a' });
  const worker = await workerFor(agent);
  const runs = [];
  for (const a of [1, 2, 3, 4]) {
    runs.push(await call(agent, { a, b: 0 }));
    // Runs create their jobs side by side: the order of the jobs is that of the runs only if each waits.
    await until(
      () => jobsOf(agent),
      ({ length }) => length === a,
    );
  }
  expect((await poll(worker, agent, { queue: 'b', wait_seconds: 0 })).body).toEqual([]);
  const two = await poll(worker, agent, { max: 2 });
  expect(two.body.map((job: any) => job.input.a)).toEqual([1, 2]);
  const others = await Promise.all([1, 2, 3].map(() => poll(worker, agent, { wait_seconds: 1 })));
  const taken = others.flatMap(({ body }) => body);
  expect(taken.map((job: any) => job.input.a).toSorted()).toEqual([3, 4]);
  for (const job of [...two.body, ...taken])
    await worker.post(`/jobs/${job.id}/complete`, { output: { sum: job.input.a } });
  const ends = await Promise.all(runs.map((run) => endOf(builder, run)));
  expect(ends.map(({ output }) => output.sum)).toEqual([1, 2, 3, 4]);
});

test('a lease that runs out gives the job to the next worker, and the first one has lost it', async () => {
  const agent = await edgeAgent();
  const [first, second] = [await workerFor(agent), await workerFor(agent)];
  const run = await call(agent);
  const job = await onlyJob(first, agent);
  await endLease(job.id);
  const again = await onlyJob(second, agent);
  expect(again).toMatchObject({ id: job.id, attempt: 2, idempotency_key: job.idempotency_key });
  for (const what of ['complete', 'heartbeat', 'fail'])
    expect(
      await first.post(`/jobs/${job.id}/${what}`, what === 'complete' ? { output: { sum: 3 } } : {}),
    ).toMatchObject({ status: 409, body: { code: 'lease_lost' } });
  // With one token for many processes, the attempt tells them apart.
  const late = await second.post(`/jobs/${job.id}/complete`, { output: { sum: 9 }, attempt: 1 });
  expect(late).toMatchObject({ status: 409, body: { code: 'lease_lost' } });
  const completions = await Promise.all(
    [1, 2, 3].map(() => second.post(`/jobs/${job.id}/complete`, { output: { sum: 3 }, attempt: 2 })),
  );
  expect(completions.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await first.post(`/jobs/${job.id}/complete`, { output: { sum: 5 } })).toMatchObject({ status: 409 });
  expect(await endOf(builder, run)).toMatchObject({ status: 'completed', output: { sum: 3 } });
});

test('a job that fails is handed out again, until its attempts are used up', async () => {
  const agent = await edgeAgent({ max_attempts: 2 });
  const worker = await workerFor(agent);
  const run = await call(agent);
  const job = await onlyJob(worker, agent);
  expect(await worker.post(`/jobs/${job.id}/fail`, { detail: 'jammed' })).toMatchObject({
    status: 200,
    body: { status: 'waiting' },
  });
  expect((await jobsOf(agent))[0]).toMatchObject({ status: 'waiting', last_error: 'jammed' });
  await endLease(job.id);
  await onlyJob(worker, agent, { wait_seconds: 10 });
  const last = await worker.post(`/jobs/${job.id}/fail`, { type: 'authorization', detail: 'locked out' });
  expect(last.body).toEqual({ id: job.id, status: 'failed' });
  expect(await endOf(builder, run)).toMatchObject({
    status: 'faulted',
    error: { status: 403, detail: 'locked out' },
  });
});

const circuitOf = async (agent: { id: string }) => (await builder.get(`/agents/${agent.id}`)).body.circuit;

test('a job counts as a call until it has ended, and its end counts for the circuit breaker', async () => {
  const limits = { concurrency: 1, breaker: { failures: 1 } };
  const agent = await edgeAgent({}, { limits });
  const worker = await workerFor(agent);
  const run = await call(agent);
  const job = await onlyJob(worker, agent);
  const second = await call(agent);
  await until(
    async () => (await builder.get(`/runs/${second['id']}`)).body.logs,
    (log: any[]) => log.some(({ type }) => type === 'io.cadenza.agent.waits.v1'),
  );
  expect(await jobsOf(agent)).toHaveLength(1);
  await worker.post(`/jobs/${job.id}/complete`, { output: { sum: 3 } });
  expect(await endOf(builder, run)).toMatchObject({ status: 'completed' });
  const next = await onlyJob(worker, agent);
  expect(await circuitOf(agent)).toMatchObject({ state: 'closed' });
  await worker.post(`/jobs/${next.id}/fail`, { detail: 'jammed', retry: false });
  const failed = await endOf(builder, second);
  expect(failed['logs'].map(({ type }: any) => type)).toContain('io.cadenza.agent.circuit-opened.v1');
  expect(await circuitOf(agent)).toMatchObject({ state: 'open', failures: 1 });
  const refused = await endOf(builder, await call(agent));
  expect(refused['error']).toMatchObject({ status: 503, title: 'Circuit Open' });
  await builder.post(`/agents/${agent.id}/circuit/close`);
  // The end of a run gives the turn of its job back.
  const cancelled = await call(agent);
  await onlyJob(worker, agent);
  await builder.post(`/runs/${cancelled['id']}/cancel`);
  await endOf(builder, cancelled);
  const last = await call(agent);
  const { id } = await onlyJob(worker, agent);
  await worker.post(`/jobs/${id}/complete`, { output: { sum: 3 } });
  expect(await endOf(builder, last)).toMatchObject({ status: 'completed' });
});

test('what a worker says that a job has used counts in usage and budgets', async () => {
  const price = { per_invocation_usd: 0.5, input_per_million_usd: 1_000 };
  const agent = await edgeAgent({ price }, { budget: { max_cost_usd: 2 } });
  const worker = await workerFor(agent);
  const completed = async (usage: Record<string, unknown>) => {
    const run = await call(agent);
    const { id } = await onlyJob(worker, agent);
    const wrong = await worker.post(`/jobs/${id}/complete`, { output: { sum: 3 }, usage: { cost_usd: -1 } });
    expect(wrong).toMatchObject({ status: 422, body: { errors: [{ pointer: '/usage/cost_usd' }] } });
    await worker.post(`/jobs/${id}/complete`, { output: { sum: 3 }, usage });
    return endOf(builder, run);
  };
  expect((await completed({ cost_usd: 0.25, input_tokens: 7 }))['usage']).toMatchObject({
    cost_usd: 0.75,
    input_tokens: 7,
  });
  expect((await completed({ input_tokens: 500, model: 'own' }))['usage']).toMatchObject({ cost_usd: 1 });
  expect((await builder.get(`/budgets/${agent.id}`)).body).toMatchObject({
    used: { cost_usd: 1.75, tokens: 507, invocations: 2 },
  });
  const last = await completed({ cost_usd: 1 });
  expect(last).toMatchObject({ status: 'completed' });
  const over = await endOf(builder, await call(agent));
  expect(over['error']).toMatchObject({ status: 402 });
});

test('what failed attempts say that they have used is booked once, with the end of the job', async () => {
  const price = { per_invocation_usd: 0.5, input_per_million_usd: 1_000 };
  const agent = await edgeAgent({ price }, { budget: { max_cost_usd: 10 } });
  const worker = await workerFor(agent);
  const run = await call(agent);
  const first = await onlyJob(worker, agent);
  const wrong = { detail: 'jammed', usage: { cost_usd: -1 } };
  expect((await worker.post(`/jobs/${first.id}/fail`, wrong)).status).toBe(422);
  const failed = { detail: 'jammed', usage: { cost_usd: 0.25, input_tokens: 5 } };
  expect((await worker.post(`/jobs/${first.id}/fail`, failed)).body.status).toBe('waiting');
  await onlyJob(worker, agent);
  await worker.post(`/jobs/${first.id}/complete`, {
    output: { sum: 3 },
    usage: { input_tokens: 500, model: 'm' },
  });
  expect((await endOf(builder, run))['usage']).toMatchObject({ cost_usd: 1.25, input_tokens: 505 });

  const vain = await call(agent);
  const { id } = await onlyJob(worker, agent);
  const last = { detail: 'broken', retry: false, usage: { cost_usd: 0.25, output_tokens: 7 } };
  for (const _repeat of [1, 2])
    expect((await worker.post(`/jobs/${id}/fail`, last)).body.status).toBe('failed');
  const ended = await endOf(builder, vain);
  expect(ended).toMatchObject({ status: 'faulted', usage: { cost_usd: 0.75, output_tokens: 7 } });
  expect(ended['tasks'][0]).toMatchObject({ agent_id: agent.id, usage: { cost_usd: 0.75 } });
  expect((await builder.get(`/budgets/${agent.id}`)).body).toMatchObject({
    used: { cost_usd: 2, tokens: 512, invocations: 2 },
    reserved: { cost_usd: 0, invocations: 0 },
  });
  expect((await builder.get(`/usage?by=agent&agent_id=${agent.id}`)).body).toMatchObject([
    { invocations: 2, cost_usd: 2, input_tokens: 505, output_tokens: 7 },
  ]);
});

test("after the agent's transfer its workers get no secret of the former owner", async () => {
  const agent = await edgeAgent({ settings: { key: '<FORMER_KEY>' } });
  await builder.put('/secrets/FORMER_KEY', { value: 'of-the-former-owner' });
  const worker = await workerFor(agent);
  const run = await call(agent);
  await until(
    () => jobsOf(agent),
    ({ length }) => length === 1,
  );
  const { id: heir } = await platform.createUser({ roles: ['admin'] });
  const em = platform.orm.em.fork();
  await em.execute('update agent set owner_id = ? where id = ?', [heir, agent.id]);
  await em.execute(
    `update worker_token set owner_id = ? where id in (
    select token_id from worker_token_agent where agent_id = ?)`,
    [heir, agent.id],
  );
  expect((await poll(worker, agent, { wait_seconds: 0 })).body).toEqual([]);
  expect((await endOf(builder, run))['error'].detail).toContain('a new owner since the run began');
});

test('a lost worker of an agent that is not idempotent ends the call with an error', async () => {
  const agent = await edgeAgent({ retry: { idempotent: false } });
  const worker = await workerFor(agent);
  const run = await call(agent);
  const job = await onlyJob(worker, agent);
  await endLease(job.id);
  expect((await poll(worker, agent, { wait_seconds: 0 })).body).toEqual([]);
  await platform.reconcile();
  const { error } = await endOf(builder, run);
  expect(error.detail).toMatch(/outcome is unknown/);
});

test('cancelling the run reaches the worker with its heartbeat, and its output comes too late', async () => {
  const agent = await edgeAgent();
  const worker = await workerFor(agent);
  const run = await call(agent);
  const job = await onlyJob(worker, agent);
  await builder.post(`/runs/${run['id']}/cancel`);
  expect(await endOf(builder, run)).toMatchObject({ status: 'cancelled' });
  const beat = await worker.post(`/jobs/${job.id}/heartbeat`, {});
  expect(beat).toMatchObject({ status: 200, body: { cancelled: true } });
  const late = await worker.post(`/jobs/${job.id}/complete`, { output: { sum: 3 } });
  expect(late).toMatchObject({ status: 409, body: { code: 'job_cancelled' } });
});

test('a job that nobody completes times out; a catch goes on, and the worker is told', async () => {
  const agent = await edgeAgent({ timeout: { seconds: 10 } });
  const worker = await workerFor(agent);
  const definition = {
    do: [
      {
        attempt: {
          try: [{ add: agentTask(agent.id, { input: {} }) }],
          catch: { as: 'e', do: [{ note: { set: { status: '${ $e.status }', detail: '${ $e.detail }' } } }] },
        },
      },
    ],
  };
  const run = await startRun(builder, definition);
  const job = await onlyJob(worker, agent);
  const ended = await endOf(builder, run);
  expect(ended).toMatchObject({ status: 'completed', output: { status: 408 } });
  expect(ended['output'].detail).toMatch(/did not complete the job in time/);
  const late = await worker.post(`/jobs/${job.id}/complete`, { output: { sum: 3 } });
  expect(late).toMatchObject({ status: 409, body: { code: 'job_timed_out' } });
});

test('a job can be ended although the secret of its settings was deleted meanwhile', async () => {
  const agent = await edgeAgent({ settings: { key: '<GONE_KEY>' } });
  await builder.put('/secrets/GONE_KEY', { value: 'gone-secret-4711' });
  const worker = await workerFor(agent);
  const run = await call(agent);
  const job = await onlyJob(worker, agent);
  expect((await builder.delete('/secrets/GONE_KEY')).status).toBe(204);
  expect((await worker.post(`/jobs/${job.id}/heartbeat`, { progress: 'half' })).status).toBe(200);
  expect((await worker.post(`/jobs/${job.id}/complete`, { output: { sum: 3 } })).status).toBe(200);
  expect(await endOf(builder, run)).toMatchObject({ status: 'completed', output: { sum: 3 } });
  const next = await call(agent);
  expect((await poll(worker, agent)).body).toEqual([]);
  expect((await endOf(builder, next))['error'].detail).toMatch(/GONE_KEY/);
});

test('a suspended run takes the outcome when it is resumed, also after a restart', async () => {
  const agent = await edgeAgent();
  const worker = await workerFor(agent);
  const run = await call(agent);
  const job = await onlyJob(worker, agent);
  await builder.post(`/runs/${run['id']}/suspend`);
  await platform.stopWorker();
  expect((await worker.post(`/jobs/${job.id}/complete`, { output: { sum: 3 } })).status).toBe(200);
  await platform.startWorker();
  const suspended = await until(
    async () => (await builder.get(`/runs/${run['id']}`)).body,
    ({ status }) => status === 'suspended',
  );
  expect(suspended.output).toBeNull();
  await builder.post(`/runs/${run['id']}/resume`);
  expect(await endOf(builder, run)).toMatchObject({ status: 'completed', output: { sum: 3 } });
});

test('a worker reads the files of its job, adds files, and its progress is shown', async () => {
  const agent = await edgeAgent({}, { output_schema: null });
  const worker = await workerFor(agent);
  const text = { headers: { 'content-type': 'text/plain' }, body: 'hello' };
  const file = await builder.request('POST', '/files?name=in.txt', text);
  const run = await call(agent, { file: { file_id: file.body.id } });
  const { token } = await platform.user('builder');
  const stream = await openStream(`${platform.url}/runs/${run['id']}/events`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const job = await onlyJob(worker, agent);
  expect(await worker.get(`/jobs/${job.id}/files/${file.body.id}`)).toMatchObject({ status: 200 });
  const other = await builder.request('POST', '/files?name=x', text);
  expect(await worker.get(`/jobs/${job.id}/files/${other.body.id}`)).toMatchObject({ status: 404 });
  await until(
    () => worker.post(`/jobs/${job.id}/heartbeat`, { progress: 'drilling' }),
    () => JSON.stringify(stream.events).includes('drilling'),
  );
  const added = await worker.request('POST', `/jobs/${job.id}/files?name=out.bin`, {
    headers: { 'content-type': 'application/octet-stream' },
    body: 'abc',
  });
  expect(added).toMatchObject({ status: 201, body: { name: 'out.bin', size: 3 } });
  await worker.post(`/jobs/${job.id}/complete`, { output: { file: { file_id: added.body.id } } });
  await endOf(builder, run);
  expect((await builder.get(`/files/${added.body.id}`)).status).toBe(200);
  expect(await worker.get(`/jobs/${job.id}/files/${file.body.id}`)).toMatchObject({ status: 409 });
});

test("a worker's token serves its agents and opens nothing else, until it is revoked", async () => {
  const [agent, second, foreign] = [await edgeAgent(), await edgeAgent(), await edgeAgent()];
  const worker = await workerFor(agent, [second]);
  expect((await poll(worker, second, { wait_seconds: 0 })).status).toBe(200);
  expect((await poll(worker, foreign, { wait_seconds: 0 })).status).toBe(404);
  const run = await call(foreign);
  const owner = await platform.as('builder');
  const job = await onlyJob(owner, foreign);
  for (const [method, path] of [
    ['POST', `/jobs/${job.id}/complete`],
    ['POST', `/jobs/${job.id}/heartbeat`],
  ] as const)
    expect((await worker.request(method, path, { body: { output: {} } })).status).toBe(404);
  for (const path of [
    '/agents',
    `/agents/${agent.id}`,
    `/agents/${agent.id}/jobs`,
    '/runs',
    '/users/me',
    '/files',
  ])
    expect((await worker.get(path)).status).toBe(401);
  expect((await worker.post(`/agents/${agent.id}/worker-tokens`, { name: 'more' })).status).toBe(401);
  expect((await worker.post(`/agents/${agent.id}/invoke`, { input: {} })).status).toBe(401);
  await owner.post(`/jobs/${job.id}/complete`, { output: { sum: 1 } });
  await endOf(builder, run);

  const waiting = poll(worker, agent, { wait_seconds: 20 });
  await until(
    async () => platform.app.deps.jobPolls.waiting,
    (count) => count > 0,
  );
  const [record] = (await builder.get(`/agents/${agent.id}/worker-tokens`)).body;
  await builder.delete(`/agents/${agent.id}/worker-tokens/${record.id}`);
  const later = await call(agent);
  expect((await waiting).status).toBe(401);
  expect((await poll(worker, agent, { wait_seconds: 0 })).status).toBe(404);
  expect((await jobsOf(agent))[0]).toMatchObject({ status: 'waiting', attempt: 0 });
  await builder.post(`/runs/${later['id']}/cancel`);
});

const root = join(import.meta.dirname, '../../..');

/** Starts a program that works with a token of its own, until the test has ended. */
async function startProgram(agent: { id: string }, file: string, args: string[]): Promise<ChildProcess> {
  const { body } = await builder.post(`/agents/${agent.id}/worker-tokens`, { name: 'program' });
  const program = spawn(file, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      PYTHONPATH: join(root, 'sdk/python'),
      PYTHONDONTWRITEBYTECODE: '1',
      CADENZA_URL: platform.url,
      CADENZA_TOKEN: body.token,
      CADENZA_AGENT: agent.id,
    },
  });
  programs.push(program);
  return program;
}
const programs: ChildProcess[] = [];
afterAll(() => programs.forEach((program) => program.kill('SIGKILL')));

const COUNTER = { output_schema: { type: 'object', required: ['words'] } };

test.each([
  ['the worker in Python', 'python3', [join(root, 'sdk/python/examples/word_count.py')]],
  ['the worker in JavaScript', process.execPath, [join(root, 'examples/workers/word-count.mjs')]],
])('%s of the examples works on jobs, and ends on SIGTERM', async (_, file, args) => {
  const agent = await edgeAgent({}, COUNTER);
  const program = await startProgram(agent, file, args);
  const run = await call(agent, { text: 'to be or not to be' });
  expect(await endOf(builder, run)).toMatchObject({ status: 'completed', output: { words: 6 } });
  const ended = once(program, 'exit');
  program.kill('SIGTERM');
  const again = await call(agent, { text: 'one' });
  // A poll that was under way may still take a job, and work on it.
  const [code] = await ended;
  expect(code).toBe(0);
  await builder.post(`/runs/${again['id']}/cancel`);
});

test('a killed worker in Python is replaced by the next one', async () => {
  const agent = await edgeAgent({ lease: 'PT5S' }, COUNTER);
  const taker = await workerFor(agent);
  const run = await call(agent, { text: 'to be' });
  // As a worker that was killed with the job in hand.
  await onlyJob(taker, agent);
  await startProgram(agent, 'python3', [join(root, 'sdk/python/examples/word_count.py')]);
  expect(await endOf(builder, run)).toMatchObject({ status: 'completed', output: { words: 2 } });
  expect((await jobsOf(agent))[0]).toMatchObject({ attempt: 2, worker: 'word-count' });
});

const STUBBORN = `
import os
from cadenza_worker import Api, Worker
def work(job):
    if job.input == "nan":
        return float("nan")
    return job.cancelled.wait(30) if job.input == "long" else job.input
Worker(Api(os.environ["CADENZA_URL"], "token"), ["a"], work).run()
`;

test('the worker in Python survives answers that are cut off, and reports what is no JSON', async () => {
  const job = (input: string): unknown => ({
    id: input,
    agent_id: 'a',
    version: '1.0.0',
    input,
    idempotency_key: 'k',
    attempt: 1,
    // The worker's clock may be far from this one.
    lease_expires_at: new Date(0).toISOString(),
    lease_seconds: 3,
  });
  const answers: Record<string, unknown[]> = {
    '/agents/a/jobs/poll': ['cut', 'html', [job('long')], [job('short')], [job('nan')]],
    '/jobs/long/heartbeat': ['cut', { cancelled: true }],
    '/jobs/short/complete': ['cut', {}],
    '/jobs/nan/complete': ['refused'],
    '/jobs/nan/fail': [{}],
  };
  const server = await startServer((request, response) => {
    const answer = answers[request.path]?.shift();
    if (answer === 'refused') return sendJson(response, { code: 'malformed_json', detail: 'no JSON' }, 400);
    if (answer === 'html') return void response.end('<html>');
    if (answer !== 'cut') return sendJson(response, answer ?? []);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('[', () => response.destroy());
  });
  const program = spawn('python3', ['-c', STUBBORN], {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: { ...process.env, PYTHONPATH: join(root, 'sdk/python'), CADENZA_URL: server.url },
  });
  programs.push(program);
  const sent = (path: string) => server.seen.filter((request) => request.path === path);
  await until(
    async () => sent('/jobs/nan/fail').length,
    (count) => count === 1,
  );
  expect(JSON.parse(sent('/jobs/nan/fail')[0]?.body ?? '')).toMatchObject({
    type: 'validation',
    retry: false,
  });
  expect(sent('/jobs/long/heartbeat')).toHaveLength(2);
  expect(sent('/jobs/short/complete')).toHaveLength(2);
  expect(sent('/jobs/short/fail')).toHaveLength(0);
  program.kill('SIGKILL');
  await server.close();
});

test('cadenza worker run pipes jobs to a program', async () => {
  const agent = await edgeAgent({}, { output_schema: null });
  const script = 'process.stdin.on("data", (d) => console.log(JSON.stringify({ got: JSON.parse(d) })))';
  await startProgram(agent, process.execPath, [
    join(root, 'cli/cadenza.cjs'),
    'worker',
    'run',
    agent.id,
    '--',
    process.execPath,
    '-e',
    script,
  ]);
  const run = await call(agent, { a: 1 });
  expect(await endOf(builder, run)).toMatchObject({ status: 'completed', output: { got: { a: 1 } } });
});

test('the typed worker heartbeats, learns of a cancellation, and stops when its work is done', async () => {
  const agent = await edgeAgent({ lease: 'PT5S', max_attempts: 3 });
  const { body } = await builder.post(`/agents/${agent.id}/worker-tokens`, { name: 'typed' });
  const client = createApiClient({ baseUrl: platform.url, token: () => body.token });
  const seen: number[] = [];
  const given = Promise.withResolvers<AbortSignal>();
  const worker = createWorker({
    client,
    agents: [agent.id],
    concurrency: 2,
    async handler({ input, attempt }, { signal, progress }) {
      const { a } = input as { a: number };
      seen.push(a);
      if (a === 1 && attempt === 1) throw new Error('jammed');
      if (a === 2) return { sum: 'two' };
      if (a === 3) {
        progress('holding');
        given.resolve(signal);
        await once(signal, 'abort');
      }
      return { sum: a };
    },
  });
  const [first, second, third] = [
    await call(agent, { a: 1 }),
    await call(agent, { a: 2 }),
    await call(agent, { a: 3 }),
  ];
  expect(await endOf(builder, second)).toMatchObject({
    status: 'faulted',
    error: { title: 'Validation Error' },
  });
  const signal = await given.promise;
  await until(
    () => jobsOf(agent),
    ([job]) => job.progress === 'holding',
  );
  await builder.post(`/runs/${third['id']}/cancel`);
  await until(async () => signal.aborted, Boolean);
  expect(await endOf(builder, first)).toMatchObject({ status: 'completed', output: { sum: 1 } });
  expect(seen.toSorted()).toEqual([1, 1, 2, 3]);
  await worker.stop();
  await worker.done;

  const [token] = (await builder.get(`/agents/${agent.id}/worker-tokens`)).body;
  await builder.delete(`/agents/${agent.id}/worker-tokens/${token.id}`);
  const refused = createWorker({ client, agents: [agent.id], handler: () => null });
  await expect(refused.done).rejects.toMatchObject({ status: 401 });
});
