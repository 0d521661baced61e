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
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';

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
      where run_id = ? and key = ?`,
    [LEASE_MS, runId, key],
  );
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

/** A call that waits for its turn has not begun: its claim goes. */
export async function unclaim(em: EntityManager, { runId, key }: Turn): Promise<void> {
  await em.execute('delete from invocation where run_id = ? and key = ? and finished_at is null', [
    runId,
    key,
  ]);
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
