/**
 * What of quotas is used: counted from the rows themselves, so no counter can drift from them; but of files,
 * which may be a million, from the totals that a trigger keeps in the same transaction.
 */
import { LIVE_STATUSES } from '../../contracts/run-events.ts';
import { isOneOf } from '../../db/sql.ts';

/** Rows that count for a holder, a user or a team. */
interface Counted {
  from: string;
  /** Of the platform, where nobody asks for the holder. Default: `from`. */
  fromAll?: string;
  /** The column with the id of the holder. */
  holder: string;
  where?: string;
  /** Of this column, instead of the number of rows. */
  sum?: string;
  /** What is still being handed over to a user counts, too. */
  follows?: true;
}

export const COUNTED = {
  stored_bytes: { from: 'file_total t', holder: 't.holder_id', sum: 't.bytes', follows: true },
  // Files that the platform stores for runs are removed with them, and do not count.
  files: { from: 'file_total t', holder: 't.holder_id', sum: 't.files', follows: true },
  // Paused ones start nothing, so they do not count.
  schedules: {
    from: 'workflow_schedule s join workflow w on w.id = s.workflow_id',
    fromAll: 'workflow_schedule s',
    holder: 'w.holder_id',
    where: 's.kind is not null and s.paused_at is null',
  },
  secrets: { from: 'secret s', holder: 's.owner_id' },
  // By the kind, because push notifications of A2A are targets, too, one for each task.
  webhooks: { from: 'delivery_target t', holder: 't.holder_id', where: `t.kind = 'webhook'` },
  inbound_webhooks: { from: 'inbound_hook h', holder: 'h.holder_id' },
  event_sources: { from: 'event_source e', holder: 'e.holder_id' },
  chats: { from: 'notification_channel c', holder: 'c.owner_id' },
  tokens: { from: 'access_token t', holder: 't.user_id', where: 't.expires_at > now()' },
  clients: { from: 'auth_client c', holder: 'c.user_id', where: 'c.expires_at > now()' },
} as const satisfies Record<string, Counted>;

export type CountedQuota = keyof typeof COUNTED;

/**
 * Whether what a user hands over of it follows in batches, and counts for the new owner from the beginning.
 */
export function follows(quota: CountedQuota): boolean {
  const counted: Counted = COUNTED[quota];
  return counted.follows ?? false;
}

/** SQL: what a holder, or with null the platform, uses. `most`: where to stop counting. */
export function usedSql(quota: CountedQuota, holder: string | null, most?: string): string {
  const { from, fromAll = from, holder: column, where, sum }: Counted = COUNTED[quota];
  const whose = follows(quota) ? `${column} = any(handing_over_to(${holder}))` : `${column} = ${holder}`;
  const conditions = [...(holder === null ? [] : [whose]), ...(where ? [where] : [])];
  const filter = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
  const rows = `${holder === null ? fromAll : from}${filter}`;
  if (sum !== undefined) return `(select coalesce(sum(${sum}), 0)::bigint from ${rows})`;
  return most === undefined
    ? `(select count(*) from ${rows})`
    : `(select count(*) from (select from ${rows} limit ${most}) counted)`;
}

const LIVE = isOneOf('r.status', LIVE_STATUSES);

/** SQL: what a holder uses of other quotas; those for each run or object show the one that uses most. */
export const OTHER_USED = {
  live_runs: (run: string | null) => `(select count(*) from run r where ${and(run)}${LIVE})`,
  runs_per_minute: (_run: string | null, holder: string) =>
    `(select coalesce(sum(m.runs), 0)::bigint from run_rate m
       where m.holder_id = ${holder} and m.minute = date_trunc('minute', clock_timestamp()))`,
  descendants: (run: string | null) =>
    `(select coalesce(max(r.tree_runs), 0) from run r where ${and(run)}${LIVE} and r.parent_run_id is null)`,
  run_events: (run: string | null) =>
    `(select coalesce(max(r.last_seq), 0) from run r where ${and(run)}${LIVE})`,
  agent_versions: (_run: string | null, holder: string) =>
    `(select coalesce(max(versions), 0) from (
        select count(*) as versions from agent_version v join agent a on a.id = v.agent_id
         where a.holder_id = ${holder} group by a.id) counted)`,
  workflow_revisions: (_run: string | null, holder: string) =>
    `(select coalesce(max(w.revision), 0) from workflow w where w.holder_id = ${holder})`,
  // Those of a copy of the API that was killed stop counting a moment later.
  streams: (_run: string | null, holder: string) =>
    `(select count(*) from open_stream s join api_copy c on c.id = s.copy_id
       where s.user_id = ${holder} and c.expires_at > clock_timestamp())`,
};

function and(condition: string | null): string {
  return condition === null ? '' : `${condition} and `;
}
