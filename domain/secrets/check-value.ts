/** What tells two encryption keys with the same id apart. */
import { hkdfSync } from 'node:crypto';
import type { EncryptionKey } from '../../config/env-types.ts';

/** Derived from the key for this use only; it says nothing about the key or what it encrypts. */
export function checkValueOf({ id, key }: EncryptionKey): string {
  return Buffer.from(hkdfSync('sha256', key, id, 'cadenza key check', 32)).toString('base64url');
}

/** @param source Where the wrong keys come from */
export function describeWrong(ids: readonly string[], source = 'ENCRYPTION_KEYS'): string {
  const named = ids.map((id) => `"${id}"`).join(' and ');
  const [keys, under, those] =
    ids.length === 1 ? ['another key', 'the id', 'the one'] : ['other keys', 'the ids', 'those'];
  return (
    `${source} has ${keys} under ${under} ${named} than ${those} with which this database is encrypted. ` +
    `Put ${those} of the database back. Keys are kept in ENCRYPTION_KEYS (a variable, or a line of .env); ` +
    'without it npm start keeps them in DATA_DIR/encryption-keys; a backup --with-keys has them in its ' +
    'file encryption-keys. A new key needs an id of its own: see "Rotate the encryption keys" in ' +
    'docs/operations.md.'
  );
}
