/** Callbacks: calls that somebody outside completes, once (docs/agents.md#long-jobs). */
import type { DslError } from '../../contracts/dsl-error.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { EntityManager } from '../../db/orm.ts';
import { ExpressionError } from '../../language/expressions/index.ts';
import { jobErrorOf, jobOutputOf, jobStateOf, type JobAnswer } from '../../language/job-answer.ts';
import { invalid } from '../errors.ts';
import { requestBudget } from '../../language/expression-budget.ts';
import { callbackVoid } from './callback-token.ts';
import { closeLeft, digestOf, finishJob } from './finish.ts';
import { findJob, isLeft, lockJob, type JobRow } from './job.ts';

/** What a callback says. */
export type Told = { state: 'running' } | { output: unknown } | { error: unknown };

/** @throws 410 if the call is gone */
export async function getCallback(em: EntityManager, id: string): Promise<JobRow> {
  const job = await findJob(em, id);
  if (job?.kind !== 'callback') throw callbackVoid('The call is over.');
  if (job.outcome !== null || !(await isLeft(em, id))) return job;
  await closeLeft(em, [job]);
  return { ...job, outcome: 'cancelled' };
}

/**
 * Whether the call waits for this callback. @returns `repeated` for the body that completed it. @throws 410
 * for any other body of a call that is over
 */
export function checkOpen({ outcome, answer_digest }: JobRow, body: unknown): 'open' | 'repeated' {
  if (outcome === null) return 'open';
  const isEnded = outcome === 'completed' || outcome === 'failed';
  if (isEnded && answer_digest === digestOf(body)) return 'repeated';
  throw callbackVoid(
    isEnded
      ? 'The call was completed by another callback.'
      : outcome === 'timed_out'
        ? 'The call has timed out.'
        : 'The call was cancelled, or has ended.',
  );
}

/** By the rules that are kept with the job, or `{output}` and `{error}`. @throws 422 */
export function readCallback({ configuration }: JobRow, body: Record<string, unknown>): Told {
  const { rules } = configuration;
  if (!isRecord(rules)) {
    if (body['error'] !== undefined && body['error'] !== null) return { error: body['error'] };
    if (body['output'] !== undefined) return { output: body['output'] };
    const message = 'is required: {"output": …}, or {"error": …}';
    throw invalid([{ pointer: '/output', code: 'required', message }]);
  }
  const answer: JobAnswer = { status: 200, headers: {}, body };
  const budget = requestBudget();
  try {
    const state = jobStateOf(rules, answer, budget);
    if (state === 'running') return { state };
    if (state === 'failed') return { error: jobErrorOf(rules, answer, budget) || 'The job has failed' };
    return { output: jobOutputOf(rules, answer, budget) };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const message = `does not fit the expressions of the agent's configuration: ${error.message}`;
    throw invalid([{ pointer: '', code: 'expression', message }]);
  }
}

/**
 * Stores the outcome, in a transaction. @returns signals to deliver after the commit. @throws 410 if another
 * outcome was first
 */
export async function answerCallback(
  em: EntityManager,
  found: JobRow,
  body: unknown,
  ended: { output: unknown } | { error: DslError },
): Promise<string[]> {
  const job = await lockJob(em, found);
  if (job === null) throw callbackVoid('The call is over.');
  if (checkOpen(job, body) === 'repeated') return [];
  const signals = await finishJob(em, job, ended, { digest: digestOf(body) });
  if (signals === null) throw callbackVoid('The call has ended.');
  return signals;
}
