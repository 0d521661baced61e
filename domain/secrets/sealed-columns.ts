/** The columns that `encryption.ts` encrypts, and the context of each value. */
import { sealContext } from '../a2a/push-configs.ts';
import { idTokenContext } from '../identity/log-in.ts';
import { issuerContext } from '../identity/issuers.ts';
import { context as signingContext } from '../auth/signing-keys.ts';
import { totpContext } from '../auth/totp.ts';
import { contextOf as secretContext } from './service.ts';
import { channelContext } from '../notifications/channels.ts';
import { secretContext as webhookContext } from '../webhooks/kind.ts';

/** The primary key of a row, and other columns, as text. */
export type Key = Record<string, string>;

/** A column that `encryption.ts` has encrypted. */
export interface SealedColumn {
  table: string;
  column: string;
  /** What is lost without its key, for messages. */
  use: string;
  key: readonly string[];
  /** Orders the rows by age. */
  age: string;
  context: (row: Key) => string;
}

export const field = (row: Key, name: string): string => row[name] ?? '';

/** Signing keys come first: every installation has some, and under a wrong key none is made for a month. */
export const SEALED: readonly SealedColumn[] = [
  {
    table: 'signing_key',
    column: 'private_key_encrypted',
    use: 'signing keys',
    key: ['kid'],
    age: 'created_at',
    context: (row) => signingContext(field(row, 'kid')),
  },
  {
    table: 'secret',
    column: 'value_encrypted',
    use: 'secrets',
    key: ['owner_id', 'name'],
    age: 'created_at',
    context: (row) => secretContext(field(row, 'owner_id'), field(row, 'name')),
  },
  {
    table: 'webhook',
    column: 'secret_encrypted',
    use: 'webhooks',
    key: ['id'],
    age: 'id',
    context: (row) => webhookContext(field(row, 'id')),
  },
  {
    table: 'webhook',
    column: 'former_secret_encrypted',
    use: 'webhooks',
    key: ['id'],
    age: 'id',
    context: (row) => webhookContext(field(row, 'id')),
  },
  {
    table: 'notification_channel',
    column: 'url_encrypted',
    use: 'chats',
    key: ['id'],
    age: 'created_at',
    context: (row) => channelContext(field(row, 'id')),
  },
  {
    table: 'a2a_push_config',
    column: 'token_encrypted',
    use: 'push notification configs',
    key: ['task_id', 'id'],
    age: 'created_at',
    context: (row) => sealContext(field(row, 'task_id'), field(row, 'id'), 'token'),
  },
  {
    table: 'a2a_push_config',
    column: 'auth_credentials_encrypted',
    use: 'push notification configs',
    key: ['task_id', 'id'],
    age: 'created_at',
    context: (row) => sealContext(field(row, 'task_id'), field(row, 'id'), 'credentials'),
  },
  {
    table: 'identity_issuer',
    column: 'client_secret_encrypted',
    use: 'identity issuers',
    key: ['id'],
    age: 'created_at',
    context: (row) => issuerContext(field(row, 'id')),
  },
  {
    table: 'auth_session',
    column: 'id_token_encrypted',
    use: 'log-outs at issuers',
    key: ['id'],
    age: 'created_at',
    context: (row) => idTokenContext(field(row, 'id')),
  },
  {
    table: 'user_totp',
    column: 'secret_encrypted',
    use: 'authenticator apps',
    key: ['user_id'],
    age: 'created_at',
    context: (row) => totpContext(field(row, 'user_id')),
  },
];
