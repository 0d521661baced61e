/** The table `invocation`: calls to counterparts by idempotency key, with their results. */
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import { parseInvocationKey } from '../../contracts/invocation-key.ts';
import type { InvocationRef, Invoked } from '../../contracts/activities.ts';
import type { AgentLimits } from '../../contracts/agent-limits.ts';
import type { DslError } from '../../contracts/dsl-error.ts';
import { BROKEN_TASK_STATUSES, TERMINAL_STATUSES, type EventBatch } from '../../contracts/run-events.ts';
import type { LoggedBytes, PinnedAgent } from '../ports.ts';
import { SETTLE, settleValues, spentBy, type Spent } from '../spending/budgets.ts';
import { storableJson } from '../storable.ts';
import type { TreeCount } from './limits.ts';
import { APPEND_ARGUMENTS, appendArguments } from './events.ts';

/** How a call ended, until it is stored beside the call's key. */
export interface CallOutcome {
  key: string;
  ended: { result: Invoked } | { error: DslError };
  /** No other outcome of the same key may be stored: the run has gone on with this one. */
  required: boolean;
  /** It is stored if the key was not claimed again since. */
  claim: number;
}

/**
 * Where an attempt stands among those of its call, by the clock of Temporal's server: when its activity was
 * scheduled, and which attempt of it it is. Of a short call, when its workflow task was started; it comes
 * before an ordinary one (-1), also if the task was replayed before (0).
 */
export interface AttemptOrder {
  scheduledMs: number;
  attempt: number;
}

export interface Begun {
  closed: boolean;
  /** Another outcome is stored of an earlier call; nothing was done. */
  conflict: boolean;
  /** This is a repeat, and the call that was begun before had another input. */
  other_input: boolean;
  signals: string[];
  /** How often the key has been claimed, now included. */
  claim: number;
  /** A later attempt has the claim, and its outcome is not known yet: this one must not call. */
  overtaken: boolean;
  /** As in `AppendResult`. */
  tree?: TreeCount | null;
  /** An earlier attempt has begun it: this is a repeat after a worker was lost. */
  claimed_before: boolean;
  result: Invoked | null;
  error: DslError | null;
  /**
   * The pinned agent; null if it is not pinned yet. `agent_status` is its current status; `invisible` if the
   * run's owner may not see it any more.
   */
  snapshot: PinnedAgent | null;
  agent_status: string | null;
  /** Of the pinned agent. */
  agent_limits: AgentLimits | null;
  /** Whether a budget bears the call. */
  budgeted: boolean;
  prices_version: number | null;
}

interface BegunRow extends Omit<Begun, 'signals' | 'agent_status' | 'agent_limits' | 'conflict'> {
  conflict?: boolean;
  signalled?: boolean;
  /** The pinned agent as it is now. */
  agent: { status: string; visible: boolean; limits: AgentLimits | null } | null;
}

const BEGIN = new Prepared(
  `select begin_invocation(
     ${APPEND_ARGUMENTS}, ?::text, ?::text, ?::text, ?::int, ?::text, ?::json, ?::bigint, ?::int, true
   ) as result`,
);

/**
 * Stores the outcomes of earlier calls, appends the batch, claims the key and reads the pin, all in one
 * statement (SQL function `begin_invocation`). The caller tells the readers of the log.
 * `digest`: of the call's input, in hexadecimal.
 */
