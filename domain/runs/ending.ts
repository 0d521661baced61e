/** What the end of a run means for what was still open in it. The run's row is locked. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { NewRunEvent } from '../../contracts/run-events.ts';
import { cancelHumanTasks } from '../hitl/lifecycle.ts';
import { cancelledEvent } from '../hitl/task-events.ts';

/** Cancels what nobody has decided. @returns the events that tell of it, for before the run's last one. */
export async function closeHumanTasks(em: EntityManager, runId: string): Promise<NewRunEvent[]> {
  return (await cancelHumanTasks(em, runId)).map(cancelledEvent);
}
