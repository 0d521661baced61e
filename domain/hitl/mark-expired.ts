import type { EntityManager } from '../../db/orm.ts';
import { writeAudit } from './audit.ts';
import type { HumanTask } from './human-task.ts';

/** Its row is locked, and it is undecided. The caller writes the event. */
export async function markExpired(
  em: EntityManager,
  { id, run_id }: Pick<HumanTask, 'id' | 'run_id'>,
): Promise<void> {
  await em.execute(`update hitl_task set status = 'expired', updated_at = clock_timestamp() where id = ?`, [
    id,
  ]);
  await writeAudit(em, [{ task_id: id, run_id, action: 'expired', via: 'workflow', actor: null }]);
}