export async function beginInvocation(
  em: EntityManager,
  runId: string,
  batch: EventBatch,
  invocation: InvocationRef & { key: string; pin: string | null; digest: string; order: AttemptOrder },
  outcomes: readonly CallOutcome[],
): Promise<Begun> {
  const { values, parentSignal } = appendArguments(runId, batch);
  const { key, pin, task, visit, digest, order } = invocation;
  const more = [key, pin, task, visit, digest, outcomeRows(outcomes), order.scheduledMs, order.attempt];
  const [row] = await BEGIN.execute<{ result: BegunRow }>(em, [...values, ...more]);
  if (!row || row.result.closed || row.result.conflict) {
    return {
      closed: row?.result.closed ?? true,
      conflict: row?.result.conflict ?? false,
      other_input: false,
      signals: [],
      claim: 0,
      overtaken: false,
      claimed_before: false,
      result: null,
      error: null,
      snapshot: null,
      agent_status: null,
      agent_limits: null,
      budgeted: false,
      prices_version: null,
    };
  }
  const { signalled, agent, ...begun } = row.result;
  return {
    ...begun,
    conflict: false,
    signals: signalled && parentSignal !== null ? [parentSignal] : [],
    agent_status: agent && (agent.visible ? agent.status : 'invisible'),
    agent_limits: agent?.limits ?? null,
  };
}

/** Whether no other attempt has claimed the key after `claim`, and there is no outcome yet. */
export async function holdsClaim(
  em: EntityManager,
  runId: string,
  key: string,
  claim: number,
): Promise<boolean> {
  const rows = await em.execute<object[]>(
    'select from invocation where run_id = ? and key = ? and claims = ? and finished_at is null',
    [runId, key, claim],
  );
  return rows.length > 0;
}

/** Outcomes for `keep_outcomes`; null if there are none. */
export function outcomeRows(outcomes: readonly CallOutcome[]): string | null {
  if (outcomes.length === 0) return null;
  return storableJson(
    outcomes.map(({ key, ended, required, claim }) => {
      const { agent_id = null, agent_version = null } = 'result' in ended ? ended.result : {};
      return { key, ...ended, agent_id, agent_version, required, claim };
    }),
  );
}

/**
 * Stores outcomes for a repeat after a worker is lost. With `durable: false` the commit does not wait for the
 * disk. @returns false if a required one differs from the stored one
 */
export async function keepOutcomes(
  em: EntityManager,
  runId: string,
  outcomes: readonly CallOutcome[],
  { durable }: { durable: boolean },
): Promise<boolean> {
  const statement = durable ? KEEP_ON_DISK : KEEP;
  const [row] = await statement.execute<{ kept: boolean }>(em, [runId, outcomeRows(outcomes)]);
  return row?.kept ?? true;
}

const KEEP_ON_DISK = new Prepared('select keep_outcomes(?::uuid, ?::json) as kept');
const KEEP = new Prepared(
  `select keep_outcomes(?::uuid, ?::json) as kept
     from (select set_config('synchronous_commit', 'off', true) is not null) as commits (so)
    where commits.so`,
);

/** The progress that an earlier attempt has stored for its repeat; null if none. */
export async function progressOf(em: EntityManager, runId: string, key: string): Promise<unknown> {
  const [row] = await em.execute<{ progress: unknown }[]>(
    `select progress from invocation where run_id = ? and key = ?`,
    [runId, key],
  );
  return row?.progress ?? null;
}

/** Adds to what was kept before. */
export async function keepProgress(
  em: EntityManager,
  runId: string,
  key: string,
  progress: Record<string, unknown>,
): Promise<void> {
  await em.execute(
    `update invocation set progress = (coalesce(progress::jsonb, '{}') || ?::jsonb)::json
      where run_id = ? and key = ?`,
    [storableJson(progress), runId, key],
  );
}

/**
 * Notes that the run's log has the output of a process up to `to`, if it had it up to `from`. @returns false
 * if another attempt has logged meanwhile. In the transaction that adds the entries.
 */
export async function moveLogged(
  em: EntityManager,
  runId: string,
  key: string,
  from: LoggedBytes,
  to: LoggedBytes,
): Promise<boolean> {
  const rows = await em.execute<object[]>(
    `update invocation
        set progress = (coalesce(progress::jsonb, '{}') || jsonb_build_object('logged', ?::jsonb))::json
      where run_id = ? and key = ? and finished_at is null
        and coalesce(progress::jsonb -> 'logged', ?::jsonb) = ?::jsonb
     returning key`,
    [
      JSON.stringify(to),
      runId,
      key,
      JSON.stringify({ stdout: 0, stderr: 0, cut: false }),
      JSON.stringify(from),
    ],
  );
  return rows.length > 0;
}

