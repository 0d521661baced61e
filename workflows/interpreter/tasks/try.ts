import type { Duration } from '../../../language/definition/model-common.ts';
import type { CatchClause, ErrorFilter, RetryPolicy, TryTask } from '../../../language/definition/model.ts';
import { LOG_TEXT } from '../../../contracts/log-texts.ts';
import { sameErrorType, type DslError } from '../../../contracts/dsl-error.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { isTrue, resolve, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { readClock } from '../clock.ts';
import { throwIfCancelled } from '../cancellation.ts';
import { DslFault, fault, RunLimitFault } from '../fault.ts';
import { loggedFault } from '../logged-fault.ts';
import { pointer } from '../pointer.ts';
import { listFrame, runList, type ListResult } from '../run-list.ts';
import { toMs, withDeadline } from '../run-task.ts';
import type { TryFrame } from '../state.ts';
import { sleepUntil } from './wait.ts';

/**
 * dsl-reference.md "Try", "Catch", "Retry". A retry runs all of `try` again, with the original input and
 * context.
 */
export async function runTry(
  execution: Execution,
  definition: TryTask,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const frame = (task.frame.attempts ??= { attempt: 1, since: Date.now(), context: task.env.scope.context });
  while (!frame.caught) {
    if (frame.retry_at !== undefined) {
      await sleepUntil(execution, task, frame.retry_at);
      delete frame.retry_at;
    }
    try {
      frame.list ??= listFrame(input);
      return outcome(await attemptOnce(execution, definition, task, frame, at));
    } catch (error) {
      if (!(error instanceof DslFault) || error instanceof RunLimitFault) throw error;
      throwIfCancelled();
      handle(execution, definition.catch, task, frame, error, input, at);
    }
  }
  const { caught } = frame;
  const clause = definition.catch;
  if (!clause.do) return { output: input, ...(clause.then === undefined ? {} : { then: clause.then }) };
  caught.list ??= listFrame(input);
  const env = { ...task.env, variables: { ...task.env.variables, [clause.as ?? 'error']: caught.error } };
  const result = outcome(
    await runList(execution, clause.do, pointer(task.ref, 'catch', 'do'), caught.list, env),
  );
  return result.then === undefined && clause.then !== undefined ? { ...result, then: clause.then } : result;
}

const outcome = (result: ListResult): Outcome =>
  result.end ? { output: result.output, then: 'end' } : { output: result.output };

async function attemptOnce(
  execution: Execution,
  definition: TryTask,
  task: Task,
  frame: TryFrame,
  at: At,
): Promise<ListResult> {
  const list = (frame.list ??= listFrame(null));
  const env = { ...task.env, attempt: frame.attempt };
  const run = (): Promise<ListResult> =>
    runList(execution, definition.try, pointer(task.ref, 'try'), list, env);
  const { attempt, duration } = policyOf(execution, definition.catch, task)?.limit ?? {};
  const limit = attempt?.duration;
  if (limit === undefined) return duration === undefined ? run() : execution.shortCalls.withinLimit(run);
  frame.deadline ??= Date.now() + toMs(limit, at);
  const { deadline } = frame;
  return execution.shortCalls.withDeadline(() =>
    withDeadline(deadline, run, () =>
      fault('timeout', `${task.name}: the attempt did not finish in time`, task.ref),
    ),
  );
}

/**
 * Rethrows an error that this `catch` does not handle; otherwise prepares the next attempt, or what follows
 * the last one.
 */
