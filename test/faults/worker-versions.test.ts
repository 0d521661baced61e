/**
 * Two builds of the worker side by side (docs/adr/0041): the new one executes runs differently, so no run may
 * go from one to the other within an execution. Both are killed in between.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client as TemporalClient } from '@temporalio/client';
import proto from '@temporalio/proto';
import { parseEnv, type ServerEnv } from '../../config/env.ts';
import { RECONCILE_WORKFLOW, runWorkflowId } from '../../contracts/temporal.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { bundleFile } from '../../worker/bundle.ts';
import { readVersions, type VersionState } from '../../worker/deployment.ts';
import { manageVersions } from '../../worker/worker-versions.ts';
import { bundleBroken } from '../replay/broken/bundle.ts';
import type { Client } from '../support/app.ts';
import { humanTask } from '../support/definitions.ts';
import {
  startTestPlatform,
  startRun,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { createTestDatabase, smallTemporal } from '../support/servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'cadenza-versions-'));
let platform: TestPlatform;
let builder: Client;
let temporal: TemporalClient;
let env: ServerEnv;
const workers: Program[] = [];

beforeAll(async () => {
  const [database, server] = await Promise.all([createTestDatabase(), smallTemporal()]);
  platform = await startTestPlatform({ worker: false, servers: { database, temporal: server } });
  builder = await platform.as('builder');
  temporal = createTemporalClient(platform.temporal);
  const { address, namespace, taskQueue } = platform.temporal;
  env = serverEnv({
    DATABASE_URL: platform.databaseUrl,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    TEMPORAL_TASK_QUEUE: taskQueue,
    FILES_DIR: platform.env.FILES_DIR,
    ENCRYPTION_KEYS: platform.env.ENCRYPTION_KEYS.map(
      ({ id, key }) => `${id}:${key.toString('base64')}`,
    ).join(),
    WORKER_VERSIONING: 'true',
  });
  await keepNewBuild();
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  await temporal.connection.close();
  await platform.close();
  rmSync(folder, { recursive: true, force: true });
});

function serverEnv(settings: Record<string, string>): ServerEnv {
  const parsed = parseEnv(settings);
  if (!('env' in parsed)) throw new Error(JSON.stringify(parsed.problems));
  const { DATABASE_URL = '', TEMPORAL_ADDRESS = '' } = parsed.env;
  return { ...parsed.env, DATABASE_URL, TEMPORAL_ADDRESS };
}

/** The new build: a worker takes its workflow code from where it keeps the bundle of its sources. */
async function keepNewBuild(): Promise<void> {
  const { code } = await bundleBroken();
  const file = bundleFile(join(folder, 'new', 'bundles'));
  mkdirSync(dirname(file), { recursive: true });
  const checksum = createHash('sha256').update(code).digest('hex');
  writeFileSync(file, JSON.stringify({ code, checksum }));
}

async function startBuild(build: string): Promise<Program> {
  const worker = await startProgram('worker', platform, {
    WORKER_VERSIONING: 'true',
    WORKER_BUILD_ID: build,
    DATA_DIR: join(folder, build),
  });
  workers.push(worker);
  await until(versions, (known) =>
    known.some(({ buildId, workers: count }) => buildId === build && count > 0),
  );
  return worker;
}

const versions = (): Promise<VersionState[]> => readVersions(temporal, env).catch(() => []);
const stateOf = async (build: string): Promise<string> =>
  (await versions()).find(({ buildId }) => buildId === build)?.state ?? 'unknown';
const manage = async (...args: string[]): Promise<string[]> => {
  const lines: string[] = [];
  expect(await manageVersions({ env, args, say: (line) => lines.push(line) })).toBe(true);
  return lines;
};
const read = async (run: RunRecord): Promise<RunRecord> => (await builder.get(`/runs/${run['id']}`)).body;
const reaches = (run: RunRecord, status: string): Promise<RunRecord> =>
  until(
    () => read(run),
    (now) => now['status'] === status,
  );
const approve = async (run: RunRecord): Promise<void> => {
  const waiting = await reaches(run, 'waiting');
  const task = waiting['waiting_on'][0].id;
  expect((await builder.post(`/hitl/tasks/${task}/decision`, { decision: 'approve' })).status).toBe(200);
};

