/** The rows that say which set has made a record. A set belongs to one user. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { Conditions, type KeysetPage } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import type { ResourceKind } from './resources.ts';

export interface AppliedRow {
  id: string;
  set_name: string;
  kind: ResourceKind;
  name: string;
  resource_id: string;
  applied_by: string;
  applied_by_name: string;
  applied_at: Date;
  archived_at: Date | null;
}

const SELECT = `select a.id, a.set_name, a.kind, a.name, a.resource_id, a.applied_by,
    u.username as applied_by_name, a.applied_at, a.archived_at
  from applied_resource a join user_account u on u.id = a.applied_by`;

/** Waits for other applies of this user, so each sees what the one before has made. */
export async function lockSets(em: EntityManager, actor: Actor): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`apply ${actor.id}`]);
}

export async function rowsOfSet(em: EntityManager, actor: Actor, set: string): Promise<AppliedRow[]> {
  return em.execute<AppliedRow[]>(
    `${SELECT} where a.owner_id = ? and a.set_name = ? order by a.kind, a.name`,
    [actor.id, set],
  );
}

/** Ids among these that any set of the user has made. */
export async function madeBySets(
  em: EntityManager,
  actor: Actor,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await em.execute<{ resource_id: string }[]>(
    `select resource_id from applied_resource
      where owner_id = ? and resource_id in (select jsonb_array_elements_text(?::jsonb)::uuid)`,
    [actor.id, JSON.stringify(ids)],
  );
  return new Set(rows.map(({ resource_id }) => resource_id));
}

export async function noteApplied(
  em: EntityManager,
  actor: Actor,
  set: string,
  { kind, name, id }: { kind: ResourceKind; name: string; id: string },
): Promise<void> {
  await em.execute(
    `insert into applied_resource as a (id, owner_id, set_name, kind, name, resource_id, applied_by)
     values (?, ?, ?, ?, ?, ?, ?)
     on conflict (owner_id, set_name, kind, name) do update
       set resource_id = excluded.resource_id, applied_by = excluded.applied_by,
           applied_at = clock_timestamp(), archived_at = null`,
    [uuidv7(), actor.id, set, kind, name, id, actor.id],
  );
}

export async function noteArchived(em: EntityManager, row: Pick<AppliedRow, 'id'>): Promise<void> {
  await em.execute('update applied_resource set archived_at = clock_timestamp() where id = ?', [row.id]);
}

/** What the actor's sets have made, oldest first. */
export async function listApplied(
  em: EntityManager,
  actor: Actor,
  filter: { set?: string | undefined },
  page: KeysetPage,
): Promise<AppliedRow[]> {
  const where = new Conditions().add('a.owner_id = ?', actor.id);
  if (filter.set !== undefined) where.add('a.set_name = ?', filter.set);
  if (page.after !== undefined) where.add('a.id > ?', page.after);
  return em.execute<AppliedRow[]>(`${SELECT} where ${where.sql} order by a.id limit ?`, [
    ...where.values,
    page.limit,
  ]);
}
