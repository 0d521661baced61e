import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { invalid } from '../errors.ts';
import { reindexSchedule } from '../schedules/listener.ts';

export async function getEventSenders(em: EntityManager, workflowId: string): Promise<string[]> {
  const [row] = await em.execute<{ users: string[] }[]>(
    'select to_json(event_senders) as users from workflow where id = ?',
    [workflowId],
  );
  return row?.users ?? [];
}

/** The workflow is locked. @throws 422 for ids that are no users */
export async function setEventSenders(
  em: EntityManager,
  workflowId: string,
  users: readonly string[],
): Promise<void> {
  const known = await em.execute<{ id: string }[]>('select id from user_account where id = any(?::uuid[])', [
    arrayLiteral(users),
  ]);
  const ids = new Set(known.map(({ id }) => id));
  const unknown = users.flatMap((id, index) =>
    ids.has(id.toLowerCase())
      ? []
      : [{ pointer: `/users/${index}`, code: 'unknown', message: 'is not a user' }],
  );
  if (unknown.length > 0) throw invalid(unknown);
  await em.execute('update workflow set event_senders = ?::uuid[] where id = ?', [
    arrayLiteral(users),
    workflowId,
  ]);
  await reindexSchedule(em, workflowId);
}
