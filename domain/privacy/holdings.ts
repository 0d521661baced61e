/** Which tables hold a person's data, and what becomes of it when it is erased (docs/privacy.md). */
import type { EntityManager } from '../../db/orm.ts';
import { countRows, valuesFor } from './owned.ts';

/** Rows that one statement removes. */
const BATCH = 1_000;

/** Rows that are about the person alone. `?` is the person's id; what refers to a row goes with it. */
const REMOVED: readonly (readonly [kind: string, table: string, condition: string])[] = [
  ['sessions', 'auth_session', 'user_id = ?'],
  ['access_tokens', 'access_token', 'user_id = ?'],
  ['machine_clients', 'auth_client', 'user_id = ?'],
  ['worker_tokens', 'worker_token', 'owner_id = ?'],
  ['passkeys', 'passkey', 'user_id = ?'],
  ['authenticator_apps', 'user_totp', 'user_id = ?'],
  ['recovery_codes', 'recovery_code', 'user_id = ?'],
  ['challenges', 'auth_challenge', 'user_id = ?'],
  ['device_requests', 'device_request', 'user_id = ?'],
  ['authorization_codes', 'oauth_code', 'user_id = ?'],
  ['machines', 'identity_machine', 'user_id = ?'],
  ['identities', 'user_identity', 'user_id = ?'],
  ['directory_groups', 'identity_group_member', 'user_id = ?'],
  ['team_memberships', 'team_member', 'user_id = ?'],
  ['preferences', 'user_preferences', 'user_id = ?'],
  ['notification_settings', 'notification_settings', 'user_id = ?'],
  ['notification_deliveries', 'notification_delivery', 'user_id = ?'],
  ['notifications', 'notification', 'user_id = ? or in_place_of = ?'],
  ['chat_channels', 'notification_channel', 'owner_id = ?'],
  ['absences', 'absence', 'user_id = ? or deputy_id = ?'],
  ['decision_links', 'decision_link', 'user_id = ?'],
  ['account_mails', 'account_mail', 'user_id = ?'],
  ['account_notices', 'account_notice', 'user_id = ?'],
  ['account_links', 'account_link', 'user_id = ?'],
  ['password_requests', 'password_request', 'user_id = ?'],
  ['secrets', 'secret', 'owner_id = ?'],
  ['conversations', 'chat_session', 'owner_id = ?'],
  ['received_events', 'inbound_event', 'owner_id = ?'],
  ['protocol_calls', 'protocol_call', 'user_id = ?'],
  ['cancelled_requests', 'cancelled_request', 'user_id = ?'],
  ['kept_answers', 'idempotency_record', 'user_id = ?'],
  ['request_counts', 'request_count', 'user_id = ?'],
  ['applied_sets', 'applied_resource', 'owner_id = ?'],
  ['waiting_files', 'file', 'owner_id = ? and expires_at is not null'],
];

/** By kind; those of which there is nothing are absent. */
export type Counts = Record<string, number>;

export function counted(counts: Counts, kind: string, count: number): Counts {
  return count === 0 ? counts : { ...counts, [kind]: (counts[kind] ?? 0) + count };
}

/**
 * What opens the account, and what its issuers would fill it with again. It goes together with the account,
 * so that no log-in and no directory finds the person before the batches have come to it.
 */
const ACCESS: ReadonlySet<string> = new Set([
  'sessions',
  'access_tokens',
  'machine_clients',
  'worker_tokens',
  'machines',
  'identities',
  'directory_groups',
]);

/** In the transaction that empties the account. */
export async function removeAccess(em: EntityManager, userId: string): Promise<Counts> {
  let counts: Counts = {};
  for (const [kind, table, condition] of REMOVED) {
    if (!ACCESS.has(kind)) continue;
    const rows = await em.execute<object[]>(
      `delete from ${table} where ${condition} returning 1`,
      valuesFor(condition, userId),
    );
    counts = counted(counts, kind, rows.length);
  }
  return counts;
}