/** The build of each execution of the run, in their order. All workflow tasks of one have the same. */
async function buildsOf(run: RunRecord): Promise<string[]> {
  const id = runWorkflowId(run['id']);
  const builds: string[] = [];
  let execution: string | null | undefined = (await read(run))['temporal'].run_id;
  while (execution) {
    const { events } = await temporal.workflow.getHandle(id, execution).fetchHistory();
    const ofTasks = (events ?? []).flatMap(({ workflowTaskCompletedEventAttributes: task }) =>
      task ? [task.deploymentVersion?.buildId ?? 'none'] : [],
    );
    builds.push([...new Set(ofTasks)].join(' and '));
    execution = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
  return builds;
}

const asks = { ask: humanTask('Go on?') };
/** Each long enough for its events to be written, also on a busy machine: only then is a moment quiet. */
const naps = { nap: { for: { in: '[range(9)]' }, do: [{ pause: { wait: { milliseconds: 500 } } }] } };

test('runs in flight stay with the old build, and go to the new one when they continue as new', async () => {
  const old = await startBuild('old');
  expect(await manage('current', 'old')).toEqual([
    expect.stringMatching(/^BUILD +STATE +RUNS +WORKERS$/),
    expect.stringMatching(/^old +current +0 +1$/),
  ]);
  const [short, long, parked] = await Promise.all([
    startRun(builder, { do: [asks, { done: { set: { done: true } } }] }),
    startRun(builder, { do: [asks, naps] }),
    startRun(builder, { do: [asks] }),
  ]);
  for (const run of [short, long, parked]) await reaches(run, 'waiting');
  const next = await startBuild('new');
  await manage('ramp', 'new', '100');
  const first = await startRun(builder, { do: [naps] }, {}, 30);
  await manage('current', 'new');
  expect(await stateOf('old')).toBe('draining');

  await Promise.all([old.kill(), next.kill()]);
  await Promise.all([approve(short), approve(long)]);
  const fresh = await startRun(builder, { do: [{ done: { set: { done: true } } }] });
  await Promise.all([startBuild('old'), startBuild('new')]);
  await Promise.all([short, long, fresh].map((run) => reaches(run, 'completed')));
  expect([await buildsOf(short), await buildsOf(fresh)]).toEqual([['old'], ['new']]);
  const [before, ...after] = await buildsOf(long);
  expect([before, new Set(after)]).toEqual(['old', new Set(['new'])]);
  expect(new Set(await buildsOf(first))).toEqual(new Set(['new']));

  // Temporal lists a run that has just ended as running for a moment.
  await until(versions, (known) => known.some(({ buildId, runs }) => buildId === 'old' && runs === 1));
  expect((await manage('move', 'old'))[0]).toMatch(/^1 runs asked/);
  await until(
    () => buildsOf(parked),
    (builds) => builds.join() === 'old,new',
  );
  await approve(parked);
  await reaches(parked, 'completed');
  await until(
    () => stateOf('old'),
    (state) => state === 'drained',
  );
  expect(await manageVersions({ env, args: ['ramp', 'new'], say: () => {} })).toBe(false);
});

test('no pass of the reconciler waits for a build whose workers are gone', async () => {
  const query = `WorkflowType = '${RECONCILE_WORKFLOW}' and ExecutionStatus = 'Completed'`;
  const first = async () => (await temporal.workflow.list({ query })[Symbol.asyncIterator]().next()).value;
  const pass = await until(first, (found) => found !== undefined);
  const { events } = await temporal.workflow.getHandle(pass?.workflowId ?? '', pass?.runId).fetchHistory();
  const behaviors = (events ?? []).flatMap(({ workflowTaskCompletedEventAttributes: task }) =>
    task ? [task.versioningBehavior] : [],
  );
  const { VERSIONING_BEHAVIOR_AUTO_UPGRADE } = proto.temporal.api.enums.v1.VersioningBehavior;
  expect(new Set(behaviors)).toEqual(new Set([VERSIONING_BEHAVIOR_AUTO_UPGRADE]));
});
