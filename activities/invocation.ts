/**
 * Shared by all calls to counterparts (docs/architecture.md#calls-of-counterparts). One statement stores the
 * outcomes of earlier calls, appends the batch and claims the idempotency key. Then the call is made with
 * heartbeats. A repeat after a lost worker finds the outcome, or the claim.
 */
import { createHash } from 'node:crypto';
import type { Info } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { holdsLargeAnswer } from '../adapters/egress/answer-memory.ts';
import { FAILURE, type InvocationRef, type Invoked, type WithBatch } from '../contracts/activities.ts';
import { invocationKey } from '../contracts/invocation-key.ts';
import { Fault, fault } from '../contracts/fault.ts';
import { patiently } from '../db/patiently.ts';
import type { CallProgress } from '../domain/ports.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { endTreeOverLimits } from '../domain/runs/end-tree.ts';
import {
  beginInvocation,
  failInvocation,
  finishInvocation,
  holdsClaim,
  isOver,
  isToBeCancelled,
  keepProgress,
  progressOf,
  type AttemptOrder,
  type Begun,
} from '../domain/runs/invocations.ts';
import { describeSpan } from '../tracing/context.ts';
import type { AgentGate } from './agent-gate.ts';
import type { InvocationDeps } from './deps.ts';
import { currentHandOver } from './handed-over-calls.ts';
import { bounded } from './short-calls.ts';
import { failureOf, isStopping, overtaken, underWay, type UnderWay } from './under-way.ts';

export interface Calling {
  idempotencyKey: string;
  signal: AbortSignal;
  progress: CallProgress;
  /** Asked once `signal` is aborted: whether the end was requested, as opposed to a worker that stops. */
  cancelRequested(): Promise<boolean>;
}

export interface Invocation {
  /** Key of the agent's pin; null if no agent is called. */
  pin: string | null;
  /** What a repeat has to have in common with the call that was begun. */
  identity: unknown;
  /** Prepares the call; may refuse it with a fault. */
  prepare(begun: Begun): Promise<void>;
  /** False: a call with an unknown outcome is not repeated. */
  idempotent(): boolean;
  /** Budgets and limits of the agent. */
  gate?: AgentGate;
  /** Admits the call: what it ends with instead, or null. */
  enter?(row: ClaimedRow, begun: Begun): Promise<Invoked | null>;
  call(calling: Calling): Promise<Invoked>;
  /** If given, the outcome is stored at once, and then this is called. */
  stored?: ((key: string) => Promise<void>) | undefined;
  /** Called when the call ends without an outcome from outside, which it may have asked for. */
  unawaited?(row: InvocationRow): Promise<void>;
}

/**
 * Milliseconds after which an attempt asks before it calls whether it still has the claim: while its process
 * was frozen, or waited for the database, another worker may have made the call.
 */
const CLAIM_FRESH_MS = 2_000;

type InvocationInput = WithBatch & InvocationRef & { round?: number };

/** The row of one call. */
interface InvocationRow {
  runId: string;
  key: string;
}

/** The row, as this attempt has claimed it. */
type ClaimedRow = InvocationRow & { claim: number };

export async function invokeOnce(
  deps: InvocationDeps,
  input: InvocationInput,
  invocation: Invocation,
): Promise<Invoked> {
  const { run_id: runId, task, visit, short } = input;
  const row = { runId, key: invocationKey(runId, input) };
  if (short) deps.shortCalls.begin();
  try {
    return await underWay(deps.calls, { run_id: runId, task, visit }, (call) =>
      callOrRecall(deps, row, input, invocation, call),
    );
  } finally {
    if (short && !currentHandOver()?.isHandedOver) deps.shortCalls.end();
  }
}

