/** Versions of workers: Temporal's "worker deployment versions" (docs/adr/0041). */
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { WorkerDeploymentVersion } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { ServerEnv } from '../config/env.ts';
import { RUN_WORKFLOW, runWorkflowId } from '../contracts/temporal.ts';
import { isTooEarly } from '../temporal/grpc-failures.ts';
import { digestOfSources } from './bundle.ts';

type VersionSettings = Pick<
  ServerEnv,
  'TEMPORAL_NAMESPACE' | 'TEMPORAL_TASK_QUEUE' | 'WORKER_BUILD_ID' | 'WORKER_DEPLOYMENT' | 'WORKER_VERSIONING'
>;

export interface VersionState {
  buildId: string;
  /** `draining`: runs that are not over stay with it. `inactive`: it never was current. */
  state: 'current' | 'ramping' | 'draining' | 'drained' | 'inactive';
  /** The share of new runs that a ramping version gets, in percent. */
  percent: number | null;
  /** Runs that are not over and stay with it. */
  runs: number;
  /** Workers of this task queue that have asked for work lately. */
  workers: number;
}

const DIGITS = 12;
const WORKFLOW_QUEUE = 1;
/** A worker asks for work at least once a minute. */
const ALIVE_MS = 90_000;
/** How long a change waits for workers that are starting. */
const STARTING_MS = 10_000;
const STARTING_PAUSE_MS = 500;

const { VersionDrainageStatus } = proto.temporal.api.enums.v1;

/** The version of this build's workers; null if they have none. */
export function workerVersion(env: VersionSettings): WorkerDeploymentVersion | null {
  if (!env.WORKER_VERSIONING) return null;
  const buildId = env.WORKER_BUILD_ID ?? digestOfSources().slice(0, DIGITS);
  return { deploymentName: deploymentName(env), buildId };
}

function deploymentName({
  WORKER_DEPLOYMENT: name,
  TEMPORAL_TASK_QUEUE: taskQueue,
}: VersionSettings): string {
  return name ?? taskQueue.replaceAll(/[^\w-]/g, '-');
}

/** All versions, the newest first. Throws if Temporal does not know the deployment. */
export async function readVersions(client: Client, env: VersionSettings): Promise<VersionState[]> {
  const { workflowService } = client;
  const namespace = env.TEMPORAL_NAMESPACE;
  const [{ workerDeploymentInfo: info }, { pollers }] = await Promise.all([
    workflowService.describeWorkerDeployment({ namespace, deploymentName: deploymentName(env) }),
    workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: env.TEMPORAL_TASK_QUEUE },
      taskQueueType: WORKFLOW_QUEUE,
    }),
  ]);
  const { currentDeploymentVersion: current, rampingDeploymentVersion: ramping } = info?.routingConfig ?? {};
  const summaries = (info?.versionSummaries ?? []).toSorted(
    (left, right) => secondsOf(right.createTime) - secondsOf(left.createTime),
  );
  return Promise.all(
    summaries.map(async ({ deploymentVersion, drainageStatus }): Promise<VersionState> => {
      const buildId = deploymentVersion?.buildId ?? '';
      const isRamping = ramping?.buildId === buildId;
      const { count } = await workflowService.countWorkflowExecutions({
        namespace,
        query: runsOfVersion(env, buildId),
      });
      const polling = (pollers ?? []).filter(
        ({ deploymentOptions, lastAccessTime }) =>
          deploymentOptions?.buildId === buildId && secondsOf(lastAccessTime) * 1_000 > Date.now() - ALIVE_MS,
      );
      return {
        buildId,
        state:
          current?.buildId === buildId ? 'current' : isRamping ? 'ramping' : drainageOf(drainageStatus ?? 0),
        percent: isRamping ? (info?.routingConfig?.rampingVersionPercentage ?? 0) : null,
        runs: Number(count),
        workers: new Set(polling.map(({ identity }) => identity)).size,
      };
    }),
  );
}

function drainageOf(status: number): VersionState['state'] {
  if (status === VersionDrainageStatus.VERSION_DRAINAGE_STATUS_DRAINING) return 'draining';
  return status === VersionDrainageStatus.VERSION_DRAINAGE_STATUS_DRAINED ? 'drained' : 'inactive';
}

/** New runs begin with this version; '': with workers without a version. */
export async function makeCurrent(client: Client, env: VersionSettings, buildId: string): Promise<void> {
  await whenPolling(() =>
    client.workflowService.setWorkerDeploymentCurrentVersion({
      namespace: env.TEMPORAL_NAMESPACE,
      deploymentName: deploymentName(env),
      buildId,
      identity: 'worker-versions',
    }),
  );
}

/** So many percent of new runs begin with this version; with 0, none. */
export async function makeRamping(
  client: Client,
  env: VersionSettings,
  buildId: string,
  percentage: number,
): Promise<void> {
  await whenPolling(() =>
    client.workflowService.setWorkerDeploymentRampingVersion({
      namespace: env.TEMPORAL_NAMESPACE,
      deploymentName: deploymentName(env),
      // Without a build id Temporal ends the ramp.
      buildId: percentage === 0 ? '' : buildId,
      percentage,
      identity: 'worker-versions',
    }),
  );
}

/**
 * Temporal refuses a version that does not poll all task queues of the current one, and a worker that has
 * just started comes to them one after the other.
 */
async function whenPolling(change: () => Promise<unknown>): Promise<void> {
  for (const untilMs = Date.now() + STARTING_MS; ; await pause(STARTING_PAUSE_MS)) {
    try {
      await change();
      return;
    } catch (error) {
      if (!isTooEarly(error) || Date.now() > untilMs) throw error;
    }
  }
}

/** Ids of the runs that are not over and stay with the version. */
export async function* runsStaying(
  client: Client,
  env: VersionSettings,
  buildId: string,
): AsyncIterable<string> {
  const prefix = runWorkflowId('');
  for await (const { workflowId } of client.workflow.list({ query: runsOfVersion(env, buildId) }))
    if (workflowId.startsWith(prefix)) yield workflowId.slice(prefix.length);
}

function runsOfVersion(env: VersionSettings, buildId: string): string {
  return (
    `TemporalWorkerDeploymentVersion = '${deploymentName(env)}:${buildId}' ` +
    `and WorkflowType = '${RUN_WORKFLOW}' and ExecutionStatus = 'Running'`
  );
}

function secondsOf(time: { seconds?: unknown } | null | undefined): number {
  return Number(time?.seconds ?? 0);
}
