/**
 * Identifies the run whose step made an API request, by the idempotency key of its invocation. The key counts
 * only if that invocation is on record. Someone who learnt another run's key could only exclude more people
 * from deciding on their own run.
 */
import { fromHeader, parseInvocationKey } from '../../contracts/invocation-key.ts';
import type { EntityManager } from '../../db/orm.ts';

/** By the value in an A2A message's metadata, which may be of any type. */
export async function callingRunOf(em: EntityManager, value: unknown): Promise<string | null> {
  return typeof value === 'string' ? find(em, { key: value, cut: false }) : null;
}

/**
 * By the header `Idempotency-Key`, as `call: http` and agents of kind `api` send it; empty without a header.
 */
export async function callingRunByHeader(em: EntityManager, header: string): Promise<string | null> {
  const given = fromHeader(header);
  return given === null ? null : find(em, given);
}

async function find(em: EntityManager, { key, cut }: { key: string; cut: boolean }): Promise<string | null> {
  const runId = parseInvocationKey(key);
  if (runId === null) return null;
  const rows = await em.execute(
    `select from invocation where run_id = ? and ${cut ? 'starts_with(key, ?)' : 'key = ?'} limit 1`,
    [runId, key],
  );
  return rows.length > 0 ? runId : null;
}
