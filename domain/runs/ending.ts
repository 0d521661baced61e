/** Closes what was still open in a run at its end. The run's row is locked. */
import type { EntityManager } from '../../db/orm.ts';
import type { NewRunEvent } from '../../contracts/run-events.ts';
import { cancelHumanTasks } from '../hitl/lifecycle.ts';
import { cancelledEvent } from '../hitl/task-events.ts';

/** Cancels the undecided human tasks. @returns their events, which go before the run's last one */
export async function closeHumanTasks(em: EntityManager, runId: string): Promise<NewRunEvent[]> {
  return (await cancelHumanTasks(em, runId)).map(cancelledEvent);
}