/** Whether the run has ended, so that nothing waits for its calls any more. */
export async function isOver(em: EntityManager, runId: string): Promise<boolean> {
  const rows = await em.execute(`select from run where id = ? and ${isOneOf('status', TERMINAL_STATUSES)}`, [
    runId,
  ]);
  return rows.length > 0;
}

/** Which of these calls may still be repeated: their outcome is not stored, and their run is not over. */
export async function openInvocations(
  em: EntityManager,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await em.execute<{ key: string }[]>(
    `select i.key from invocation i join run r on r.id = i.run_id
      where i.run_id = any(?::uuid[]) and i.key = any(?::text[]) and i.finished_at is null
        and not (${isOneOf('r.status', TERMINAL_STATUSES)})`,
    [arrayLiteral(keys.flatMap((key) => parseInvocationKey(key) ?? [])), arrayLiteral(keys)],
  );
  return new Set(rows.map(({ key }) => key));
}

/**
 * Stores the result of a call at once, and books what it has used in its budgets. @returns false if an
 * outcome was stored before, or the key was claimed again after `claim`
 */
export async function finishInvocation(
  em: EntityManager,
  runId: string,
  key: string,
  result: Invoked,
  spent: Spent = spentBy(result.usage),
  claim: number | null = null,
): Promise<boolean> {
  const { agent_id = null, agent_version = null } = result;
  const stored = await em.execute<object[]>(
    `with stored as (
       update invocation
          set finished_at = clock_timestamp(), result = ?::json, agent_id = ?, agent_version = ?
        where run_id = ? and key = ? and finished_at is null and claims = coalesce(?, claims)
       returning run_id, key)
     select key, ${SETTLE} from stored`,
    [storableJson(result), agent_id, agent_version, runId, key, claim, ...settleValues(spent)],
  );
  return stored.length > 0;
}

/** As `finishInvocation`, for the failure of a call. */
export async function failInvocation(
  em: EntityManager,
  runId: string,
  key: string,
  error: DslError,
  spent: Spent = spentBy(undefined),
  claim: number | null = null,
): Promise<boolean> {
  const stored = await em.execute<object[]>(
    `with stored as (
       update invocation set finished_at = clock_timestamp(), error = ?::json
        where run_id = ? and key = ? and finished_at is null and claims = coalesce(?, claims)
       returning run_id, key)
     select key, ${SETTLE} from stored`,
    [storableJson(error), runId, key, claim, ...settleValues(spent)],
  );
  return stored.length > 0;
}

/** A call that waits for its answer; `task` is null for a call of the run as a whole. */
export interface CallUnderWay {
  run_id: string;
  task: string | null;
  visit: number | null;
}

/** Whether somebody has asked to cancel the run, and the run has not taken note of it yet. */
export async function isToBeCancelled(em: EntityManager, runId: string): Promise<boolean> {
  const rows = await em.execute<object[]>(
    `select from run_signal where run_id = ? and kind = 'cancel' and received_at is null limit 1`,
    [runId],
  );
  return rows.length > 0;
}

/** The indexes of the calls that nothing waits for any more. */
export async function endedCalls(em: EntityManager, calls: readonly CallUnderWay[]): Promise<number[]> {
  if (calls.length === 0) return [];
  const indexed = calls.map(({ run_id, task, visit }, index) => ({ index, run_id, task, visit }));
  const rows = await em.execute<{ index: number }[]>(
    `select c.index from json_to_recordset(?::json) as c (index int, run_id uuid, task text, visit int)
       join run r on r.id = c.run_id
       left join run_task t on t.run_id = c.run_id and t.reference = c.task and t.visit = c.visit
      where ${isOneOf('r.status', TERMINAL_STATUSES)} or ${isOneOf('t.status', BROKEN_TASK_STATUSES)}`,
    [JSON.stringify(indexed)],
  );
  return rows.map(({ index }) => index);
}
