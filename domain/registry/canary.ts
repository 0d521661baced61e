/** Canaries: a version that gets a share of an agent's calls (docs/canaries.md). */
import { createHash } from 'node:crypto';
import { isOneOf } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { invalid } from '../errors.ts';

export interface Canary {
  version: string;
  /** Of the calls that name no version. */
  percent: number;
}

export interface CanaryRow extends Canary {
  since: Date | string;
  /** Of the version, which takes calls only while it is published; null if it is gone. */
  status: 'draft' | 'published' | 'deprecated' | null;
}

/** Always the same for a run and an agent. */
export function isInShare(runId: string, agentId: string, percent: number): boolean {
  const digest = createHash('sha256').update(`${runId} ${agentId}`).digest();
  return (digest.readUInt32BE(0) / 2 ** 32) * 100 < percent;
}

export async function readCanary(em: EntityManager, agentId: string): Promise<CanaryRow | null> {
  const [row] = await em.execute<CanaryRow[]>(
    `select k.version, k.percent::float8 as percent, k.since,
            (select v.status from agent_version v
              where v.agent_id = k.agent_id and v.version = k.version) as status
       from agent_canary k where k.agent_id = ?`,
    [agentId],
  );
  return row ?? null;
}

/** The agent's row is locked. @throws 422 for a version that does not exist or is deprecated */
export async function setCanary(
  em: EntityManager,
  agentId: string,
  { version, percent }: Canary,
): Promise<CanaryRow> {
  const [found] = await em.execute<{ status: 'draft' | 'published' | 'deprecated' }[]>(
    `select status from agent_version where agent_id = ? and version = ?`,
    [agentId, version],
  );
  if (found?.status !== 'draft' && found?.status !== 'published') {
    const message = `Version ${version} ${found ? 'is deprecated' : 'does not exist'}.`;
    throw invalid([{ pointer: '/version', code: 'unknown_version', message }], message);
  }
  const [row] = await em.execute<Omit<CanaryRow, 'status'>[]>(
    `insert into agent_canary (agent_id, version, percent) values (?, ?, ?)
     on conflict (agent_id) do update
       set version = excluded.version, percent = excluded.percent, since = clock_timestamp()
     returning version, percent::float8 as percent, since`,
    [agentId, version, percent],
  );
  if (!row) throw new Error('no canary');
  return { ...row, status: found.status };
}

export async function removeCanary(em: EntityManager, agentId: string): Promise<void> {
  await em.execute(`delete from agent_canary where agent_id = ?`, [agentId]);
}

export interface VersionCalls {
  version: string;
  calls: number;
  faults: number;
  latency_p50_ms: number | null;
  latency_p95_ms: number | null;
  /** Null: unknown. */
  cost_usd: number | null;
  input_tokens: number;
  output_tokens: number;
}

/** The latest calls that the figures are of. */
const MAX_COUNTED_CALLS = 10_000;

/** Of the latest calls in these hours, by version. */
export async function versionCalls(
  em: EntityManager,
  agentId: string,
  hours: number,
): Promise<VersionCalls[]> {
  return em.execute(
    `with calls as (
       select t.agent_version as version, t.run_id, t.reference, t.status,
              extract(epoch from t.finished_at - t.started_at) * 1000 as ms
         from run_task t
        where t.agent_id = ? and t.started_at > clock_timestamp() - ? * interval '1 hour'
        order by t.started_at desc limit ${MAX_COUNTED_CALLS}),
     used as (
       select u.agent_version as version, sum(u.input_tokens) as input_tokens,
              sum(u.output_tokens) as output_tokens, sum(u.cost_usd) as cost_usd,
              bool_or(u.cost_usd is null) as unpriced
         from (select * from usage_record u
                where u.agent_id = ? and u.at > clock_timestamp() - ? * interval '1 hour'
                order by u.at desc limit ${MAX_COUNTED_CALLS}) u group by 1)
     select c.version, count(*)::int as calls,
            count(*) filter (where ${isOneOf('c.status', ['faulted'])})::int as faults,
            percentile_disc(0.5) within group (order by c.ms)
              filter (where ${isOneOf('c.status', ['completed'])})::float8 as latency_p50_ms,
            percentile_disc(0.95) within group (order by c.ms)
              filter (where ${isOneOf('c.status', ['completed'])})::float8 as latency_p95_ms,
            case when bool_or(used.unpriced) then null
                 else coalesce(max(used.cost_usd), 0) end::float8 as cost_usd,
            coalesce(max(used.input_tokens), 0)::float8 as input_tokens,
            coalesce(max(used.output_tokens), 0)::float8 as output_tokens
       from calls c left join used on used.version = c.version
      where c.version is not null group by c.version order by c.version`,
    [agentId, hours, agentId, hours],
  );
}
