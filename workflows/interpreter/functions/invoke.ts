/** Runs an activity that calls a counterpart, and turns its failure into the DSL's. */
import { ActivityFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import type { Invoked } from '../../../contracts/activities.ts';
import type { EventBatch } from '../../../contracts/run-events.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault, faultOfActivity } from '../fault.ts';

export async function invoke(x: Execution, task: Task, run: (batch: EventBatch) => Promise<Invoked>): Promise<Invoked> {
  try {
    return await x.journal.carry(run);
  } catch (error) {
    if (isCancellation(error)) throw error;
    const known = faultOfActivity(error, task.ref);
    if (known) throw known;
    if (error instanceof ActivityFailure && error.cause instanceof TimeoutFailure) {
      throw fault('timeout', `${task.name} did not answer in time`, task.ref);
    }
    throw error;
  }
}

/** Warnings go to the log, usage and agent to the completed event. */
export function outcomeOf(x: Execution, task: Task, result: Invoked): Outcome {
  result.warnings?.forEach((warning, i) => x.warn(task, warning, i));
  const { usage, agent_id, agent_version } = result;
  return {
    output: result.output,
    data: {
      ...(usage === undefined ? {} : { usage }),
      ...(agent_id === undefined ? {} : { agent_id, agent_version }),
    },
  };
}
