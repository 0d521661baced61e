/**
 * Another evaluation with the cases of one that ended in an error, or that failed. The results of the others
 * are taken over, so its report is about all of them.
 */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict } from '../errors.ts';
import { getAgent } from '../registry/agent-service.ts';
import type { RunLimits } from '../runs/limits.ts';
import {
  getEvaluation,
  insertEvaluation,
  judgeOf,
  makeRoom,
  startCalls,
  versionsOf,
  type EvaluationRow,
} from './evaluation.ts';
import type { EvaluationCase } from './given.ts';
import type { Mark } from './results.ts';

interface Retry {
  /** The cases that ended so with any version. */
  only: Extract<Mark, 'error' | 'failed'>[];
  concurrency: number;
}

/** @throws 409 while its run lives */
export function checkRetryable({ status, run_id: runId }: EvaluationRow): void {
  if (status === 'running')
    throw conflict('evaluation_running', 'The evaluation is running.', { run_id: runId });
}

/**
 * As `startEvaluation`; the judge is the same version. @throws 409 if there is no such case, or if one
 * was not kept whole
 */
export async function retryEvaluation(
  em: EntityManager,
  actor: Actor,
  before: EvaluationRow,
  { only, concurrency }: Retry,
  limits: RunLimits,
): Promise<EvaluationRow> {
  const agent = await getAgent(em, actor, before.agent_id);
  const cases = await casesAgain(em, before.id, only);
  const versions = await versionsOf(em, agent, before.versions);
  const judge = before.judge === null ? null : await judgeOf(em, actor, asGiven(before.judge));
  const runId = await startCalls(em, actor, agent, { cases, versions, judge, concurrency }, limits);
  const id = await insertEvaluation(em, actor, {
    ...before,
    run_id: runId,
    versions,
    judge,
    retry_of: before.id,
    taken_over: before.report?.versions ?? null,
  });
  await em.execute(
    `insert into evaluation_case (evaluation_id, number, given, results, marks)
     select ?, number, given, case when ${IS_AGAIN} then null else results end,
            case when ${IS_AGAIN} then '{}' else marks end
       from evaluation_case where evaluation_id = ?`,
    [id, arrayLiteral(only), arrayLiteral(only), before.id],
  );
  await makeRoom(em, agent.id);
  return getEvaluation(em, actor, id);
}

/** SQL: whether the case is called again. Value: the marks. */
const IS_AGAIN = `(results is null or marks && ?::text[])`;

async function casesAgain(
  em: EntityManager,
  evaluationId: string,
  only: Retry['only'],
): Promise<EvaluationCase[]> {
  const rows = await em.execute<{ number: number; given: EvaluationCase & { omitted?: string[] } }[]>(
    `select number, given from evaluation_case where evaluation_id = ? and ${IS_AGAIN} order by number`,
    [evaluationId, arrayLiteral(only)],
  );
  if (rows.length === 0) {
    const ended = only.map((mark) => (mark === 'error' ? 'ended in an error' : 'failed')).join(' or ');
    throw conflict('nothing_to_retry', `No case of the evaluation ${ended}.`);
  }
  const cut = rows.filter(({ given }) => given.omitted !== undefined);
  if (cut.length > 0) {
    const named = cut.slice(0, 5).map(({ number, given }) => given.id ?? `number ${number}`);
    throw conflict(
      'case_not_kept',
      `Parts of the cases ${named.join(', ')} were too large to keep: start a new evaluation.`,
    );
  }
  return rows.map(({ given }) => given);
}

function asGiven({ agent_id: agent, version, criteria, pass }: NonNullable<EvaluationRow['judge']>) {
  return { agent, version, criteria: criteria ?? undefined, pass: pass ?? undefined };
}
