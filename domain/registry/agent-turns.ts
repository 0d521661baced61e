/**
 * Limits of an agent's calls, across workers (docs/agents.md#limits): whose turn it is, and the circuit
 * breaker. The SQL functions `take_turn` and `end_turn` decide under the lock of the agent's gate.
 */
import {
  BREAKER_OPEN_S,
  BREAKER_WITHIN_S,
  PER_SECONDS,
  type AgentLimits,
  type CircuitState,
} from '../../contracts/agent-limits.ts';
import { standardErrorName, type DslError } from '../../contracts/dsl-error.ts';
import { TERMINAL_STATUSES } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { isNoneOf } from '../../db/sql.ts';

/** A call that nobody renews for so long has lost its turn: its worker is gone. */
export const LEASE_MS = 30_000;

export interface Turn {
  runId: string;
  key: string;
  agentId: string;
  limits: AgentLimits;
}

export type TurnState =
  | { state: 'calling' }
  | { state: 'waiting'; ahead: number; wait_ms: number }
  | { state: 'open'; since: string; failures: number; trial_at: string };

const TAKE = new Prepared(
  `select take_turn(?::uuid, ?, ?::uuid, ?::int, ?::float8, ?::int, ?::boolean,
                    ? * interval '1 millisecond') as turn`,
);

export async function takeTurn(em: EntityManager, { runId, key, agentId, limits }: Turn): Promise<TurnState> {
  const { concurrency = null, rate, breaker } = limits;
  const interval = rate ? (PER_SECONDS[rate.per] * 1_000) / rate.calls : null;
  const [row] = await TAKE.execute<{ turn: TurnState }>(em, [
    runId,
    key,
    agentId,
    concurrency,
    interval,
    rate?.calls ?? null,
    breaker !== undefined,
    LEASE_MS,
  ]);
  if (!row) throw new Error('no turn');
  return row.turn;
}

export async function renewTurn(em: EntityManager, { runId, key }: Turn): Promise<void> {
  await em.execute(
    `update agent_turn set expires_at = clock_timestamp() + ? * interval '1 millisecond'
      where run_id = ? and key = ? and held_by is null`,
    [LEASE_MS, runId, key],
  );
}

/** How long a call that is a run keeps its turn until that run has taken it over. */
const UNTIL_RUN_SECONDS = 60;

/**
 * The call is a run: its turn waits for `handTurnOver`, or is that of its own run. The end of the run `runId`
 * gives it back, so if that has come first, the turn ends with its lease.
 */
export async function holdForRun(em: EntityManager, { runId, key }: Turn, isOwn: boolean): Promise<void> {
  await em.execute(
    `with live as (
       select id from run where id = ? and ${isNoneOf('status', TERMINAL_STATUSES)} for share)
     update agent_turn
        set held_by = 'run',
            expires_at = ${isOwn ? `'infinity'` : `clock_timestamp() + interval '${UNTIL_RUN_SECONDS} s'`}
       from live where run_id = live.id and key = ?`,
    [runId, key],
  );
}

/** The new run has the turn of the call that it is, until it ends. In the transaction that creates it. */
export async function handTurnOver(
  em: EntityManager,
  { run_id: runId, child_run_id: childRunId, agent_id: agentId }: HandedOver,
): Promise<void> {
  // Turns of one agent and run are worth the same.
  await em.execute(
    `with given as (
       delete from agent_turn t using (
         select run_id, key from agent_turn
          where run_id = ? and agent_id = ? and held_by = 'run' and expires_at < 'infinity'
          order by number limit 1) mine
        where t.run_id = mine.run_id and t.key = mine.key)
     insert into agent_turn (run_id, key, agent_id, state, held_by, expires_at)
     select ?::uuid, 'run', a.id, 'calling', 'run', 'infinity' from agent a
      where a.id = ? and a.limits is not null
     on conflict do nothing`,
    [runId, agentId, childRunId, agentId],
  );
}

interface HandedOver {
  run_id: string;
  child_run_id: string;
  agent_id: string;
}

