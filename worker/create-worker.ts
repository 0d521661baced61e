/** Composition root of the worker: all dependencies are arguments. */
import { getHeapStatistics } from 'node:v8';
import { Worker, type NativeConnection, type WorkerTuner, type WorkflowBundle } from '@temporalio/worker';
import type { DataConverter, WorkerDeploymentVersion } from '@temporalio/common';
import type { DeliveryActivities, FollowCallInput, RunActivities } from '../contracts/activities.ts';
import { MAX_HANDED_OVER } from '../activities/handed-over-calls.ts';
import type { ShortCalls } from '../activities/short-calls.ts';
import { createMemorySlots, workerMemory, type MemoryGauge } from './memory-slots.ts';
import { withWorkflowThreads } from './workflow-threads.ts';

export interface CreateWorkerOptions {
  connection: NativeConnection;
  namespace: string;
  taskQueue: string;
  activities: RunActivities & DeliveryActivities;
  workflowBundle: WorkflowBundle;
  dataConverter?: DataConverter;
  shortCalls: ShortCalls;
  /** While it is true the worker takes no task. */
  isPaused?: () => boolean;
  /** The most concurrent activities: invocations and database work. */
  maxActivities?: number;
  /** When it is full the worker takes few tasks at once. */
  memory?: MemoryGauge;
  /** Temporal gives the worker only work of this version; null: of workflows without versions. */
  version?: WorkerDeploymentVersion | null;
  /** How many runs keep their state in memory between steps; default: one for each 8 MiB of the heap. */
  maxCachedRuns?: number;
}

const MIB = 1024 * 1024;

/**
 * How long activities may continue after the signal to stop. Then they are cancelled, and another worker
 * repeats them.
 */
const SHUTDOWN = {
  shutdownGraceTime: '10s',
  // A program ends before this (`drain.ts`), unless it is frozen meanwhile.
  shutdownForceTime: '60s',
};

/** What a worker and the one that follows its handed-over calls are together. */
export type RunningWorker = Pick<Worker, 'run' | 'shutdown' | 'getState'>;

export async function createWorker(options: CreateWorkerOptions): Promise<RunningWorker> {
  const [main, follower] = await Promise.all([createMain(options), createFollower(options)]);
  const { handedOver } = options.shortCalls;
  handedOver.isOpen = follower !== null;
  return {
    run: async () => void (await Promise.all([main.run(), follower?.run()])),
    getState: () => main.getState(),
    shutdown() {
      handedOver.isOpen = false;
      for (const each of [main, follower]) if (each?.getState() === 'RUNNING') each.shutdown();
    },
  };
}

/** Follows calls of this process that were handed over, on a task queue of their own. */
async function createFollower({
  connection,
  namespace,
  dataConverter,
  activities,
  shortCalls,
}: CreateWorkerOptions): Promise<Worker | null> {
  const { queue } = shortCalls.handedOver;
  if (queue === null) return null;
  return Worker.create({
    connection,
    namespace,
    taskQueue: queue,
    activities: { followCall: (input: FollowCallInput) => activities.followCall(input) },
    ...(dataConverter ? { dataConverter } : {}),
    maxConcurrentActivityTaskExecutions: MAX_HANDED_OVER,
    ...SHUTDOWN,
  });
}

function createMain(options: CreateWorkerOptions): Promise<Worker> {
  const {
    connection,
    namespace,
    taskQueue,
    activities,
    workflowBundle,
    dataConverter,
    shortCalls,
    version = null,
    isPaused = () => false,
    maxActivities = 200,
    memory = workerMemory(),
    maxCachedRuns = cachedRunsOfHeap(),
  } = options;
  const create = () =>
    Worker.create({
      connection,
      namespace,
      taskQueue,
      activities,
      workflowBundle,
      ...(dataConverter ? { dataConverter } : {}),
      ...(version
        ? {
            workerDeploymentOptions: {
              version,
              useWorkerVersioning: true as const,
              defaultVersioningBehavior: 'PINNED' as const,
            },
          }
        : {}),
      tuner: tunerOf({ memory, maxActivities, shortCalls, isPaused }),
      maxCachedWorkflows: maxCachedRuns,
      ...SHUTDOWN,
    });
  return withWorkflowThreads(create);
}

type TunerOptions = Required<
  Pick<CreateWorkerOptions, 'maxActivities' | 'shortCalls' | 'isPaused' | 'memory'>
>;

function tunerOf({ memory, maxActivities, shortCalls, isPaused }: TunerOptions): WorkerTuner {
  return {
    // One thread runs all workflow tasks, and Temporal reassigns those that have not ended after 10 s.
    // A task whose run makes a short call does not use the thread, so it does not count.
    workflowTaskSlotSupplier: createMemorySlots({
      minimum: 4,
      maximum: 40,
      rampMs: null,
      memory,
      idle: shortCalls,
      isPaused,
    }),
    activityTaskSlotSupplier: createMemorySlots({
      minimum: Math.min(8, maxActivities),
      maximum: maxActivities,
      rampMs: 5,
      memory,
      isPaused,
    }),
    // Local activities run within a workflow task, which has its own slot.
    localActivityTaskSlotSupplier: { type: 'fixed-size', numSlots: 100 },
    nexusTaskSlotSupplier: { type: 'fixed-size', numSlots: 1 },
  };
}

/** The SDK's default fits runs of half a MiB; a run may hold many MiB. */
function cachedRunsOfHeap(): number {
  return Math.max(50, Math.floor(getHeapStatistics().heap_size_limit / (8 * MIB)));
}
