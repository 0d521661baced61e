/** Runs an activity that calls a counterpart, and turns its failure into a DSL fault. */
import { ActivityFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import type { Invoked } from '../../../contracts/activities.ts';
import type { EventBatch } from '../../../contracts/run-events.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault, faultOfActivity } from '../fault.ts';

/**
 * `call`: whether it waits its turn if many calls of the run are in flight. Cancelling a remote task does
 * not.
 */
export async function invoke(
  execution: Execution,
  task: Task,
  { input, call = true }: { input: unknown; call?: boolean },
  run: (batch: EventBatch) => Promise<Invoked>,
): Promise<Invoked> {
  try {
    const result = await execution.journal.carry({ strand: task.env.strand, call, input }, run);
    execution.recorded(task);
    return result;
  } catch (error) {
    if (error instanceof ActivityFailure) execution.recorded(task);
    if (isCancellation(error)) throw error;
    const known = faultOfActivity(error, task.ref);
    if (known) throw known;
    if (error instanceof ActivityFailure && error.cause instanceof TimeoutFailure) {
      throw fault('timeout', `${task.name} did not answer in time`, task.ref);
    }
    throw error;
  }
}

/** Adds warnings to the log, and usage and agent to the completed event. */
export function outcomeOf(execution: Execution, task: Task, result: Invoked): Outcome {
  result.warnings?.forEach((warning, i) => execution.warn(task, warning, i));
  const { usage, agent_id, agent_version } = result;
  return {
    output: result.output,
    data: {
      ...(usage === undefined ? {} : { usage }),
      ...(agent_id === undefined ? {} : { agent_id, agent_version }),
    },
  };
}
