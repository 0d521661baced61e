/** The encryption keys that the database needs: without one of them log-ins, secrets or runs fail. */
import { UNDER_WAY_STATUSES } from '../../contracts/run-events.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { SEALED } from './sealed-columns.ts';

export interface NeededKey {
  id: string;
  /** What is encrypted with the key, for messages. */
  uses: string[];
}

/** The message names each missing key and what to do. */
export class MissingKeys extends Error {
  override readonly name = 'MissingKeys';
}

const USES = `
  ${SEALED.map(
    ({ table, column, use }) =>
      `select distinct split_part(${column}, '.', 2) as id, '${use}' as use
         from ${table} where ${column} is not null`,
  ).join(' union ')}
  union select key_id, 'large values of runs' from temporal_payload where key_id is not null
  union select id, 'active runs' from encryption_key
   where runs_moved_at is null
     and exists (select 1 from run where ${isOneOf('status', UNDER_WAY_STATUSES)})`;

/** Keys that are in use and not among `keyIds`. */
export async function missingKeys(em: EntityManager, keyIds: readonly string[]): Promise<NeededKey[]> {
  return em.execute<NeededKey[]>(
    `select id, array_agg(use order by use) as uses from (${USES}) needed
      where id <> all(?::text[]) group by id order by id`,
    [arrayLiteral(keyIds)],
  );
}

/** The ids of all keys that are in use. */
export async function neededKeys(em: EntityManager): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(`select distinct id from (${USES}) needed order by id`);
  return rows.map(({ id }) => id);
}

export function describeMissing(missing: readonly NeededKey[]): string {
  const named = missing.map(({ id, uses }) => `"${id}" (${uses.join(', ')})`).join(' and ');
  const [keys, them] = missing.length === 1 ? ['the key', 'it'] : ['the keys', 'them'];
  return (
    `ENCRYPTION_KEYS lacks ${keys} ${named}. Put ${them} back after the first one; ` +
    '`npm run rotate-keys` says when a key can be removed.'
  );
}

/** Call at the start of each process that encrypts payloads: from then on active runs may need this key. */
export async function noteKeyInUse(em: EntityManager, keyId: string): Promise<void> {
  await em.execute(
    `insert into encryption_key (id) values (?)
     on conflict (id) do update set runs_moved_at = null, rotation_started_at = null
       where encryption_key.runs_moved_at is not null`,
    [keyId],
  );
}
