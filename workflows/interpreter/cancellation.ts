/**
 * Cancellation interrupts a run's code only where it waits. These checks cover the rest: loops of tasks that
 * never wait, and faults that occur together with a cancellation.
 */
import { CancelledFailure, CancellationScope } from '@temporalio/workflow';

/**
 * Throws if the task's scope is cancelled: by a person, a timeout, or a fork that does not need the branch
 * any more.
 */
export function throwIfCancelled(): void {
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('The scope was cancelled');
}