/** What would be removed. */
export async function countRemoved(em: EntityManager, userId: string): Promise<Counts> {
  let counts: Counts = {};
  for (const [kind, table, condition] of REMOVED) {
    counts = counted(counts, kind, await countRows(em, userId, table, condition));
  }
  return counts;
}

interface Removal {
  /** Null if there is nothing left. */
  removed: { kind: string; count: number } | null;
  /** Of the kind at which the next batch begins. */
  next: number;
}

/**
 * Removes one batch of the first kind of which there is something, from this kind on: what is before it is
 * gone, so no batch looks at it again.
 */
export async function removeBatch(em: EntityManager, userId: string, from: number): Promise<Removal> {
  for (const [index, [kind, table, condition]] of REMOVED.entries()) {
    if (index < from) continue;
    const rows = await em.execute<object[]>(
      `delete from ${table} where ctid = any(array(select ctid from ${table} where ${condition} limit ?))
       returning 1`,
      [...valuesFor(condition, userId), BATCH],
    );
    if (rows.length > 0)
      return { removed: { kind, count: rows.length }, next: rows.length < BATCH ? index + 1 : index };
  }
  return { removed: null, next: REMOVED.length };
}

/** What stays, and why: for the report of an erasure. */
export interface Kept {
  kind: string;
  count: number | null;
  why: string;
}

const KEPT: readonly (readonly [kind: string, table: string, condition: string, why: string])[] = [
  [
    'audit_entries',
    'audit_entry',
    'actor_id = ?',
    'The audit log shows that nobody changed it. Entries name the id; addresses and names in them, of ' +
      'entries from before names were left out, go with AUDIT_RETENTION_DAYS.',
  ],
  ['task_history', 'hitl_audit', 'actor_id = ?', 'Who decided what has to stay known; by the id only.'],
  ['decisions', 'hitl_decision', 'decided_by = ?', 'They are part of the runs of others; by the id only.'],
  ['votes', 'hitl_vote', 'voted_by = ?', 'They are part of the runs of others; by the id only.'],
  ['comments', 'hitl_comment', 'created_by = ?', 'Texts in the tasks of others stay without the name.'],
  [
    'event_senders',
    'event_source',
    'user_id = ?',
    'Sources of others that only this person may send: by the id only, and nobody sends them until their ' +
      'owner names somebody else.',
  ],
  ['usage', 'usage_record', 'user_id = ?', 'Sums of costs; by the id only.'],
  ['workflow_revisions', 'workflow_revision', 'created_by = ?', 'History of workflows; by the id only.'],
  ['agent_versions', 'agent_version', 'created_by = ?', 'History of agents; by the id only.'],
];

export async function keptOf(em: EntityManager, userId: string, runs: 'keep' | 'remove'): Promise<Kept[]> {
  const kept: Kept[] = [];
  for (const [kind, table, condition, why] of KEPT) {
    const count = await countRows(em, userId, table, condition);
    if (count > 0) kept.push({ kind, count, why });
  }
  const count = runs === 'keep' ? await countRows(em, userId, 'run', 'owner_id = ?') : 0;
  if (count > 0) {
    const why =
      'Inputs, outputs and events of ended runs stay until RETENTION_DAYS; `runs: remove` removes them.';
    kept.push({ kind: 'runs', count, why });
  }
  return [...kept, ...ELSEWHERE];
}

/** What is not in the database, or not found by a person's id. */
const ELSEWHERE: readonly Kept[] = [
  {
    kind: 'other_spellings',
    count: null,
    why: 'Nicknames, initials and misspelt names in texts, and names in the contents of files.',
  },
  {
    kind: 'temporal_histories',
    count: null,
    why:
      'Of runs that stay, encrypted, until the retention of the namespace in Temporal (`histories`). Large ' +
      'values of histories, encrypted, until the day after RETENTION_DAYS.',
  },
  {
    kind: 'backups',
    count: null,
    why: 'Until they are deleted; erase again after restoring one (docs/privacy.md).',
  },
  { kind: 'server_logs', count: null, why: 'Logs of the processes, wherever the operator keeps them.' },
];
