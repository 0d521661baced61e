/**
 * What definitions may run as processes. Workers announce it at their start, because they run them; the API
 * reads it when a definition is saved.
 */
import { isRecord } from '../../contracts/is-record.ts';
import { DEFAULT_POLICY, type ProcessPolicy } from '../../contracts/process-policy.ts';
import type { EntityManager } from '../../db/orm.ts';

export async function announceProcessPolicy(em: EntityManager, policy: ProcessPolicy): Promise<void> {
  await em.execute('update maintenance set process_policy = ?::jsonb', [JSON.stringify(policy)]);
}

export async function readProcessPolicy(em: EntityManager): Promise<ProcessPolicy> {
  const [row] = await em.execute<{ policy: ProcessPolicy | null }[]>(
    'select process_policy as policy from maintenance',
  );
  return isRecord(row?.policy) ? row.policy : DEFAULT_POLICY;
}
