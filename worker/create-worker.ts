/** Composition root of the worker: everything comes in as arguments. */
import { Worker } from '@temporalio/worker';
import type { NativeConnection, WorkflowBundle } from '@temporalio/worker';
import type { DataConverter } from '@temporalio/common';
import type { DeliveryActivities, RunActivities } from '../contracts/activities.ts';

export interface CreateWorkerOptions {
  connection: NativeConnection;
  namespace: string;
  taskQueue: string;
  activities: RunActivities & DeliveryActivities;
  workflowBundle: WorkflowBundle;
  dataConverter?: DataConverter;
  /** Invocations and database work at once. */
  maxActivities?: number;
}

/** How long activities may go on after the signal to stop; then they are cancelled, and another worker repeats them. */
const SHUTDOWN_GRACE = '10s';

export function createWorker(options: CreateWorkerOptions): Promise<Worker> {
  const { connection, namespace, taskQueue, activities, workflowBundle, dataConverter, maxActivities = 200 } = options;
  return Worker.create({
    connection,
    namespace,
    taskQueue,
    activities,
    workflowBundle,
    ...(dataConverter ? { dataConverter } : {}),
    maxConcurrentActivityTaskExecutions: maxActivities,
    maxConcurrentWorkflowTaskExecutions: 100,
    shutdownGraceTime: SHUTDOWN_GRACE,
    shutdownForceTime: '15s',
  });
}