/** Whether an error says that the agent does not work, as opposed to its refusing this call. */
export function isAgentFailure({ type, status }: Pick<DslError, 'type' | 'status'>): boolean {
  const name = standardErrorName(type);
  if (name === 'timeout') return true;
  return name === 'communication' && (status >= 500 || status === 429 || status === 408);
}

/**
 * Ends a call whose turn something outside held, as `endTurn`. In the transaction that stores the outcome.
 * @returns the agent's name with the state; null if the circuit has not changed
 */
export async function endHeldTurn(
  em: EntityManager,
  { runId, key }: Pick<Turn, 'runId' | 'key'>,
  failed: boolean | null,
): Promise<{ agent: string; agentId: string; circuit: CircuitState } | null> {
  const [held] = await em.execute<{ id: string; name: string; limits: AgentLimits | null }[]>(
    `select a.id, a.name, a.limits from agent_turn t join agent a on a.id = t.agent_id
      where t.run_id = ? and t.key = ?`,
    [runId, key],
  );
  if (!held) return null;
  const { id: agentId, name: agent, limits } = held;
  const circuit = await endTurn(em, { runId, key, agentId, limits: limits ?? {} }, failed);
  return circuit === null ? null : { agent, agentId, circuit };
}

/** A run has ended that was a call of these agents: how counts for their circuit breakers. */
export async function countEndedCalls(
  em: EntityManager,
  runId: string,
  agentIds: readonly string[],
  failed: boolean | null,
): Promise<void> {
  if (failed === null) return;
  for (const agentId of agentIds) {
    const [agent] = await em.execute<{ limits: AgentLimits | null }[]>(
      'select limits from agent where id = ?',
      [agentId],
    );
    if (agent?.limits?.breaker)
      await endTurn(em, { runId, key: 'run', agentId, limits: agent.limits }, failed);
  }
}

/**
 * @param failed null: how the call ended says nothing of the agent
 * @returns the state to which the circuit has changed; null if it has not
 */
export async function endTurn(
  em: EntityManager,
  { runId, key, agentId, limits: { breaker } }: Turn,
  failed: boolean | null,
): Promise<CircuitState | null> {
  const [row] = await em.execute<{ circuit: CircuitState | null }[]>(
    `select end_turn(?::uuid, ?, ?::uuid, ?::boolean, ?::int, ? * interval '1 second',
                     ? * interval '1 second') as circuit`,
    [
      runId,
      key,
      agentId,
      failed,
      breaker?.failures ?? null,
      breaker?.within ?? BREAKER_WITHIN_S,
      breaker?.open_for ?? BREAKER_OPEN_S,
    ],
  );
  return row?.circuit ?? null;
}

/**
 * A call that waits for its turn has not begun: its claim goes, unless another attempt has claimed the key
 * since, which may have made the call.
 */
export async function unclaim(
  em: EntityManager,
  { runId, key, claim }: Pick<Turn, 'runId' | 'key'> & { claim: number },
): Promise<void> {
  await em.execute(
    `delete from invocation
      where run_id = ? and key = ? and claims = ? and finished_at is null and progress is null`,
    [runId, key, claim],
  );
}

export interface Circuit {
  state: CircuitState;
  since: Date;
  /** Since the last success. */
  failures: number;
  /** When an open circuit admits a call as a trial. */
  trial_at: Date | null;
}

/** Null: no call of the agent has been limited yet. */
export async function readCircuit(em: EntityManager, agentId: string): Promise<Circuit | null> {
  const [row] = await em.execute<Circuit[]>(
    `select circuit as state, circuit_since as since, failures, trial_at from agent_gate where agent_id = ?`,
    [agentId],
  );
  return row ?? null;
}

export async function closeCircuit(em: EntityManager, agentId: string): Promise<void> {
  await em.execute(
    `update agent_gate
        set circuit = 'closed', failures = 0, failing_since = null, trial_at = null,
            circuit_since = case when circuit = 'closed' then circuit_since else clock_timestamp() end
      where agent_id = ?`,
    [agentId],
  );
}
