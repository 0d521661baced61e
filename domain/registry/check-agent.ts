/** Tries the counterpart of an agent, and keeps the result on its record. */
import { agentKind } from '../../contracts/agent-configuration.ts';
import { cutTo } from '../../contracts/cut-text.ts';
import { Fault } from '../../contracts/fault.ts';
import { agentRefusals } from '../../contracts/process-policy.ts';
import type { LastCheck } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import { usableBy } from '../auth/ownership.ts';
import { AppError } from '../errors.ts';
import { readProcessPolicy } from '../operations/process-policy.ts';
import { TemporalUnavailable, type AgentSources, type PinnedAgent, type TemporalGateway } from '../ports.ts';
import { readRunnable } from '../runs/runnable.ts';
import { failedCheck } from './failed-check.ts';
import { pinAgent } from './pin.ts';

/** Between two checks of an agent. */
const PAUSE_SECONDS = 5;
const TIMEOUT_MS = 15_000;
const MAX_DETAIL = 1_000;

export interface CheckDeps {
  fork: () => EntityManager;
  sources: AgentSources;
  temporal: Pick<TemporalGateway, 'checkContainer'>;
  /** Of the agent's owner. */
  secret: (ownerId: string, name: string) => Promise<string | null>;
}

/** @throws 429 if the agent was checked less than `PAUSE_SECONDS` ago */
export async function checkAgent(
  deps: CheckDeps,
  agent: { id: string; holder_id: string },
): Promise<LastCheck> {
  // Noted before the request, so that parallel checks are refused, too.
  const [begun] = await deps.fork().execute<object[]>(
    `update agent set last_check = json_build_object('status', 'failed', 'error', 'interrupted',
            'detail', 'The check was interrupted.', 'latency_ms', null, 'checked_at', ?::text)
      where id = ? and (last_check is null or (last_check ->> 'checked_at')::timestamptz
                          < clock_timestamp() - make_interval(secs => ${PAUSE_SECONDS}))
      returning 1`,
    [new Date().toISOString(), agent.id],
  );
  if (begun === undefined)
    throw new AppError(
      'too_many_requests',
      'checked_just_now',
      `The agent was checked less than ${PAUSE_SECONDS} seconds ago.`,
      {
        headers: { 'Retry-After': String(PAUSE_SECONDS) },
      },
    );
  const startedAt = performance.now();
  const outcome = await tryAgent(deps, agent);
  const result: LastCheck = {
    ...outcome,
    detail: cutTo(outcome.detail, MAX_DETAIL),
    latency_ms: Math.round(performance.now() - startedAt),
    checked_at: new Date().toISOString(),
  };
  await deps
    .fork()
    .execute('update agent set last_check = ?::json where id = ?', [JSON.stringify(result), agent.id]);
  return result;
}

type Outcome = Pick<LastCheck, 'status' | 'detail' | 'error'>;

async function tryAgent(deps: CheckDeps, agent: { id: string; holder_id: string }): Promise<Outcome> {
  const found = await pinAgent(deps.fork(), agent.holder_id, { agent: agent.id });
  if (!found.found) return { status: 'failed', error: 'configuration', detail: found.message };
  const { pinned } = found;
  const kind = agentKind(pinned);
  try {
    if (kind === 'docker') return await checkContainer(deps, pinned, agent.holder_id);
    if (kind === 'workflow') return await checkWorkflow(deps, pinned);
    if (kind === 'edge') return await checkWorkers(deps, pinned);
    const detail = await deps.sources.check({
      kind,
      agent: pinned,
      secret: (name) => deps.secret(pinned.owner_id, name),
      timeoutMs: TIMEOUT_MS,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: 'ok', error: null, detail };
  } catch (error) {
    if (error instanceof Fault) return failedCheck(error);
    if (error instanceof DOMException)
      return { status: 'failed', error: 'timeout', detail: `No answer within ${TIMEOUT_MS / 1_000} s.` };
    throw error;
  }
}

/** Only workers reach the container engine; what they have said that may not run is not asked of them. */
async function checkContainer(
  { fork, temporal }: CheckDeps,
  { id, configuration }: PinnedAgent,
  holderId: string,
): Promise<Outcome> {
  const [refused] = agentRefusals(configuration, await readProcessPolicy(fork()));
  if (refused) {
    const detail = `${refused.message.charAt(0).toUpperCase()}${refused.message.slice(1)}.`;
    return { status: 'failed', error: 'configuration', detail };
  }
  try {
    const checked = await temporal.checkContainer({ agent_id: id, holder_id: holderId }, TIMEOUT_MS);
    if (checked !== null) return checked;
    const detail =
      `No worker with the container engine has answered within ${TIMEOUT_MS / 1_000} s: ` +
      'either none runs, or all are busy.';
    return { status: 'failed', error: 'timeout', detail };
  } catch (error) {
    if (!(error instanceof TemporalUnavailable)) throw error;
    return {
      status: 'failed',
      error: 'communication',
      detail: 'Temporal, which workers listen to, is away.',
    };
  }
}

async function checkWorkflow(
  { fork }: CheckDeps,
  { configuration, owner_id }: PinnedAgent,
): Promise<Outcome> {
  const { workflow_id: id, revision } = configuration;
  const [row] = await fork().execute<{ id: string }[]>(
    `select id from workflow
      where id::text = ? and archived_at is null and ${usableBy('workflow')}`,
    [typeof id === 'string' ? id : '', owner_id],
  );
  if (!row) return { status: 'failed', error: 'configuration', detail: 'There is no such workflow.' };
  const { name } = await readRunnable(fork(), {
    id: row.id,
    revision: typeof revision === 'number' ? revision : null,
  });
  return { status: 'ok', error: null, detail: `The workflow ${name} can run.` };
}

/** Workers come to us, so the check is whether one has come lately. */
async function checkWorkers({ fork }: CheckDeps, { id }: PinnedAgent): Promise<Outcome> {
  const [row] = await fork().execute<{ workers: number }[]>(
    `select count(*)::int as workers from worker_seen
      where agent_id = ? and seen_at > clock_timestamp() - interval '2 minutes'`,
    [id],
  );
  const workers = row?.workers ?? 0;
  return workers > 0
    ? { status: 'ok', error: null, detail: `${workers} workers have asked for jobs in the last 2 minutes.` }
    : {
        status: 'failed',
        error: 'communication',
        detail: 'No worker has asked for jobs in the last 2 minutes.',
      };
}
