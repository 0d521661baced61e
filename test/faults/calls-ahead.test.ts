/**
 * Calls that are begun while Temporal records their workflow task (docs/adr/0075). Nothing that clients have
 * seen in the log may disappear, no call may be made twice for it, and a lost one is not a repeat.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startTemporal } from '../../dev/temporal.ts';
import { startCallScene, testsOfCalls, type CallScene } from '../support/call-scene.ts';
import { endOf, startRun, startTestPlatform, until } from '../support/platform.ts';
import type { Program } from '../support/programs.ts';
import { readLog, type RunEvent } from '../support/run-log.ts';
import { createTestDatabase } from '../support/servers.ts';
import { startLink, type Link } from './long-run/link.ts';

const STEPS = 6;
/** Long enough to see in the log what has begun, before Temporal has the workflow task. */
const SLOW_MS = 400;
const PATIENCE_MS = 60_000;

const started = 'io.serverlessworkflow.task.started.v1';
const completed = 'io.serverlessworkflow.task.completed.v1';

/** A chain within a timeout, so that its calls are ordinary ones. @returns the run */
async function startChain({ builder, agentId }: CallScene, steps = STEPS): Promise<string> {
  const chain = Array.from({ length: steps }, (_unused, i) => ({
    [`step${i}`]: { call: 'agent', with: { agent: agentId, input: { i, before: '${ . }' } } },
  }));
  const run = await startRun(builder, { do: [{ all: { do: chain, timeout: { after: { hours: 1 } } } }] });
  return run['id'];
}

const stepsOf = (log: RunEvent[], type: string): string[] =>
  log.filter((event) => event.type === type && event.task !== '/do/0/all').map(({ task }) => task ?? '');

/** The chain's steps, once each and in their order, without gaps in the log. */
function expectWhole(log: RunEvent[], steps = STEPS): void {
  const expected = Array.from({ length: steps }, (_unused, i) => `/do/0/all/do/${i}/step${i}`);
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_entry, i) => i + 1));
  expect([stepsOf(log, started), stepsOf(log, completed)]).toEqual([expected, expected]);
  const outputs = log.filter(({ type }) => type === completed).map(({ data }) => data['output']);
  // That of the whole comes last.
  expect(outputs.at(-1)).toEqual(outputs.at(-2));
}

/** How often each call was claimed, and as which attempt, in their order. */
const claimsOf = ({ platform }: CallScene, id: string) =>
  platform.orm.em
    .fork()
    .execute<{ claims: number; scheduled_attempt: number }[]>(
      'select claims, scheduled_attempt from invocation where run_id = ? order by claimed_at, key',
      [id],
    );

const testFault = testsOfCalls();

/** A chain whose worker was killed after it had begun call `n` (from 0), which Temporal does not know. */
async function lostAt(scene: CallScene, n: number, id = startChain(scene)): Promise<string> {
  const [host = '', port] = scene.platform.temporal.address.split(':');
  const link = await startLink(() => ({ host, port: Number(port) }));
  try {
    const worker = await scene.worker({ TEMPORAL_ADDRESS: `127.0.0.1:${link.port}` });
    const run = await id;
    if (n > 0)
      await until(
        async () => scene.keys.length,
        (calls) => calls >= n,
        PATIENCE_MS,
      );
    link.set({ kind: 'slow', delayMs: SLOW_MS });
    await killOnceBegun(scene, run, { worker, link });
    return run;
  } finally {
    await link.close();
  }
}

async function killOnceBegun(
  scene: CallScene,
  id: string,
  { worker, link }: { worker: Program; link: Link },
): Promise<void> {
  const begun = async (): Promise<number> =>
    stepsOf(await readLog(scene.builder, id), started).length - scene.keys.length;
  await until(begun, (ahead) => ahead === 1, PATIENCE_MS);
  await worker.kill();
  link.set({ kind: 'cut' });
  // Neither has the call been made since, nor has anything of the log gone.
  await sleep(SLOW_MS);
  expect(await begun()).toBe(1);
}

