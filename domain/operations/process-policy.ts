/**
 * What definitions may run as processes. Workers announce it at their start, because they run them; the API
 * reads it when a definition is saved.
 */
import { isRecord } from '../../contracts/is-record.ts';
import { DEFAULT_POLICY, type ProcessPolicy } from '../../contracts/process-policy.ts';
import type { EntityManager } from '../../db/orm.ts';

/** Workers note the engine's state every minute. */
const ENGINE_SILENT_MS = 180_000;

interface Announced extends ProcessPolicy {
  /** Whether the container engine answered a worker, and when it was asked. */
  engine?: { answers: boolean; at: string };
}

/** Workers that run only scripts, or only containers, announce their part. */
export async function announceProcessPolicy(em: EntityManager, part: Partial<ProcessPolicy>): Promise<void> {
  await em.execute(`update maintenance set process_policy = coalesce(process_policy, ?::jsonb) || ?::jsonb`, [
    JSON.stringify(DEFAULT_POLICY),
    JSON.stringify(part),
  ]);
}

export async function readProcessPolicy(em: EntityManager): Promise<ProcessPolicy> {
  return readAnnounced(em);
}

export async function noteEngine(em: EntityManager, answers: boolean): Promise<void> {
  const engine = { answers, at: new Date().toISOString() };
  await em.execute(
    `update maintenance set process_policy = jsonb_set(process_policy, '{engine}', ?::jsonb)
      where process_policy is not null`,
    [JSON.stringify(engine)],
  );
}

/** Null if this installation runs no containers. */
export async function engineState(em: EntityManager): Promise<'ok' | 'down' | null> {
  const { containers, engine } = await readAnnounced(em);
  if (!containers) return null;
  const isFresh = engine !== undefined && Date.now() - Date.parse(engine.at) < ENGINE_SILENT_MS;
  return isFresh && engine.answers ? 'ok' : 'down';
}

async function readAnnounced(em: EntityManager): Promise<Announced> {
  const [row] = await em.execute<{ policy: Announced | null }[]>(
    'select process_policy as policy from maintenance',
  );
  return isRecord(row?.policy) ? row.policy : DEFAULT_POLICY;
}
