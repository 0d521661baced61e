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

/**
 * Nobody else: what others listen to takes time when a user's events are matched. The workflow is locked.
 * @throws 422 for users who share no events with its owner
 */
export async function setEventSenders(
  em: EntityManager,
  workflowId: string,
  users: readonly string[],
): Promise<void> {
  const known = await em.execute<{ id: string }[]>(
    `select u.id from user_account u join workflow w on w.id = ?
      where u.id = any(?::uuid[])
        and (u.id = w.owner_id
             or exists (select from event_source s
                         where s.holder_id = u.id and w.owner_id = any(s.shared_with)))`,
    [workflowId, arrayLiteral(users)],
  );
  const ids = new Set(known.map(({ id }) => id));
  const unknown = users.flatMap((id, index) =>
    ids.has(id.toLowerCase())
      ? []
      : [
          {
            pointer: `/users/${index}`,
            code: 'shares_nothing',
            message: 'shares no source of events with the owner of the workflow',
          },
        ],
  );
  if (unknown.length > 0) throw invalid(unknown);
  await em.execute('update workflow set event_senders = ?::uuid[] where id = ?', [
    arrayLiteral(users),
    workflowId,
  ]);
  await reindexSchedule(em, workflowId);
}
