/** What the run does to its human tasks. Each is called in a transaction in which the run's row is locked. */
import type { EntityManager } from '@mikro-orm/postgresql';

/** Cancels the run's undecided tasks, or those named, and writes their audit rows. */
export async function cancelHumanTasks(em: EntityManager, runId: string, taskIds?: string[]): Promise<void> {
  await em.execute(
    `update hitl_task set status = 'cancelled', updated_at = clock_timestamp()
      where run_id = ? and status in ('open', 'claimed')${taskIds ? ' and id = any(?::uuid[])' : ''}`,
    taskIds ? [runId, `{${taskIds.join(',')}}`] : [runId],
  );
}
