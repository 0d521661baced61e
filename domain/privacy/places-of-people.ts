/** Where an erasure looks for names beside the runs: agents, workflows, labels of all kinds. */
import type { TextPlace } from './text-place.ts';

const ID = ['id uuid'];
const NAME = { texts: { name: 'text' } } as const;

/** What people keep for themselves and others: texts beside the runs. */
export const PLACES_OF_PEOPLE: readonly TextPlace[] = [
  { kind: 'comments', table: 'hitl_comment', key: ID, texts: { comment: 'text' } },
  {
    kind: 'agents',
    table: 'agent',
    key: ID,
    texts: {
      description: 'text',
      documentation: 'text',
      license: 'text',
      provider_name: 'text',
      tags: 'texts',
      last_check: 'record',
    },
    fixed: {
      name: ['name'],
      configuration: [
        'configuration',
        'input_schema',
        'output_schema',
        'authentication_config',
        'source',
        'provenance',
        'url',
        'repository_url',
        'provider_url',
        'capabilities',
        'modalities',
      ],
    },
  },
  {
    kind: 'agent_skills',
    table: 'agent_skill',
    key: ID,
    texts: { name: 'text', description: 'text', tags: 'texts', examples: 'texts' },
  },
  {
    kind: 'agent_versions',
    table: 'agent_version',
    key: ID,
    fixed: { pinned: ['configuration', 'input_schema', 'output_schema', 'changelog'] },
  },
  {
    kind: 'workflows',
    table: 'workflow',
    key: ID,
    texts: { description: 'text', tags: 'texts' },
    fixed: { name: ['name'], configuration: ['provenance'] },
  },
  {
    kind: 'workflow_revisions',
    table: 'workflow_revision',
    key: ['workflow_id uuid', 'revision integer'],
    fixed: {
      pinned: ['definition', 'input_schema', 'executable', 'resources', 'source', 'problems', 'agents'],
    },
  },
  {
    kind: 'schedules',
    table: 'workflow_schedule',
    key: ['workflow_id uuid'],
    texts: { note: 'text', refusal: 'text' },
  },
  {
    kind: 'schedule_starts',
    table: 'schedule_start',
    key: ['workflow_id uuid', 'scheduled_at timestamptz'],
    texts: { detail: 'text' },
  },
  {
    kind: 'marketplace_items',
    table: 'marketplace_item',
    key: ID,
    fixed: { pinned: ['name', 'summary', 'description', 'license', 'categories', 'tags', 'requires'] },
  },
  {
    kind: 'marketplace_versions',
    table: 'marketplace_version',
    key: ID,
    texts: { reason: 'text' },
    fixed: {
      pinned: ['content', 'requires', 'name', 'summary', 'description', 'license', 'categories', 'tags'],
    },
  },
  { kind: 'marketplace_reviews', table: 'marketplace_review', key: ID, texts: { text: 'text' } },
  { kind: 'files', table: 'file', key: ID, ...NAME },
  {
    kind: 'teams',
    table: 'team',
    key: ID,
    texts: { description: 'text' },
    fixed: { name: ['name'] },
  },
  {
    kind: 'groups_of_teams',
    table: 'team_group',
    key: ['team_id uuid', 'group_name text'],
    fixed: { configuration: ['group_name'] },
  },
  { kind: 'absences', table: 'absence', key: ID, texts: { note: 'text' } },
  { kind: 'preferences', table: 'user_preferences', key: ['user_id uuid'], texts: { content: 'record' } },
  {
    kind: 'chat_messages',
    table: 'chat_message',
    key: ['session_id uuid', 'number bigint'],
    texts: { text: 'text' },
  },
  { kind: 'chat_sessions', table: 'chat_session', key: ID, fixed: { name: ['name'] } },
];

/** What connects the platform with others, and the names that people give to it. */
export const PLACES_OF_CONNECTIONS: readonly TextPlace[] = [
  {
    kind: 'event_sources',
    table: 'event_source',
    key: ID,
    texts: { description: 'text' },
    fixed: { configuration: ['source', 'client_id'] },
  },
  {
    kind: 'hooks',
    table: 'inbound_hook',
    key: ID,
    ...NAME,
    fixed: { configuration: ['source', 'event_type'] },
  },
  { kind: 'webhooks', table: 'webhook', key: ID, texts: { description: 'text' } },
  {
    kind: 'delivery_targets',
    table: 'delivery_target',
    key: ID,
    texts: { disabled_reason: 'text', last_error: 'text' },
    fixed: { configuration: ['url', 'config', 'types'] },
  },
  { kind: 'access_tokens', table: 'access_token', key: ID, ...NAME },
  { kind: 'machine_clients', table: 'auth_client', key: ID, ...NAME },
  { kind: 'worker_tokens', table: 'worker_token', key: ID, ...NAME },
  { kind: 'passkeys', table: 'passkey', key: ID, ...NAME },
  { kind: 'directory_tokens', table: 'scim_token', key: ID, ...NAME },
  {
    kind: 'chat_channels',
    table: 'notification_channel',
    key: ID,
    texts: { name: 'text', last_error: 'text' },
    fixed: { configuration: ['group_name'] },
  },
  { kind: 'sent_notifications', table: 'notification_delivery', key: ID, texts: { error: 'text' } },
  { kind: 'sent_account_mails', table: 'account_mail', key: ID, texts: { error: 'text', data: 'record' } },
  {
    kind: 'programs',
    table: 'oauth_client',
    key: ID,
    fixed: { configuration: ['name', 'client_uri', 'redirect_uris', 'handle', 'resource'] },
  },
  {
    kind: 'issuers',
    table: 'identity_issuer',
    key: ID,
    fixed: { configuration: ['name', 'title', 'issuer', 'client_id', 'mapping', 'jwks_uri'] },
  },
  {
    kind: 'issuer_groups',
    table: 'identity_group',
    key: ID,
    fixed: { configuration: ['name', 'external_id'] },
  },
  { kind: 'machines', table: 'identity_machine', key: ID, fixed: { configuration: ['name', 'claims'] } },
  {
    kind: 'secrets',
    table: 'secret',
    key: ['owner_id uuid', 'name text'],
    fixed: { name: ['name'] },
  },
  {
    kind: 'applied_resources',
    table: 'applied_resource',
    key: ID,
    fixed: { name: ['set_name', 'name'] },
  },
  {
    kind: 'push_configurations',
    table: 'a2a_push_config',
    key: ['task_id uuid', 'id text'],
    fixed: { configuration: ['url'] },
  },
];