function handle(
  execution: Execution,
  clause: CatchClause,
  task: Task,
  frame: TryFrame,
  error: DslFault,
  input: unknown,
  at: At,
): void {
  const scope: At = {
    ref: task.ref,
    variables: { ...at.variables, context: task.env.scope.context, [clause.as ?? 'error']: error.error },
  };
  if (!matches(clause, error.error, input, scope)) throw error;
  const policy = policyOf(execution, clause, task);
  const retryAt = policy ? nextAttempt(policy, frame, input, scope) : null;
  if (retryAt !== null) {
    frame.attempt++;
    frame.retry_at = retryAt;
    delete frame.list;
    delete frame.deadline;
    task.env.scope.context = frame.context;
    const logged = loggedFault(error);
    execution.journal.add(
      execution.taskEvent(
        task,
        EVENT.taskRetried,
        `retried:${frame.attempt}`,
        LOG_TEXT.taskRetried(task.name, frame.attempt, logged.message),
        {
          level: 'warn',
          data: {
            name: task.name,
            attempt: frame.attempt,
            retriedAt: new Date(retryAt).toISOString(),
            error: logged.error,
          },
        },
      ),
    );
    return;
  }
  // If the policy is exhausted and nothing else handles the error, it counts as uncaught.
  if (policy && !clause.do && clause.then === undefined) throw error;
  frame.caught = { error: error.error };
}

function policyOf(execution: Execution, clause: CatchClause, task: Task): RetryPolicy | undefined {
  if (typeof clause.retry !== 'string') return clause.retry;
  const policy = execution.definition.use?.retries?.[clause.retry];
  if (!policy)
    throw fault('configuration', `The retry policy ${JSON.stringify(clause.retry)} is not defined`, task.ref);
  return policy;
}

function matches(clause: CatchClause, error: DslError, input: unknown, at: At): boolean {
  const filter = clause.errors?.with;
  if (filter && !filterMatches(resolve(filter, input, at) as ErrorFilter, error)) return false;
  if (clause.when !== undefined && !isTrue(clause.when, input, at)) return false;
  return clause.exceptWhen === undefined || !isTrue(clause.exceptWhen, input, at);
}

function filterMatches(filter: ErrorFilter, error: DslError): boolean {
  if (filter.type !== undefined && !sameErrorType(filter.type, error.type)) return false;
  if (filter.status !== undefined && filter.status !== error.status) return false;
  if (filter.instance !== undefined && filter.instance !== error.instance) return false;
  if (filter.title !== undefined && filter.title !== error.title) return false;
  return filter.detail === undefined || filter.detail === error.detail;
}

/** When the next attempt starts (ms); null if the policy allows none. */
function nextAttempt(policy: RetryPolicy, frame: TryFrame, input: unknown, at: At): number | null {
  if (policy.when !== undefined && !isTrue(policy.when, input, at)) return null;
  if (policy.exceptWhen !== undefined && isTrue(policy.exceptWhen, input, at)) return null;
  const count = policy.limit?.attempt?.count;
  if (count !== undefined && frame.attempt > count) return null;
  const base = policy.delay === undefined ? 0 : toMs(policy.delay, at, input);
  const backoff = policy.backoff ?? { constant: {} };
  const delay = delayOf(backoff, base, frame.attempt, (duration) => toMs(duration, at, input));
  const from = policy.jitter ? toMs(policy.jitter.from, at, input) : 0;
  const to = policy.jitter ? toMs(policy.jitter.to, at, input) : 0;
  const retryAt = Date.now() + delay + from + Math.floor(Math.random() * Math.max(0, to - from));
  const total = policy.limit?.duration;
  if (total !== undefined) readClock();
  if (total !== undefined && retryAt > frame.since + toMs(total, at, input)) return null;
  return retryAt;
}

/** A year. Longer delays would not fit a timer. */
const MAX_DELAY_MS = 365 * 24 * 60 * 60_000;

/** The delay before the retry that follows an attempt, from 1. */
function delayOf(
  backoff: NonNullable<RetryPolicy['backoff']>,
  base: number,
  attempt: number,
  ms: (duration: Duration) => number,
): number {
  if ('constant' in backoff) return base;
  const isLinear = 'linear' in backoff;
  const { maxDelay } = isLinear ? backoff.linear : backoff.exponential;
  const delay = isLinear
    ? base + (attempt - 1) * (backoff.linear.increment === undefined ? base : ms(backoff.linear.increment))
    : base * (backoff.exponential.factor ?? 2) ** Math.min(attempt - 1, 30);
  return Math.round(Math.min(delay, maxDelay === undefined ? MAX_DELAY_MS : ms(maxDelay)));
}
