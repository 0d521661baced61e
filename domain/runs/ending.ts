/** What the end of a run means for what was still open in it. The run's row is locked. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { NewRunEvent, TerminalStatus } from '../../contracts/run-events.ts';
import { cancelHumanTasks } from '../hitl/lifecycle.ts';
import { cancelledEvent } from '../hitl/task-events.ts';

/** What had started and did not finish ends with the run. */
export async function closeOpenTasks(em: EntityManager, runId: string, end: TerminalStatus): Promise<void> {
  await em.execute(
    `update run_task set status = ?, finished_at = clock_timestamp() where run_id = ? and status in ('running', 'waiting', 'suspended')`,
    [end === 'faulted' ? 'faulted' : 'cancelled', runId],
  );
}

/** Cancels what nobody has decided. @returns the events that tell of it, for before the run's last one. */
export async function closeHumanTasks(em: EntityManager, runId: string): Promise<NewRunEvent[]> {
  return (await cancelHumanTasks(em, runId)).map(cancelledEvent);
}
