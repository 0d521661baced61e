/**
 * Follows everybody in a group, which may be many. What groups give comes in batches, each a transaction: the
 * first one is that of the change, any process works through the others. What they take is taken in the
 * transaction of the change, so that nobody keeps a right any longer. One exception: where a group gives an
 * older team to somebody who is in a hundred, it displaces the newest, and they keep the role there until
 * their batch.
 */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { SYSTEM_ORIGIN } from '../audit/write.ts';
import { auditFollowed, FollowedTeams } from './audit-followed.ts';
import { BATCH, followBatch, lockTeamGroups } from './follow-groups.ts';

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * After the groups give more: follows the first thousand of their people, and puts the groups into the queue
 * for the others. The groups of teams are locked.
 */
export async function followPeopleOf(em: EntityManager, groups: readonly string[]): Promise<FollowedTeams> {
  const followed = new FollowedTeams();
  if (groups.length === 0) return followed;
  const last = await followNext(em, { groups, after: FIRST_ID }, followed);
  if (last !== null)
    await em.execute(
      `insert into group_to_follow as q (group_name, after_id) select unnest(?::text[]), ?::uuid
       on conflict (group_name) do update set after_id = least(q.after_id, excluded.after_id)`,
      [arrayLiteral(groups), last],
    );
  return followed;
}

/**
 * After the groups give less in the teams: follows all their people there, however many. The groups of teams
 * are locked.
 */
export async function followMembersOf(
  em: EntityManager,
  teamIds: readonly string[],
  groups: readonly string[],
): Promise<FollowedTeams> {
  const followed = new FollowedTeams();
  const inTeams = {
    sql: `exists (select from team_member m
                   where m.user_id = u.id and m.team_id = any(?::uuid[]) and m.group_role is not null)`,
    values: [arrayLiteral(teamIds)],
  };
  if (groups.length === 0) return followed;
  for (let after: string | null = FIRST_ID; after !== null;)
    after = await followNext(em, { groups, after, among: inTeams }, followed);
  return followed;
}

interface People {
  groups: readonly string[];
  /** Those with a greater id. */
  after: string;
  /** SQL: a condition on the account `u`. */
  among?: { sql: string; values: unknown[] };
}

/** @returns the id of the last one, if there may be more */
async function followNext(
  em: EntityManager,
  { groups, after, among = { sql: 'true', values: [] } }: People,
  followed: FollowedTeams,
): Promise<string | null> {
  // Whoever is being erased is out of their groups when the lock on the account is over.
  const people = await em.execute<{ id: string }[]>(
    `select u.id from user_account u
      where u.groups && ?::text[] and u.id > ? and ${among.sql} order by u.id limit ? for key share`,
    [arrayLiteral(groups), after, ...among.values, BATCH],
  );
  followed.add(
    await followBatch(
      em,
      people.map(({ id }) => id),
    ),
  );
  return people.length === BATCH ? (people.at(-1)?.id ?? null) : null;
}

/**
 * Goes on with what requests have left, until there is nothing or the time is over. @returns whether there is
 * more
 */
export async function continueFollowing(fork: () => EntityManager, budgetMs: number): Promise<boolean> {
  const deadline = performance.now() + budgetMs;
  while (performance.now() < deadline) if (!(await attempt(fork))) return false;
  return true;
}

/** One that fails is tried again after the others. @returns whether there was one */
async function attempt(fork: () => EntityManager): Promise<boolean> {
  // Log-ins by an issuer wait for the lock, for one batch at most, so it is not taken for nothing.
  const [next] = await fork().execute<{ group_name: string }[]>(
    'select group_name from group_to_follow order by tried_at, group_name limit 1',
  );
  if (next === undefined) return false;
  try {
    await fork().transactional((em) => followQueued(em, next.group_name));
    return true;
  } catch (error) {
    await fork().execute('update group_to_follow set tried_at = clock_timestamp() where group_name = ?', [
      next.group_name,
    ]);
    throw error;
  }
}

async function followQueued(em: EntityManager, group: string): Promise<void> {
  await lockTeamGroups(em);
  const [row] = await em.execute<{ after_id: string }[]>(
    'select after_id from group_to_follow where group_name = ?',
    [group],
  );
  // Another process was faster.
  if (row === undefined) return;
  const followed = new FollowedTeams();
  const last = await followNext(em, { groups: [group], after: row.after_id }, followed);
  await (last === null
    ? em.execute('delete from group_to_follow where group_name = ?', [group])
    : em.execute('update group_to_follow set after_id = ? where group_name = ?', [last, group]));
  await auditFollowed(em, SYSTEM_ORIGIN, followed, { group });
}