testFault('a call that was begun ahead by a worker that is killed is made once', async (scene) => {
  const id = await lostAt(scene, 2);
  const [calls, seen] = [scene.keys.length, await readLog(scene.builder, id)];
  await scene.worker();
  const run = await endOf(scene.builder, { id, status: 'running' });
  const log = await readLog(scene.builder, id);
  expect([run['status'], log.slice(0, seen.length)]).toEqual(['completed', seen]);
  expectWhole(log);
  expect([scene.keys.length, new Set(scene.keys).size]).toEqual([STEPS, STEPS]);
  const claims = (await claimsOf(scene, id)).map((row) => row.claims);
  expect(claims).toEqual(Array.from({ length: STEPS }, (_unused, i) => (i === calls ? 2 : 1)));
});

testFault('a run that is suspended meanwhile rests, says so, and goes on', async (scene) => {
  // The batch of the first call also says that the run is running.
  const id = await lostAt(scene, 0);
  expect((await scene.builder.post(`/runs/${id}/suspend`)).status).toBeLessThan(300);
  await scene.worker();
  const status = async () => (await scene.builder.get(`/runs/${id}`)).body.status;
  await until(status, (now) => now === 'suspended', PATIENCE_MS);
  await sleep(1_000);
  expect([await status(), scene.keys]).toEqual(['suspended', []]);
  await scene.builder.post(`/runs/${id}/resume`);
  const run = await endOf(scene.builder, { id, status: 'running' });
  expect(run['status']).toBe('completed');
  expectWhole(await readLog(scene.builder, id));
  expect([scene.keys.length, new Set(scene.keys).size]).toEqual([STEPS, STEPS]);
});

testFault('a run that is cancelled meanwhile ends without the call', async (scene) => {
  const id = await lostAt(scene, 1);
  const calls = scene.keys.length;
  await scene.builder.post(`/runs/${id}/cancel`);
  await scene.worker();
  const run = await until(
    async () => (await scene.builder.get(`/runs/${id}`)).body,
    ({ status }) => status === 'cancelled',
    PATIENCE_MS,
  );
  expect(scene.keys).toHaveLength(calls);
  const tasks = run.tasks.map((task: { status: string }) => task.status);
  expect(new Set(tasks)).toEqual(new Set(['completed', 'cancelled']));
  expect(run.logs.at(-1).type).toBe('io.serverlessworkflow.workflow.cancelled.v1');
});

test('a call whose activity another worker takes is no repeat', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cadenza-ahead-'));
  const settings = { 'system.enableActivityEagerExecution': 'false' };
  const [database, { address, stop }] = await Promise.all([
    createTestDatabase(),
    startTemporal({ dataDir: folder, port: 0, uiPort: 0, throwaway: true, dynamicConfig: settings }),
  ]);
  const temporal = { address, namespace: 'default', taskQueue: 'cadenza', uiUrl: '' };
  const platform = await startTestPlatform({ worker: false, servers: { database, temporal } });
  const scene = await startCallScene(platform);
  try {
    await Promise.all([scene.worker(), scene.worker()]);
    const steps = 30;
    const id = await startChain(scene, steps);
    const run = await endOf(scene.builder, { id, status: 'running' });
    const log = await readLog(scene.builder, id);
    expect(run['status']).toBe('completed');
    expectWhole(log, steps);
    expect([scene.keys.length, new Set(scene.keys).size]).toEqual([steps, steps]);
    // A repeat would say that a call was lost.
    expect(log.filter(({ message }) => /lost|again/.test(message))).toEqual([]);
    const rows = await claimsOf(scene, id);
    expect(rows.filter((row) => row.claims === 2 && row.scheduled_attempt === 1)).not.toEqual([]);
    expect(rows.filter((row) => row.claims > 2)).toEqual([]);
  } finally {
    await scene.close();
    await platform.close();
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
