/**
 * Compares ENCRYPTION_KEYS with the database: by id, and by value. Two keys with the same id would otherwise
 * both be accepted, and each would encrypt data that the other cannot read.
 */
import type { EncryptionKey } from '../../config/env-types.ts';
import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { checkValueOf, describeWrong } from './check-value.ts';
import { createEncryption, opened } from './encryption.ts';
import { describeMissing, MissingKeys, missingKeys } from './key-use.ts';
import { field, SEALED, type Key } from './sealed-columns.ts';

/** The message names each wrong key and what to do. */
export class WrongKeys extends Error {
  override readonly name = 'WrongKeys';
}

export interface KeyState {
  state: 'ok' | 'missing' | 'wrong';
  /** What is wrong and what to do. */
  problems: string[];
}

/** Changes nothing. */
export async function readKeyState(em: EntityManager, keys: readonly EncryptionKey[]): Promise<KeyState> {
  const missing = await missingKeys(
    em,
    keys.map(({ id }) => id),
  );
  const wrong = await wrongKeys(em, keys);
  return {
    state: wrong.length > 0 ? 'wrong' : missing.length > 0 ? 'missing' : 'ok',
    problems: [
      ...(missing.length > 0 ? [describeMissing(missing)] : []),
      ...(wrong.length > 0 ? [describeWrong(wrong)] : []),
    ],
  };
}

/**
 * Checks the keys, and records those that the database does not know yet. Of two processes that bring
 * different keys with the same new id at once, one is refused.
 * @throws MissingKeys, WrongKeys
 */
export async function claimKeys(em: EntityManager, keys: readonly EncryptionKey[]): Promise<void> {
  const missing = await missingKeys(
    em,
    keys.map(({ id }) => id),
  );
  if (missing.length > 0) throw new MissingKeys(describeMissing(missing));
  let wrong = await wrongKeys(em, keys);
  if (wrong.length === 0) {
    await em.execute(
      `insert into encryption_key_check (key_id, check_value)
       select * from unnest(?::text[], ?::text[]) on conflict do nothing`,
      [arrayLiteral(keys.map(({ id }) => id)), arrayLiteral(keys.map(checkValueOf))],
    );
    wrong = await wrongKeys(em, keys);
  }
  if (wrong.length > 0) throw new WrongKeys(describeWrong(wrong));
}

/** Ids under which the database knows another key. */
export async function wrongKeys(em: EntityManager, keys: readonly EncryptionKey[]): Promise<string[]> {
  const recorded = await checkValues(em);
  const wrong: string[] = [];
  for (const key of keys) {
    const known = recorded[key.id];
    const fits = known === undefined ? await opensOldest(em, key) : known === checkValueOf(key);
    if (!fits) wrong.push(key.id);
  }
  return wrong;
}

/** The recorded check values by key id. */
export async function checkValues(em: EntityManager): Promise<Record<string, string>> {
  const rows = await em.execute<{ key_id: string; check_value: string }[]>(
    `select key_id, check_value from encryption_key_check`,
  );
  return Object.fromEntries(rows.map(({ key_id: id, check_value: value }) => [id, value]));
}

/**
 * For keys from before check values were recorded: whether the key opens the oldest value under its id. The
 * oldest decides because a wrong key may have encrypted values since. True if there is none.
 */
async function opensOldest(em: EntityManager, key: EncryptionKey): Promise<boolean> {
  for (const { table, column, key: primaryKey, age, context } of SEALED) {
    const columns = primaryKey.map((name) => `${name}::text`).join(', ');
    const [row] = await em.execute<Key[]>(
      `select ${columns}, ${column} as sealed from ${table}
        where split_part(${column}, '.', 2) = ? order by ${age} limit 1`,
      [key.id],
    );
    if (row !== undefined)
      return opened(createEncryption([key]), field(row, 'sealed'), context(row)) !== null;
  }
  return true;
}
