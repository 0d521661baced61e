/** What a person owns that others need: it has to be handed over before the person's data is erased. */
import { LIVE_STATUSES } from '../../contracts/run-events.ts';
import { UNDECIDED } from '../../contracts/hitl.ts';
import { isOneOf } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';

/** Ids of each kind that a refusal names. */
const MAX_NAMED = 10;

interface OwnedKind {
  count: number;
  /** The first of them. */
  ids: string[];
}
export type Owned = Record<string, OwnedKind>;

/** SQL conditions; each `?` is the person's id. What a team holds stays with the team. */
const KINDS: readonly (readonly [kind: string, table: string, condition: string])[] = [
  ['agents', 'agent', 'owner_id = ? and team_id is null'],
  ['workflows', 'workflow', 'owner_id = ? and team_id is null'],
  ['live_runs', 'run', `owner_id = ? and ${isOneOf('status', LIVE_STATUSES)}`],
  ['files', 'file', 'owner_id = ? and team_id is null and not of_runs'],
  ['webhooks', 'delivery_target', `owner_id = ? and team_id is null and kind = 'webhook'`],
  ['hooks', 'inbound_hook', 'owner_id = ? and team_id is null'],
  ['event_sources', 'event_source', 'owner_id = ? and team_id is null'],
  ['marketplace_items', 'marketplace_item', 'publisher_id = ?'],
  [
    'human_tasks',
    'hitl_task',
    `${isOneOf('status', UNDECIDED)} and (assignee_key = 'id:' || ?::text or claimed_by = ?::uuid)`,
  ],
];

/** Only kinds of which there is something. */
export async function ownedBy(em: EntityManager, userId: string): Promise<Owned> {
  const owned: Owned = {};
  for (const [kind, table, condition] of KINDS) {
    const values = valuesFor(condition, userId);
    const [row] = await em.execute<{ count: number; ids: string[] }[]>(
      `select (select count(*)::int from ${table} where ${condition}) as count,
              array_to_json(array(select id from ${table} where ${condition} order by id limit ?)) as ids`,
      [...values, ...values, MAX_NAMED],
    );
    if (row !== undefined && row.count > 0) owned[kind] = row;
  }
  return owned;
}

/** Rows of a table; `?` in the condition is the person's id. */
export async function countRows(
  em: EntityManager,
  userId: string,
  table: string,
  condition: string,
): Promise<number> {
  const [row] = await em.execute<{ count: number }[]>(
    `select count(*)::int as count from ${table} where ${condition}`,
    valuesFor(condition, userId),
  );
  return row?.count ?? 0;
}

/** The id for each `?` of a condition. */
export function valuesFor(condition: string, userId: string): string[] {
  return Array.from(condition.matchAll(/\?/g), () => userId);
}