/** Makes the call, unless its outcome is known. */
async function callOrRecall(
  deps: InvocationDeps,
  row: InvocationRow,
  input: InvocationInput,
  invocation: Invocation,
  call: UnderWay,
): Promise<Invoked> {
  let mine: ClaimedRow | null = null;
  const beganAt = performance.now();
  try {
    const begun = await begin(deps, row, input, invocation, call.context.info);
    if (begun.result) return begun.result;
    if (begun.error) throw new Fault(begun.error);
    mine = { ...row, claim: begun.claim };
    // A lost call may be repeated by another activity, so Temporal's attempts do not count all.
    describeSpan(null, { 'cadenza.call.attempt': begun.claim });
    await invocation.prepare(begun);
    let result = await invocation.enter?.(mine, begun);
    if (!result) {
      if (performance.now() - beganAt > CLAIM_FRESH_MS) await requireClaim(deps, mine);
      result = await callNow(deps, row, input, invocation, begun, call);
    }
    if (result.awaits) {
      invocation.gate?.passOn();
      return result;
    }
    await keepResult(deps, mine, input, invocation, { result, signal: call.signal });
    await release(deps, row, invocation);
    await unawaited(deps, row, invocation);
    await invocation.gate?.leave(mine, null, false);
    return result;
  } catch (error) {
    if (error instanceof Fault && mine) await invocation.gate?.note(error);
    const failure = failureOf(call, error, 'The invocation');
    if (mine && error instanceof Fault && !call.signal.aborted) {
      await keepFault(deps, mine, input, invocation, { error, signal: call.signal });
      await release(deps, row, invocation);
    }
    const isRepeated = isStopping(call) || (await isGivenUp(deps, row.runId, call));
    if (mine && !isRepeated && (error instanceof Fault || call.signal.aborted))
      await unawaited(deps, row, invocation);
    // What a worker that stops has cut off says nothing of the agent, and its repeat has the same holds.
    const left = mine ?? { ...row, claim: 0 };
    await invocation.gate?.leave(left, isRepeated ? failure : error, call.signal.aborted && !isRepeated);
    throw failure;
  }
}

async function requireClaim(deps: InvocationDeps, { runId, key, claim }: ClaimedRow): Promise<void> {
  if (!(await holdsClaim(deps.orm.em.fork(), runId, key, claim))) throw overtaken();
}

/** Nothing depends on its success: what is left is removed later. */
async function release(deps: InvocationDeps, { key }: InvocationRow, invocation: Invocation): Promise<void> {
  await invocation
    .stored?.(key)
    .catch((error: unknown) => deps.logger.warn({ err: error }, 'a call left something'));
}

/** Nothing depends on its success: the end of the run does the same. */
async function unawaited(deps: InvocationDeps, row: InvocationRow, invocation: Invocation): Promise<void> {
  await invocation
    .unawaited?.(row)
    .catch((error: unknown) => deps.logger.warn({ err: error }, 'a call left its wait for an outcome'));
}

async function callNow(
  deps: InvocationDeps,
  { runId, key }: InvocationRow,
  input: InvocationInput,
  invocation: Invocation,
  begun: Begun,
  call: UnderWay,
): Promise<Invoked> {
  const kept = begun.claimed_before ? await progressOf(deps.orm.em.fork(), runId, key) : null;
  if (begun.claimed_before && kept === null && !invocation.idempotent()) {
    invocation.gate?.markOutcomeUnknown();
    throw fault(
      'communication',
      'The outcome of an earlier call is unknown, and the agent is not idempotent ' +
        '(configuration.retry.idempotent is false)',
    );
  }
  return bounded(
    input,
    call.signal,
    {
      isToBeCancelled: () => isToBeCancelled(deps.orm.em.fork(), runId),
      onHandOver: () => deps.shortCalls.end(),
    },
    (signal) =>
      invocation.call({
        idempotencyKey: key,
        signal,
        progress: {
          repeated: begun.claimed_before,
          kept,
          keep: (value) => keepProgress(deps.orm.em.fork(), runId, key, value),
        },
        cancelRequested: () => cancelRequested(deps, runId, call),
      }),
  );
}

/**
 * Stores the outcomes of earlier calls, appends the batch and claims the key. Throws if the run is over, if a
 * later attempt has the claim, and if an earlier build of this history has gone another way.
 */
