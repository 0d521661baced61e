/**
 * Machine clients, access tokens and tokens of workers show no second factor themselves. They have a viewer's
 * rights, those of workers none, while a role of their user needs one and the user neither has one nor has
 * ever logged in by an issuer that asked for one.
 */
import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { ROLE_NEEDS_FACTOR } from './factor-roles.ts';

/** The tables, and the column that names the user. */
const PROGRAMS = { auth_client: 'user_id', access_token: 'user_id', worker_token: 'owner_id' } as const;
/** Programs of one statement. */
const BATCH = 1_000;

/** SQL: whether programs of the user `u` wait; the value of its one `?`: SECOND_FACTOR_ROLES of this copy. */
const USER_LACKS_FACTOR = `(${ROLE_NEEDS_FACTOR} and not u.second_factor
  and not exists (select from user_identity i where i.user_id = u.id and i.second_factor))`;

/** Of changes at once, each sees what those before it have left. */
export async function lockAccounts(em: EntityManager, userIds: readonly string[]): Promise<void> {
  await em.execute('select 1 from user_account where id = any(?::uuid[]) order by id for no key update', [
    arrayLiteral(userIds),
  ]);
}

/**
 * Whether a program that the caller's transaction makes waits from the start. A change of the user's roles or
 * factors is seen here, or waits for the transaction and then finds the program.
 */
export async function startsWaiting(
  em: EntityManager,
  userId: string,
  neededBy: readonly Role[],
): Promise<boolean> {
  await lockAccounts(em, [userId]);
  const [row] = await em.execute<{ waits: boolean }[]>(
    `select ${USER_LACKS_FACTOR} as waits from user_account u where u.id = ?`,
    [arrayLiteral(neededBy), userId],
  );
  return row?.waits ?? false;
}

/**
 * After roles, factors or the setting have changed. In batches, as `limitOpenSessions`.
 * @returns the number of programs that wait now, and did not before
 */
export async function settlePrograms(
  em: EntityManager,
  userIds: readonly string[] | 'of everybody',
  neededBy: readonly Role[],
): Promise<number> {
  let limited = 0;
  for (const [table, owner] of Object.entries(PROGRAMS))
    for (let count = BATCH; count === BATCH;) {
      const batch = { table, owner, userIds, neededBy };
      const settled = em.isInTransaction()
        ? await settleBatch(em, batch)
        : await em.transactional((tx) => settleBatch(tx, batch));
      count = settled.found;
      limited += settled.limited;
    }
  return limited;
}

interface Batch {
  table: string;
  /** Its column. */
  owner: string;
  userIds: readonly string[] | 'of everybody';
  neededBy: readonly Role[];
}

async function settleBatch(
  em: EntityManager,
  { table, owner, userIds, neededBy }: Batch,
): Promise<{ found: number; limited: number }> {
  const [among, ids] =
    userIds === 'of everybody' ? ['', []] : ['and u.id = any(?::uuid[])', [arrayLiteral(userIds)]];
  const found = await em.execute<{ id: string; user_id: string }[]>(
    `select p.id, u.id as user_id from ${table} p join user_account u on u.id = p.${owner}
      where p.awaits_second_factor <> ${USER_LACKS_FACTOR} ${among} order by p.id limit ${BATCH}`,
    [arrayLiteral(neededBy), ...ids],
  );
  if (found.length === 0) return { found: 0, limited: 0 };
  await lockAccounts(
    em,
    found.map(({ user_id: id }) => id),
  );
  // A statement of its own, which sees what has changed until the accounts were locked.
  const changed = await em.execute<{ waits: boolean }[]>(
    `with held as materialized (
       select id from ${table} where id = any(?::uuid[]) order by id for no key update)
     update ${table} p set awaits_second_factor = not p.awaits_second_factor
       from held, user_account u
      where p.id = held.id and u.id = p.${owner} and p.awaits_second_factor <> ${USER_LACKS_FACTOR}
      returning p.awaits_second_factor as waits`,
    [arrayLiteral(found.map(({ id }) => id)), arrayLiteral(neededBy)],
  );
  return { found: found.length, limited: changed.filter(({ waits }) => waits).length };
}
