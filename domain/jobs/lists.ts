/** Jobs of an agent, and the state of its queues, for those who may change the agent. */
import { agentKind } from '../../contracts/agent-configuration.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Conditions, isOneOf, type KeysetPage } from '../../db/sql.ts';
import { conflict } from '../errors.ts';
import { JOB_COLUMNS, JOB_OUTCOMES, type JobOutcome, type JobRow, type JobStatus } from './job.ts';

export interface JobFilter {
  status?: JobStatus | undefined;
  queue?: string | undefined;
  run_id?: string | undefined;
}

function isOutcome(status: JobStatus): status is JobOutcome {
  return (JOB_OUTCOMES as readonly string[]).includes(status);
}

/** Newest first. */
export function listJobs(
  em: EntityManager,
  agentId: string,
  { status, queue, run_id: runId }: JobFilter,
  { after, limit }: KeysetPage,
): Promise<JobRow[]> {
  const conditions = new Conditions().add('agent_id = ?', agentId).add(`kind = 'worker'`);
  if (after !== undefined) conditions.add('id < ?', after);
  if (queue !== undefined) conditions.add('queue = ?', queue);
  if (runId !== undefined) conditions.add('run_id = ?', runId);
  if (status !== undefined && isOutcome(status)) conditions.add(isOneOf('outcome', [status]));
  else if (status !== undefined)
    conditions.add(`finished_at is null and holder is ${status === 'leased' ? 'not ' : ''}null`);
  return em.execute(`select ${JOB_COLUMNS} from job where ${conditions.sql} order by id desc limit ?`, [
    ...conditions.values,
    limit,
  ]);
}

export interface QueueState {
  /** Each at most `MAX_COUNTED`. */
  waiting: number;
  leased: number;
  oldest_waiting_at: Date | string | null;
  workers: { worker: string; token_id: string | null; seen_at: Date | string; leased: number }[];
}

export const MAX_COUNTED = 1_000;
const MAX_WORKERS = 50;
const SEEN_SECONDS = 180;

/** Reads a bounded number of rows. */
export async function queueState(em: EntityManager, agentId: string): Promise<QueueState> {
  const open = `agent_id = ? and kind = 'worker' and finished_at is null`;
  const [row] = await em.execute<Omit<QueueState, 'workers'>[]>(
    `select
       (select count(*)::int from (
          select from job where ${open} and holder is null limit ${MAX_COUNTED}) w) as waiting,
       (select count(*)::int from (
          select from job where ${open} and holder is not null limit ${MAX_COUNTED}) l) as leased,
       (select created_at from job
         where ${open} and holder is null order by id limit 1) as oldest_waiting_at`,
    [agentId, agentId, agentId],
  );
  const workers = await em.execute<QueueState['workers']>(
    `select s.worker, s.seen_at,
            case when s.holder like 'token:%' then split_part(s.holder, ':', 2) end as token_id,
            (select count(*)::int from (
               select from job j
                where j.agent_id = s.agent_id and j.finished_at is null and j.kind = 'worker'
                  and j.holder = s.holder and j.worker = s.worker limit ${MAX_COUNTED}) l) as leased
       from worker_seen s
      where s.agent_id = ? and s.seen_at > clock_timestamp() - interval '${SEEN_SECONDS} seconds'
      order by s.seen_at desc, s.worker limit ${MAX_WORKERS}`,
    [agentId],
  );
  return { waiting: 0, leased: 0, oldest_waiting_at: null, ...row, workers };
}

/** Jobs that wait are still handed out when their agent has become one of another kind. @throws 409 */
export async function checkHasJobs(em: EntityManager, agentId: string): Promise<void> {
  const open = `j.agent_id = a.id and j.kind = 'worker' and j.finished_at is null`;
  const [agent] = await em.execute<(Parameters<typeof agentKind>[0] & { has_jobs: boolean })[]>(
    `select a.type, a.execution_type, a.configuration,
            exists (select from job j where ${open} and j.holder is null)
              or exists (select from job j where ${open} and j.holder is not null) as has_jobs
       from agent a where a.id = ?`,
    [agentId],
  );
  if (agent === undefined || agent.has_jobs || agentKind(agent) === 'edge') return;
  const detail = `Only agents of kind edge have jobs for workers; this one is of kind ${agentKind(agent)}.`;
  throw conflict('no_jobs', detail);
}
