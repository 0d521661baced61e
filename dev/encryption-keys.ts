/**
 * The encryption keys of `npm start`: those of ENCRYPTION_KEYS, or else of a file in the data folder. They
 * are generated only for a database that needs none yet: with new keys nothing encrypted could be read.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { parseEnv, type Env, type EnvSource } from '../config/env.ts';
import { databaseFailure } from '../db/database-failure.ts';
import { checkValueOf, describeWrong } from '../domain/secrets/check-value.ts';
import { generateEncryptionKeys, keptSecret, KEYS_FILE } from './data-dir.ts';

/**
 * @returns the setting, if it is not in the environment
 * @throws Error if the database cannot be read, or is encrypted with other keys
 */
export async function encryptionKeysFor(env: Env, dataDir: string, databaseUrl: string): Promise<EnvSource> {
  const path = join(dataDir, KEYS_FILE);
  const isGiven = env.ENCRYPTION_KEYS.length > 0;
  const hasFile = existsSync(path) && readFileSync(path, 'utf8').trim() !== '';
  const { used, checks } = await readKeyRecords(databaseUrl).catch((error: unknown) => {
    throw new Error(databaseFailure('read', databaseUrl, error), { cause: error });
  });
  if (!isGiven && !hasFile && used.length > 0)
    throw new Error(
      `the database has data that is encrypted with ${used.map((id) => `"${id}"`).join(' and ')}, and ` +
        `there are no keys: ENCRYPTION_KEYS is not set, and ${path} does not exist. Put the keys of this ` +
        'database into that file, or set ENCRYPTION_KEYS to them (k1:…, as they were). A backup ' +
        '--with-keys has them in its file encryption-keys. Nothing was changed.',
    );
  const given = isGiven ? {} : { ENCRYPTION_KEYS: keptSecret(dataDir, KEYS_FILE, generateEncryptionKeys) };
  const keys = isGiven ? env.ENCRYPTION_KEYS : parsedFile(given.ENCRYPTION_KEYS ?? '', path);
  const wrong = keys.filter((key) => checks.has(key.id) && checks.get(key.id) !== checkValueOf(key));
  if (wrong.length > 0)
    throw new Error(
      describeWrong(
        wrong.map(({ id }) => id),
        isGiven ? 'ENCRYPTION_KEYS' : path,
      ),
    );
  return given;
}

function parsedFile(text: string, path: string): Env['ENCRYPTION_KEYS'] {
  const parsed = parseEnv({ ENCRYPTION_KEYS: text });
  if ('env' in parsed) return parsed.env.ENCRYPTION_KEYS;
  throw new Error(`${path} has no encryption keys: ${parsed.problems[0]?.message ?? ''}`);
}

interface KeyRecords {
  /** Ids of the keys that encrypted something. */
  used: string[];
  checks: Map<string, string>;
}

/** The schema may be of any release, or not be there yet. */
async function readKeyRecords(url: string): Promise<KeyRecords> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: columns } = await client.query<{ table: string; column: string }>(
      `select table_name as table, column_name as column from information_schema.columns
        where table_schema = current_schema()
          and (column_name like '%\\_encrypted' or (table_name, column_name) in
               (('temporal_payload', 'key_id'), ('encryption_key', 'id'),
                ('encryption_key_check', 'check_value')))`,
    );
    const hasChecks = columns.some(({ table }) => table === 'encryption_key_check');
    const uses = columns
      .filter(({ table }) => table !== 'encryption_key_check')
      .map(({ table, column }) => {
        const id = column.endsWith('_encrypted') ? `split_part(${column}, '.', 2)` : column;
        const filter = table === 'encryption_key' ? 'where runs_moved_at is null' : '';
        return `select ${id} as id from ${table} ${filter}`;
      });
    const used = uses.length === 0 ? [] : await ids(client, uses);
    const { rows: checks } = hasChecks
      ? await client.query<{ key_id: string; check_value: string }>('select * from encryption_key_check')
      : { rows: [] };
    return { used, checks: new Map(checks.map((row) => [row.key_id, row.check_value])) };
  } finally {
    await client.end();
  }
}

async function ids(client: pg.Client, uses: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select distinct id from (${uses.join(' union all ')}) used where id is not null order by id`,
  );
  return rows.map(({ id }) => id);
}
