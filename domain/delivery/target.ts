/** Receivers of deliveries. Each webhook and each A2A push configuration owns one target. */
import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { DueTarget } from '../ports.ts';

export interface DeliveryTarget {
  id: string;
  kind: string;
  owner_id: string;
  /** Only events of this team's runs, instead of those that the owner may see. */
  team_id: string | null;
  /** Only events of this run; null: events of all runs that the owner may see. */
  run_id: string | null;
  url: string;
  /** Patterns of events/type-filter.ts; an empty list matches all types. */
  types: string[];
  /** Settings of the kind; secrets in it are encrypted. */
  config: Record<string, unknown>;
  active: boolean;
  disabled_reason: DisabledReason | null;
  disabled_at: Date | null;
}

/** `gone`: the receiver answered 410. `failing`: too many deliveries were given up. */
export type DisabledReason = 'gone' | 'failing';

export const TARGET_COLUMNS = `t.id, t.kind, t.owner_id, t.team_id, t.run_id, t.url,
  to_json(t.types) as types,
  t.config, t.active, t.disabled_reason, t.disabled_at`;

/** The target receives events from this transaction on. */
export async function addTarget(
  em: EntityManager,
  target: Pick<DeliveryTarget, 'id' | 'kind' | 'owner_id' | 'url'> &
    Partial<Pick<DeliveryTarget, 'run_id' | 'types' | 'config' | 'active' | 'team_id'>>,
): Promise<void> {
  await em.execute(
    `insert into delivery_target (id, kind, owner_id, team_id, run_id, url, types, config, active)
     values (?, ?, ?, ?, ?, ?, ?::text[], ?::json, ?)`,
    [
      target.id,
      target.kind,
      target.owner_id,
      target.team_id ?? null,
      target.run_id ?? null,
      target.url,
      arrayLiteral(target.types ?? []),
      JSON.stringify(target.config ?? {}),
      target.active ?? true,
    ],
  );
}

/**
 * Reactivating a target clears its failures and retries its pending deliveries. @returns whether deliveries
 * are due: the caller then wakes the target after the commit
 */
export async function updateTarget(
  em: EntityManager,
  id: string,
  changes: Partial<Pick<DeliveryTarget, 'url' | 'types' | 'config' | 'active'>>,
): Promise<boolean> {
  const { url, types, config, active } = changes;
  const rows = await em.execute<{ revived: boolean }[]>(
    `update delivery_target n
        set url = coalesce(?, n.url), types = coalesce(?::text[], n.types),
            config = coalesce(?::json, n.config),
            active = coalesce(?::boolean, n.active), updated_at = clock_timestamp()
       from delivery_target o where o.id = n.id and n.id = ?
     returning n.active and not o.active as revived`,
    [
      url ?? null,
      types === undefined ? null : arrayLiteral(types),
      config === undefined ? null : JSON.stringify(config),
      active ?? null,
      id,
    ],
  );
  if (!rows[0]?.revived) return false;
  await em.execute(
    `update delivery set expires_at = clock_timestamp() + interval '24 hours', next_attempt_at = null
      where target_id = ? and status = 'pending'`,
    [id],
  );
  const [row] = await em.execute<{ due: boolean }[]>(
    `update delivery_target t
        set disabled_reason = null, disabled_at = null, failures = 0, failing_since = null, last_error = null,
            due_at = case when exists (select 1 from delivery d
                                        where d.target_id = t.id and d.status = 'pending')
                          then clock_timestamp() end
      where id = ? returning due_at is not null as due`,
    [id],
  );
  return row?.due ?? false;
}

/** Also deletes the target's deliveries. */
export async function removeTarget(em: EntityManager, id: string): Promise<void> {
  await em.execute('delete from delivery_target where id = ?', [id]);
}

/** Active targets with due deliveries and no current lease. */
export async function dueTargets(
  em: EntityManager,
  options: { limit: number; overdueMs: number },
): Promise<DueTarget[]> {
  return em.execute<DueTarget[]>(
    `select id, holder_id from delivery_target
      where active and due_at is not null and due_at <= clock_timestamp() - ? * interval '1 millisecond'
        and (leased_until is null or leased_until < clock_timestamp())
      order by due_at limit ?`,
    [options.overdueMs, options.limit],
  );
}
