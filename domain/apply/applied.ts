/** The rows that say which set has made a record. A set belongs to one user or team, its holder. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { Conditions, type KeysetPage } from '../../db/sql.ts';
import type { ApplyContext, ResourceKind } from './resources.ts';

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

/** Waits for other applies for this holder, so each sees what the one before has made. */
export async function lockSets(em: EntityManager, holder: string): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`apply ${holder}`]);
}

export async function rowsOfSet(em: EntityManager, holder: string, set: string): Promise<AppliedRow[]> {
  return em.execute<AppliedRow[]>(
    `${SELECT} where a.owner_id = ? and a.set_name = ? order by a.kind, a.name`,
    [holder, set],
  );
}

/** Ids among these that any set of the holder has made. */
export async function madeBySets(
  em: EntityManager,
  holder: string,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await em.execute<{ resource_id: string }[]>(
    `select resource_id from applied_resource
      where owner_id = ? and resource_id in (select jsonb_array_elements_text(?::jsonb)::uuid)`,
    [holder, JSON.stringify(ids)],
  );
  return new Set(rows.map(({ resource_id }) => resource_id));
}

export async function noteApplied(
  { em, actor, holder }: Pick<ApplyContext, 'em' | 'actor' | 'holder'>,
  set: string,
  { kind, name, id }: { kind: ResourceKind; name: string; id: string },
): Promise<void> {
  await em.execute(
    `insert into applied_resource as a (id, owner_id, set_name, kind, name, resource_id, applied_by)
     values (?, ?, ?, ?, ?, ?, ?)
     on conflict (owner_id, set_name, kind, name) do update
       set resource_id = excluded.resource_id, applied_by = excluded.applied_by,
           applied_at = clock_timestamp(), archived_at = null`,
    [uuidv7(), holder, set, kind, name, id, actor.id],
  );
}

export async function noteArchived(em: EntityManager, row: Pick<AppliedRow, 'id'>): Promise<void> {
  await em.execute('update applied_resource set archived_at = clock_timestamp() where id = ?', [row.id]);
}

/** What the holder's sets have made, oldest first. */
export async function listApplied(
  em: EntityManager,
  holder: string,
  filter: { set?: string | undefined },
  page: KeysetPage,
): Promise<AppliedRow[]> {
  const where = new Conditions().add('a.owner_id = ?', holder);
  if (filter.set !== undefined) where.add('a.set_name = ?', filter.set);
  if (page.after !== undefined) where.add('a.id > ?', page.after);
  return em.execute<AppliedRow[]>(`${SELECT} where ${where.sql} order by a.id limit ?`, [
    ...where.values,
    page.limit,
  ]);
}
