/**
 * The roles that need a second factor: those of SECOND_FACTOR_ROLES on any copy of the API. Copies with
 * different settings run side by side while a new one is rolled out. A role that one of them names counts on
 * all of them, so none gives back what another has limited, and none opens what another would limit.
 */
import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';

/**
 * How long the setting of a copy counts after it was noted last: a copy that was killed cannot withdraw it,
 * and one that lost the database for a while still has its setting.
 */
const LEASE = '10 minutes';
/** And that of one that stops: its successor has begun by then, so nothing is given back in between. */
const LAST_LEASE = '1 minute';

/** SQL: the roles; the value of its one `?`: those of this copy, which count even before they are noted. */
const FACTOR_ROLES = `(?::text[] || array(
  select r.role from second_factor_setting c, unnest(c.roles) r (role)
   where c.expires_at > statement_timestamp()))`;

/** SQL: whether a role of the user `u` needs a second factor. Its one `?` as that of `FACTOR_ROLES`. */
export const ROLE_NEEDS_FACTOR = `u.roles && ${FACTOR_ROLES}`;

/** @param own SECOND_FACTOR_ROLES of this copy. @returns the roles, sorted */
export async function factorRoles(em: EntityManager, own: readonly Role[]): Promise<Role[]> {
  const [row] = await em.execute<{ roles: Role[] }[]>(
    `select to_json(array(select distinct r.role from unnest${FACTOR_ROLES} r (role) order by 1)) as roles`,
    [arrayLiteral(own)],
  );
  return row?.roles ?? [];
}

/**
 * Notes the setting of a copy, which then counts on all of them. @returns whether it has counted until now
 */
export async function noteSetting(em: EntityManager, copyId: string, own: readonly Role[]): Promise<boolean> {
  if (own.length === 0) return true;
  const [row] = await em.execute<{ counted: boolean }[]>(
    `with noted as (
       insert into second_factor_setting (copy_id, roles, expires_at)
       values (?, ?::text[], clock_timestamp() + interval '${LEASE}')
       on conflict (copy_id) do update set roles = excluded.roles, expires_at = excluded.expires_at)
     select exists (
       select from second_factor_setting where copy_id = ? and expires_at > clock_timestamp()) as counted`,
    [copyId, arrayLiteral(own), copyId],
  );
  return row?.counted ?? false;
}

/** The setting of a copy that stops counts no longer than until its successor has begun. */
export async function withdrawSetting(em: EntityManager, copyId: string): Promise<void> {
  await em.execute(
    `update second_factor_setting set expires_at = clock_timestamp() + interval '${LAST_LEASE}'
      where copy_id = ?`,
    [copyId],
  );
}
