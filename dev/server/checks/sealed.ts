/** Checks that what the database has encrypted can be read. */
import type { Env } from '../../../config/env.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { SAMPLE, trySealed } from '../../../domain/secrets/sealed-sample.ts';
import { createResealer } from '../../../temporal/payload-codec.ts';
import { error, ok, type Finding } from './finding.ts';

const CHECK = 'encrypted values';

export async function sealedFinding(em: EntityManager, { ENCRYPTION_KEYS: keys }: Env): Promise<Finding> {
  // The check of the keys says so.
  if (keys.length === 0) return ok(CHECK, 'cannot be tried without a key');
  const samples = await trySealed({ em, keys, reseal: createResealer(keys) });
  const bad = samples.filter(({ unopened }) => unopened.length > 0);
  if (bad.length === 0) return ok(CHECK, `the newest ${SAMPLE} of each column can be read`);
  const named = bad.map(
    ({ table, column, tried, unopened }) =>
      `${table}.${column} (${unopened.length} of the newest ${tried}, such as ${unopened[0] ?? ''})`,
  );
  return error(
    CHECK,
    `no key of ENCRYPTION_KEYS opens values of ${named.join(', ')}. Another key had the id of the right ` +
      'one when they were encrypted, or their rows were copied. Set these values again, or restore them.',
  );
}
