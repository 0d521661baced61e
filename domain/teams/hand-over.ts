/** What people make for teams, and who owns it when they are no members any more. */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { reindexSchedule } from '../schedules/listener.ts';

/** What a member makes for a team, by table; its workflows besides. */
const MADE_FOR_TEAMS = [
  'agent',
  'file',
  'delivery_target',
  'inbound_hook',
  'event_source',
  'notification_channel',
] as const;

/**
 * Locks the teams of somebody, and those for which they made anything. Call it before the account is locked,
 * too: whoever makes something for a team holds the team first.
 */
export async function lockTeamsOf(em: EntityManager, userId: string): Promise<{ id: string }[]> {
  const made = [...MADE_FOR_TEAMS, 'workflow'].map(
    (table) => `union select team_id from ${table} where owner_id = ? and team_id is not null`,
  );
  return em.execute<{ id: string }[]>(
    `select id from team where id in (select team_id from team_member where user_id = ? ${made.join(' ')})
      order by id for update`,
    [userId, ...made.map(() => userId)],
  );
}

/** Gives what people made for teams, of which they are no members any more, to members who stay. */
export async function handOver(
  em: EntityManager,
  left: readonly { team_id: string; user_id: string; heir_id: string }[],
): Promise<void> {
  const made = `owner_id = l.heir_id
       from unnest(?::uuid[], ?::uuid[], ?::uuid[]) as l (team_id, user_id, heir_id)
      where o.team_id = l.team_id and o.owner_id = l.user_id`;
  const values = (['team_id', 'user_id', 'heir_id'] as const).map((name) =>
    arrayLiteral(left.map((one) => one[name])),
  );
  for (const table of MADE_FOR_TEAMS) await em.execute(`update ${table} o set ${made}`, values);
  const workflows = await em.execute<{ id: string }[]>(
    `update workflow o set ${made} returning o.id`,
    values,
  );
  for (const { id } of workflows) await ownListeners(em, id);
}

/** The listeners of a workflow's schedule belong to its owner. */
export async function ownListeners(em: EntityManager, workflowId: string): Promise<void> {
  await em.execute(
    `update listener l set owner_id = w.owner_id from workflow w
      where w.id = ? and l.workflow_id = w.id and l.run_id is null`,
    [workflowId],
  );
  await reindexSchedule(em, workflowId);
}
