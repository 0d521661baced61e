/** What is stored about a person, for the right of access: section by section, a page at a time. */
import type { EntityManager } from '../../db/orm.ts';
import { isFromInside } from '../files/inside.ts';
import { OWNER_SEES_INSIDE } from '../runs/policy.ts';
import { valuesFor } from './owned.ts';

const PAGE = 500;

interface Section {
  name: string;
  from: string;
  /** `?` is the person's id. */
  where: string;
  /** Unique and indexed, or few; pages follow it. */
  key: string;
  keyType: 'uuid' | 'bigint' | 'text';
  /** Columns of the record; secrets, hashes and keys are never among them. */
  columns: string;
}

function section(
  name: string,
  from: string,
  columns: string,
  more: Partial<Pick<Section, 'where' | 'key' | 'keyType'>> = {},
): Section {
  return { name, from, columns, where: 'user_id = ?', key: 'id', keyType: 'uuid', ...more };
}

const owned = { where: 'owner_id = ?' };
const single = { key: 'user_id' };

const SECTIONS: readonly Section[] = [
  section(
    'account',
    'user_account',
    `id, username, email, display_name, roles, groups, status, password_hash is not null as has_password,
     second_factor, budget, quotas, created_at, updated_at`,
    { where: 'id = ?' },
  ),
  section(
    'identities',
    'user_identity',
    `id, issuer_id, subject, label, claim_roles, claim_groups, external_id, user_name, scim, issued_names,
     issued_ids, created_at, last_log_in_at`,
  ),
  section('preferences', 'user_preferences', 'content', single),
  section('notification_settings', 'notification_settings', 'content', single),
  section(
    'sessions',
    'auth_session',
    'id, address, user_agent, created_at, last_used_at, expires_at, revoked_at, oauth_client_id',
  ),
  section(
    'access_tokens',
    'access_token',
    'id, name, scopes, created_at, expires_at, last_used_at, last_address',
  ),
  section('machine_clients', 'auth_client', 'id, name, scopes, created_at, expires_at, last_used'),
  section('worker_tokens', 'worker_token', 'id, name, created_at, expires_at, last_used', owned),
  section('passkeys', 'passkey', 'id, name, created_at, last_used_at'),
  section('authenticator_app', 'user_totp', 'created_at, confirmed_at', single),
  section('teams', 'team_member m join team t on t.id = m.team_id', 't.id, t.name, m.role, m.added_at', {
    where: 'm.user_id = ?',
    key: 'm.team_id',
  }),
  section(
    'directory_groups',
    'identity_group_member m join identity_group g on g.id = m.group_id',
    'g.id, g.name',
    {
      where: 'm.user_id = ?',
      key: 'm.group_id',
    },
  ),
  section('absences', 'absence', 'id, user_id, deputy_id, from_at, until_at, note', {
    where: '(user_id = ? or deputy_id = ?)',
  }),
  section('chat_channels', 'notification_channel', 'id, name, format, kinds, created_at', owned),
  section('notifications', 'notification', 'id, kind, task_id, created_at, read_at'),
  section('account_mails', 'account_mail', 'id, kind, address, data, status, created_at, done_at'),
  section('secrets', 'secret', 'name, created_at, updated_at', { ...owned, key: 'name', keyType: 'text' }),
  section('comments', 'hitl_comment', 'id, task_id, comment, created_at', { where: 'created_by = ?' }),
  section('votes', 'hitl_vote', 'id, task_id, decision, payload, comment, voted_at, via', {
    where: 'voted_by = ?',
  }),
  section('decisions', 'hitl_decision', 'id, task_id, decision, payload, comment, decided_at, via', {
    where: 'decided_by = ?',
  }),
  section('task_history', 'hitl_audit', 'id, task_id, run_id, at, action, via', { where: 'actor_id = ?' }),
  // Of runs whose inside is closed to them people see no more here than elsewhere (docs/teams.md#runners).
  section(
    'runs',
    'run r',
    `id, workflow_id, workflow_name, status,
     case when parent_run_id is null or ${OWNER_SEES_INSIDE} then input end as input,
     case when parent_run_id is null or ${OWNER_SEES_INSIDE} then output end as output,
     case when error is null or ${OWNER_SEES_INSIDE} then to_json(error)
          else json_build_object('type', error -> 'type', 'status', error -> 'status',
                                 'title', error -> 'title') end as error,
     tags, labels, created_at, started_at, finished_at`,
    owned,
  ),
  section('files', 'file f', 'id, name, media_type, size, sha256, visibility, created_at', {
    where: `owner_id = ? and not ${isFromInside('f')}`,
  }),
  section('agents', 'agent', 'id, name, description, type, visibility, created_at', owned),
  section('workflows', 'workflow', 'id, name, description, visibility, created_at, archived_at', owned),
  section('conversations', 'chat_session', 'id, agent_id, name, created_at, updated_at', owned),
  section(
    'conversation_messages',
    'chat_message c join chat_session s on s.id = c.session_id',
    's.id as session_id, c.role, c.text, c.said_at',
    {
      where: 's.owner_id = ?',
      key: 'c.number',
      keyType: 'bigint',
    },
  ),
  section('reviews', 'marketplace_review', 'id, item_id, rating, text, created_at, updated_at'),
  section('received_events', 'inbound_event', 'id, source, type, subject, event, received_at', owned),
  section('usage', 'usage_record', 'id, at, run_id, agent_id, model, input_tokens, output_tokens, cost_usd'),
  section(
    'audit',
    'audit_entry',
    'id, at, action, outcome, object_type, object_id, credential, via, address, user_agent',
    { where: 'actor_id = ?', keyType: 'bigint' },
  ),
];

/** A record with the section that it belongs to. */
export interface PersonalRecord {
  section: string;
  record: Record<string, unknown>;
}

/** Each page is a statement of its own, so that a slow reader holds no connection. */
export async function* personalData(
  fork: () => EntityManager,
  userId: string,
): AsyncGenerator<PersonalRecord> {
  for (const { name, from, where, key, keyType, columns } of SECTIONS) {
    let after: string | null = null;
    for (;;) {
      const rows: { key: string; record: Record<string, unknown> }[] = await fork().execute(
        `select q.page_key::text as key, to_json(q) as record
           from (select ${columns}, ${key} as page_key from ${from}
                  where ${where} and (?::${keyType} is null or ${key} > ?::${keyType})
                  order by ${key} limit ?) q`,
        [...valuesFor(where, userId), after, after, PAGE],
      );
      for (const { record } of rows) {
        const { page_key: _key, ...shown } = record;
        yield { section: name, record: shown };
      }
      after = rows.at(-1)?.key ?? null;
      if (rows.length < PAGE || after === null) break;
    }
  }
}
