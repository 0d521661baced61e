/** Secrets of users and teams, stored encrypted; values are read only for the calls that need them. */
import { Secret } from '../../db/entities/secret.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import { notFound } from '../errors.ts';
import type { Encryption } from './encryption.ts';

/** Placeholders are upper case; the other characters are for names in a definition's `use.secrets`. */
export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,254}$/;

/** Creates or replaces a secret. @returns the record, and whether it is new */
export async function putSecret(
  em: EntityManager,
  encryption: Encryption,
  ownerId: string,
  given: { name: string; value: string },
): Promise<{ secret: Secret; created: boolean }> {
  const encrypted = encryption.encrypt(given.value, contextOf(ownerId, given.name));
  const [row] = await em.execute<{ created: boolean }[]>(
    `insert into secret (owner_id, name, value_encrypted) values (?, ?, ?)
     on conflict (owner_id, name) do update
       set value_encrypted = excluded.value_encrypted, updated_at = clock_timestamp()
     returning (xmax = 0) as created`,
    [ownerId, given.name, encrypted],
  );
  const secret = await em.findOneOrFail(Secret, { owner_id: ownerId, name: given.name }, { refresh: true });
  return { secret, created: row?.created ?? false };
}

export async function getSecret(em: EntityManager, holderId: string, name: string): Promise<Secret> {
  const secret = await em.findOne(Secret, { owner_id: holderId, name });
  if (secret === null) throw notFound('secret');
  return secret;
}

/** The secrets of a user or a team, by name. */
export async function listSecrets(em: EntityManager, holderId: string, page: KeysetPage): Promise<Secret[]> {
  return em.find(
    Secret,
    { owner_id: holderId, ...(page.after === undefined ? {} : { name: { $gt: page.after } }) },
    { orderBy: { name: 'asc' }, limit: page.limit },
  );
}

export async function deleteSecret(em: EntityManager, holderId: string, name: string): Promise<void> {
  const deleted = await em.nativeDelete(Secret, { owner_id: holderId, name });
  if (deleted === 0) throw notFound('secret');
}

/**
 * The decrypted value; null if the owner has no secret of that name. For activities, at the moment of a call.
 */
export async function resolveSecret(
  em: EntityManager,
  encryption: Encryption,
  ownerId: string,
  name: string,
): Promise<string | null> {
  const [row] = await em.execute<{ value_encrypted: string }[]>(
    'select value_encrypted from secret where owner_id = ? and name = ?',
    [ownerId, name],
  );
  return row === undefined ? null : encryption.decrypt(row.value_encrypted, contextOf(ownerId, name));
}

/** All of a user's secrets, decrypted, to search for them in texts that must not contain any. */
export async function readSecrets(
  em: EntityManager,
  encryption: Encryption,
  ownerId: string,
): Promise<{ name: string; value: string }[]> {
  const rows = await em.execute<{ name: string; value_encrypted: string }[]>(
    'select name, value_encrypted from secret where owner_id = ? order by name',
    [ownerId],
  );
  return rows.map(({ name, value_encrypted: sealed }) => ({
    name,
    value: encryption.decrypt(sealed, contextOf(ownerId, name)),
  }));
}

/** Binds a sealed value to its row. */
export function contextOf(ownerId: string, name: string): string {
  return `secret:${ownerId}:${name}`;
}
