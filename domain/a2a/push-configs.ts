/**
 * Push notification configs of tasks. Tokens and credentials are encrypted at rest and shown to their owner.
 */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import type { A2APushConfig, WireVersion } from '../../contracts/a2a/objects.ts';
import { AppError, invalid, type FieldError } from '../errors.ts';
import { addTarget, removeTarget, updateTarget } from '../delivery/target.ts';
import type { Encryption } from '../secrets/encryption.ts';

export interface PushConfigRow {
  task_id: string;
  id: string;
  url: string;
  token_encrypted: string | null;
  auth_scheme: string | null;
  auth_credentials_encrypted: string | null;
  wire_version: WireVersion;
  target_id: string;
  created_at: Date;
}

/** The kind of delivery target. */
export const PUSH_KIND = 'a2a_push';
const MAX_CONFIGS = 20;

/** Creates the config, or replaces the one with its id. Clients may choose the id. @throws 422 */
export async function savePushConfig(
  em: EntityManager,
  encryption: Encryption,
  config: Omit<A2APushConfig, 'id'> & { id?: string },
  wireVersion: WireVersion,
): Promise<A2APushConfig> {
  const id = config.id === undefined || config.id === '' ? uuidv7() : config.id;
  check(config, id);
  const { taskId, url, token, authentication } = config;
  await lockTask(em, taskId);
  const [count] = await em.execute<{ n: number }[]>(
    `select count(*)::int as n from a2a_push_config where task_id = ? and id <> ?`,
    [taskId, id],
  );
  if ((count?.n ?? 0) >= MAX_CONFIGS)
    throw invalid([
      {
        pointer: '/id',
        code: 'too_many',
        message: `a task has at most ${MAX_CONFIGS} push notification configs`,
      },
    ]);
  const sealed = (value: string | undefined, field: string): string | null =>
    value ? encryption.encrypt(value, sealContext(taskId, id, field)) : null;
  const targetId = await saveTarget(em, taskId, id, url, wireVersion);
  await em.execute(
    `insert into a2a_push_config (task_id, id, url, token_encrypted, auth_scheme,
            auth_credentials_encrypted, wire_version, target_id)
     values (?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (task_id, id) do update set url = excluded.url,
       token_encrypted = excluded.token_encrypted, auth_scheme = excluded.auth_scheme,
       auth_credentials_encrypted = excluded.auth_credentials_encrypted,
       wire_version = excluded.wire_version`,
    [
      taskId,
      id,
      url,
      sealed(token, 'token'),
      authentication?.scheme ?? null,
      sealed(authentication?.credentials, 'credentials'),
      wireVersion,
      targetId,
    ],
  );
  return { ...config, id };
}

export async function listPushConfigs(
  em: EntityManager,
  encryption: Encryption,
  taskId: string,
): Promise<A2APushConfig[]> {
  const rows = await em.execute<PushConfigRow[]>(
    `select * from a2a_push_config where task_id = ? order by created_at, id`,
    [taskId],
  );
  return rows.map((row) => openPushConfig(encryption, row));
}

/** @throws task_not_found, the only error that the protocol has for this */
export async function getPushConfig(
  em: EntityManager,
  encryption: Encryption,
  taskId: string,
  id: string,
): Promise<A2APushConfig> {
  const [row] = await em.execute<PushConfigRow[]>(
    `select * from a2a_push_config where task_id = ? and id = ?`,
    [taskId, id],
  );
  if (!row)
    throw new AppError(
      'not_found',
      'task_not_found',
      `The task has no push notification config ${JSON.stringify(id)}.`,
    );
  return openPushConfig(encryption, row);
}

/** Also deletes the config's deliveries. Idempotent. */
export async function deletePushConfig(em: EntityManager, taskId: string, id: string): Promise<void> {
  const [row] = await em.execute<{ target_id: string }[]>(
    `select target_id from a2a_push_config where task_id = ? and id = ?`,
    [taskId, id],
  );
  if (row) await removeTarget(em, row.target_id);
}

/** Of requests at once, each counts what those before it have created. */
async function lockTask(em: EntityManager, taskId: string): Promise<void> {
  await em.execute('select 1 from a2a_task where id = ? for no key update', [taskId]);
}

/** The config's delivery target. A changed config reuses it, and clears its failures. */
async function saveTarget(
  em: EntityManager,
  taskId: string,
  id: string,
  url: string,
  wireVersion: WireVersion,
): Promise<string> {
  const [known] = await em.execute<{ target_id: string }[]>(
    `select target_id from a2a_push_config where task_id = ? and id = ? for update`,
    [taskId, id],
  );
  const config = { wire_version: wireVersion };
  if (known) {
    await updateTarget(em, known.target_id, { url, config, active: true });
    return known.target_id;
  }
  const [task] = await em.execute<{ owner_id: string }[]>(`select owner_id from a2a_task where id = ?`, [
    taskId,
  ]);
  if (!task) throw new Error(`There is no task ${taskId}`);
  const targetId = uuidv7();
  await addTarget(em, {
    id: targetId,
    kind: PUSH_KIND,
    owner_id: task.owner_id,
    run_id: taskId,
    url,
    config,
  });
  return targetId;
}

export function openPushConfig(encryption: Encryption, row: PushConfigRow): A2APushConfig {
  const open = (value: string | null, field: string): string | null =>
    value === null ? null : encryption.decrypt(value, sealContext(row.task_id, row.id, field));
  const token = open(row.token_encrypted, 'token');
  const credentials = open(row.auth_credentials_encrypted, 'credentials');
  return {
    id: row.id,
    taskId: row.task_id,
    url: row.url,
    ...(token === null ? {} : { token }),
    ...(row.auth_scheme === null
      ? {}
      : { authentication: { scheme: row.auth_scheme, ...(credentials === null ? {} : { credentials }) } }),
  };
}

const UNPRINTABLE = /\p{Cc}/u;
/** RFC 9110 section 5.5, without obsolete folding. */
const HEADER_TEXT = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

function check(
  { url, token, authentication }: Pick<A2APushConfig, 'url' | 'token' | 'authentication'>,
  id: string,
): void {
  const errors: FieldError[] = [];
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    errors.push({ pointer: '/url', code: 'invalid', message: 'url must be an absolute http or https URL' });
  else if (parsed.username !== '' || parsed.password !== '')
    errors.push({
      pointer: '/url',
      code: 'invalid',
      message: 'url must not hold credentials: use authentication',
    });
  if (url.length > 2048)
    errors.push({ pointer: '/url', code: 'too_long', message: 'url must have at most 2048 characters' });
  if (UNPRINTABLE.test(url))
    errors.push({ pointer: '/url', code: 'invalid', message: 'url must not have control characters' });
  if (id.length > 255 || id.includes('/') || UNPRINTABLE.test(id))
    errors.push({
      pointer: '/id',
      code: 'invalid',
      message: 'id must have at most 255 characters, no slash and no control characters',
    });
  for (const [pointer, value] of [
    ['/token', token],
    ['/authentication/scheme', authentication?.scheme],
    ['/authentication/credentials', authentication?.credentials],
  ] as const) {
    if (value !== undefined && (!HEADER_TEXT.test(value) || value.length > 8192))
      errors.push({
        pointer,
        code: 'invalid',
        message: 'must be a valid header value of at most 8192 characters',
      });
  }
  if (errors.length > 0) throw invalid(errors);
}

/** Binds a sealed field to its row, so it cannot be decrypted in another's place. */
export function sealContext(taskId: string, id: string, field: string): string {
  return `a2a_push_config:${taskId}:${id}:${field}`;
}
