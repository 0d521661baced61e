/**
 * The end of a team that holds nothing any more. Its runs and archived workflows lose the team in batches,
 * since there may be a million of them: the request moves some thousands, any process the others.
 */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { unbindRevisions } from '../secrets/unbind.ts';
import type { FollowedTeams } from './audit-followed.ts';
import { followPeopleOf } from './people-of-groups.ts';

/** Rows of one kind in one transaction. */
const BATCH = 500;
/** Batches of the request itself. */
const AT_ONCE = 10;

/**
 * The groups of teams and the team are locked, and it holds nothing. From the commit on it is gone for
 * everybody. Its groups may give roles in other teams to people who had too many. @returns what has changed
 * there
 */
export async function endTeam(em: EntityManager, id: string): Promise<FollowedTeams> {
  // Its name is free at once: no other team may look like an id.
  await em.execute('update team set ended_at = clock_timestamp(), name = id::text where id = ?', [id]);
  const groups = await em.execute<{ group_name: string }[]>(
    'delete from team_group where team_id = ? returning group_name',
    [id],
  );
  await em.execute('delete from team_member where team_id = ?', [id]);
  const others = await followPeopleOf(
    em,
    groups.map((row) => row.group_name),
  );
  await em.execute('delete from notification_channel where team_id = ?', [id]);
  for (let count = 0; count < AT_ONCE; count += 1) if (await endBatch(em, id)) break;
  return others;
}

/**
 * Goes on with what requests have left, until there is nothing or the time is over. @returns whether there is
 * more
 */
export async function continueTeamEnds(fork: () => EntityManager, budgetMs: number): Promise<boolean> {
  const deadline = performance.now() + budgetMs;
  while (performance.now() < deadline) {
    const isLeft = await fork().transactional(async (em) => {
      const [team] = await em.execute<{ id: string }[]>(
        'select id from team where ended_at is not null order by ended_at limit 1 for update skip locked',
      );
      if (team) await endBatch(em, team.id);
      return team !== undefined;
    });
    if (!isLeft) return false;
  }
  return true;
}

/** @returns whether it was the last one */
async function endBatch(em: EntityManager, id: string): Promise<boolean> {
  const runs = await loseTeam(em, 'run', id);
  if (runs.length > 0)
    await em.execute('update hitl_task set team_id = null where run_id = any(?::uuid[]) and team_id = ?', [
      arrayLiteral(runs),
      id,
    ]);
  const workflows = await loseTeam(em, 'workflow', id);
  // They were the team's, which has no secrets any more: its members may have named those of the owner.
  await unbindRevisions(em, workflows, {});
  const sets = await em.execute<object[]>(
    `delete from applied_resource where ctid = any(array(
       select ctid from applied_resource where owner_id = ? limit ?)) returning 1`,
    [id, BATCH],
  );
  if ([runs, workflows, sets].some((some) => some.length === BATCH)) return false;
  await em.execute('delete from file_total where holder_id = ?', [id]);
  await em.execute('delete from team where id = ?', [id]);
  return true;
}

/** Runs: children before their parents, whose ids are lower. @returns the ids */
async function loseTeam(em: EntityManager, table: 'run' | 'workflow', id: string): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `with batch as (
       select id from ${table} where team_id = ? order by id desc limit ? for no key update)
     update ${table} o set team_id = null from batch where o.id = batch.id returning o.id`,
    [id, BATCH],
  );
  return rows.map((row) => row.id);
}
