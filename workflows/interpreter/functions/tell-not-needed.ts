import { ActivityFailure } from '@temporalio/common';
import { LOG_TEXT } from '../../../contracts/log-texts.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import type { Execution, Task } from '../execution.ts';
import { DslFault, failureOfActivity, isRunClosed } from '../fault.ts';

/**
 * Tells a counterpart that its result is not needed any more. If it cannot be told, the log says so, and the
 * task goes on.
 */
export async function tellNotNeeded(
  execution: Execution,
  task: Task,
  tell: () => Promise<unknown>,
): Promise<void> {
  try {
    await tell();
  } catch (error) {
    const isOfCall =
      error instanceof DslFault || error instanceof ActivityFailure || failureOfActivity(error) !== null;
    if (isRunClosed(error) || !isOfCall) throw error;
    execution.journal.add(
      execution.taskEvent(task, EVENT.agentWarning, 'not-told', LOG_TEXT.agentWarning.notTold(task.name), {
        level: 'warn',
      }),
    );
  }
}