async function begin(
  deps: InvocationDeps,
  { runId, key }: InvocationRow,
  { batch, task, name, visit, attempt, short }: InvocationInput,
  { pin, identity }: Invocation,
  info: Info,
): Promise<Begun> {
  const order = orderOf(short, info);
  const claim = { task, name, visit, attempt, key, pin, digest: digestOf(identity), order };
  const outcomes = deps.outcomes.of(runId);
  const begun = await beginInvocation(deps.orm.em.fork(), runId, batch, claim, outcomes);
  if (begun.closed) throw ApplicationFailure.nonRetryable('The run is over', FAILURE.closed);
  deps.outcomes.stored(runId, outcomes);
  deps.announce(runId);
  if (begun.conflict) throw otherOutcome();
  await deliverSignals(deps, begun.signals);
  await endTreeOverLimits(deps, begun.tree);
  if (begun.overtaken) throw overtaken();
  if (begun.other_input) {
    deps.logger.error({ run_id: runId, task, visit }, 'a repeated call has another input than before');
    throw fault('runtime', 'The repetition of this call has another input than the call that was begun');
  }
  return begun;
}

/** An activity's times are of Temporal's server, a local activity's of this machine. */
function orderOf(short: InvocationInput['short'], info: Info): AttemptOrder {
  if (!short) return { scheduledMs: info.scheduledTimestampMs, attempt: info.attempt };
  const { started_ms: scheduledMs, replayed } = short.workflow_task;
  return { scheduledMs, attempt: replayed ? 0 : -1 };
}

export function otherOutcome(): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    'Another worker has stored another outcome of an earlier call',
    FAILURE.conflict,
  );
}

function digestOf(identity: unknown): string {
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex');
}

/** Temporal believes this attempt lost and makes another, though nobody has cancelled the call. */
async function isGivenUp(deps: InvocationDeps, runId: string, call: UnderWay): Promise<boolean> {
  if (!call.signal.aborted) return false;
  // Without an answer nothing is given back: the repeat does it, or the end of the run.
  return !(await cancelRequested(deps, runId, call).catch(() => false));
}

async function cancelRequested(deps: InvocationDeps, runId: string, call: UnderWay): Promise<boolean> {
  if (call.ended()) return true;
  const { cancelRequested: requested, notFound } = call.context.cancellationDetails ?? {};
  // Temporal forgets an activity together with its workflow, so a cancelled run may have ended before this
  // call was notified.
  return requested === true || (notFound === true && (await isOver(deps.orm.em.fork(), runId)));
}

/**
 * If the call can be repeated with the same key, the stored result only saves that repetition, so the next
 * statement of the run stores it. A run has gone on with the outcome of a short call by then. A large result
 * is stored before its memory share is returned.
 */
async function keepResult(
  { orm, outcomes }: InvocationDeps,
  { runId, key, claim }: ClaimedRow,
  input: InvocationInput,
  invocation: Invocation,
  { result, signal }: { result: Invoked; signal: AbortSignal },
): Promise<void> {
  const { gate } = invocation;
  // First: who finds the outcome after a kill does not come here again.
  await patiently(async () => gate?.passToRun(), { signal });
  const isRepeatable = invocation.idempotent() && !invocation.stored && !gate?.holds;
  if (isRepeatable && !holdsLargeAnswer())
    return outcomes.add(runId, { key, ended: { result }, required: isInTask(input), claim });
  const store = async () =>
    finishInvocation(orm.em.fork(), runId, key, result, await gate?.spent(null), claim);
  if (!(await patiently(store, { signal }))) throw new Error(NOT_STORED);
}

async function keepFault(
  { orm, outcomes }: InvocationDeps,
  { runId, key, claim }: ClaimedRow,
  input: InvocationInput,
  { gate }: Invocation,
  { error: fault, signal }: { error: Fault; signal: AbortSignal },
): Promise<void> {
  const { error } = fault;
  if (isInTask(input) && !gate?.holds)
    return outcomes.add(runId, { key, ended: { error }, required: true, claim });
  const store = async () => failInvocation(orm.em.fork(), runId, key, error, await gate?.spent(fault), claim);
  if (!(await patiently(store, { signal }))) throw new Error(NOT_STORED);
}

/** Whether the run's workflow task waits for the call: it is short, and was not handed over. */
function isInTask({ short }: InvocationInput): boolean {
  return short !== undefined && currentHandOver()?.isHandedOver !== true;
}

/** The repeat finds what is stored. An attempt that Temporal has given up has no repeat. */
const NOT_STORED = 'another attempt of this call has stored its outcome, or has begun since';
