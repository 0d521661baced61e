/** Makes the reports of evaluations whose runs have ended. A pass of the reconciler calls it. */
import { standardError, type DslError } from '../../contracts/dsl-error.ts';
import { TERMINAL_STATUSES, type TerminalStatus } from '../../contracts/run-events.ts';
import type { EntityManager, Orm } from '../../db/orm.ts';
import { isOneOf } from '../../db/sql.ts';
import { storableJson } from '../storable.ts';
import { CheckEffort, type Check } from './checks.ts';
import { CALL, JUDGE } from './definition.ts';
import type { EvaluationStatus } from './evaluation.ts';
import type { EvaluationCase, Judge } from './given.ts';
import {
  figuresOf,
  judgeCase,
  marksOf,
  withoutLarge,
  type CaseResult,
  type Mark,
  type Spending,
  type VersionFigures,
} from './results.ts';

/** Of one pass; the next one continues. */
const MAX_REPORTS = 10;
/** Cases that one statement writes. */
const BATCH = 100;

interface EndedRow {
  id: string;
  run_id: string | null;
  versions: string[];
  judge: Judge | null;
  checks: Check[];
  /** Of the evaluation that this one tries again. */
  taken_over: VersionFigures[] | null;
  run_status: TerminalStatus | null;
  output: unknown;
  run_error: DslError | null;
}

/** One that fails keeps none of the others waiting. @returns how many @throws AggregateError */
export async function reportEvaluations({ orm }: { orm: Orm }, heartbeat: () => void): Promise<number> {
  const ended = await orm.em.fork().execute<{ id: string }[]>(
    `select e.id from evaluation e left join run r on r.id = e.run_id
      where ${isOneOf('e.status', ['running'])}
        and (r.id is null or ${isOneOf('r.status', TERMINAL_STATUSES)})
      order by e.id limit ?`,
    [MAX_REPORTS],
  );
  const errors: Error[] = [];
  for (const { id } of ended) {
    await orm.em
      .fork()
      .transactional((em) => reportEvaluation(em, id))
      .catch((error: unknown) =>
        errors.push(new Error(`no report of the evaluation ${id}`, { cause: error })),
      );
    heartbeat();
  }
  if (errors.length > 0) throw new AggregateError(errors, `evaluations without a report: ${errors.length}`);
  return ended.length;
}

async function reportEvaluation(em: EntityManager, id: string): Promise<void> {
  const [ended] = await em.execute<EndedRow[]>(
    `select e.id, e.run_id, to_json(e.versions) as versions, e.judge, e.checks, e.taken_over,
            r.status as run_status, r.output, r.error as run_error
       from evaluation e left join run r on r.id = e.run_id
      where e.id = ? and ${isOneOf('e.status', ['running'])} for update of e skip locked`,
    [id],
  );
  if (!ended) return;
  if (ended.run_id === null || ended.run_status === null)
    return end(em, id, 'cancelled', standardError('runtime', 'The run was removed before its report.'));
  if (ended.run_status !== 'completed') return end(em, id, ended.run_status, ended.run_error);
  const judged = await judgeAll(em, { ...ended, run_id: ended.run_id });
  const results = judged.map((one) => one.results);
  const weights = judged.map((one) => one.weight);
  const spending = await spendingOf(em, ended.run_id);
  const versions = ended.versions.map((version, index) => {
    const before = ended.taken_over?.[index];
    return {
      ...figuresOf(version, index, weights, results),
      used: sumOf(before?.used, spending(CALL, index)),
      judge_used: sumOf(before?.judge_used, spending(JUDGE, index)),
    };
  });
  const differing = judged.filter(({ marks }) => marks.includes('differs')).length;
  await em.execute(`update evaluation set report = ?::json where id = ?`, [
    JSON.stringify({ versions, differing }),
    id,
  ]);
  await end(em, id, 'completed', null);
}

async function end(
  em: EntityManager,
  id: string,
  status: EvaluationStatus,
  error: DslError | null,
): Promise<void> {
  await em.execute(
    `update evaluation set status = ?, error = ?::json, finished_at = clock_timestamp() where id = ?`,
    [status, error === null ? null : JSON.stringify(error), id],
  );
}

/** A retry has cost both. */
function sumOf(before: Spending | undefined, now: Spending): Spending {
  if (before === undefined) return now;
  const { cost_usd: first } = before;
  return {
    cost_usd: first === null || now.cost_usd === null ? null : first + now.cost_usd,
    input_tokens: before.input_tokens + now.input_tokens,
    output_tokens: before.output_tokens + now.output_tokens,
  };
}

interface Judged {
  results: CaseResult[];
  marks: Mark[];
  weight: number;
}

interface StoredCase {
  number: number;
  given: EvaluationCase;
  /** Of a case that was not called again; without its outputs. */
  results: CaseResult[] | null;
  marks: Mark[];
}

/** Judges what the run has called, and stores the results. @returns all cases, in their order */
async function judgeAll(
  em: EntityManager,
  { id, run_id: runId, versions, judge, checks, output }: EndedRow & { run_id: string },
): Promise<Judged[]> {
  const outputs: unknown[] = versions.length === 1 ? [output] : Array.isArray(output) ? output : [];
  const cases = await em.execute<StoredCase[]>(
    `select number, given, to_json(marks) as marks,
            (select json_agg(json_build_object('status', r -> 'status', 'score', r -> 'score',
                                               'latency_ms', r -> 'latency_ms', 'failed', '[]'::json)
                             order by at)
               from json_array_elements(results) with ordinality as results (r, at)) as results
       from evaluation_case where evaluation_id = ? order by number`,
    [id],
  );
  const latencies = await latenciesOf(em, runId);
  const judging = { checks, pass: judge?.pass ?? null, effort: new CheckEffort() };
  let called = 0;
  const all = cases.map(({ results: kept, ...one }) => {
    if (kept !== null) return { ...one, results: kept, isCalled: false };
    const item = called++;
    const results = versions.map((_, index) => {
      const items = outputs[index];
      const result = judgeCase(one.given, Array.isArray(items) ? items[item] : undefined, judging);
      return { ...result, latency_ms: latencies.get(`${CALL}${index} ${item}`) ?? null };
    });
    return { ...one, results, marks: marksOf(results), isCalled: true };
  });
  const rows = all.filter(({ isCalled }) => isCalled);
  for (let from = 0; from < rows.length; from += BATCH) await store(em, id, rows.slice(from, from + BATCH));
  return all.map(({ results, marks, given }) => ({ results, marks, weight: given.weight ?? 1 }));
}

async function store(
  em: EntityManager,
  id: string,
  rows: { number: number; given: EvaluationCase; results: CaseResult[]; marks: Mark[] }[],
): Promise<void> {
  const kept = rows.map(({ number, given, results, marks }) => ({
    number,
    given: withoutLarge(given, ['input', 'expected', 'checks']),
    results: results.map((result) => withoutLarge(result, ['output', 'judgement'])),
    marks,
  }));
  await em.execute(
    `update evaluation_case c set given = k.given, results = k.results, marks = k.marks
       from json_to_recordset(?::json) as k (number int, given json, results json, marks text[])
      where c.evaluation_id = ? and c.number = k.number`,
    [storableJson(kept), id],
  );
}

/** In milliseconds, by the name of the task and the number of the case, of calls with an output. */
async function latenciesOf(em: EntityManager, runId: string): Promise<Map<string, number>> {
  const rows = await em.execute<{ key: string; ms: number }[]>(
    `select name || ' ' || items[1] as key,
            (extract(epoch from finished_at - started_at) * 1000)::float8 as ms
       from run_task
      where run_id = ? and name like ? and array_length(items, 1) = 1
        and ${isOneOf('status', ['completed'])}`,
    [runId, `${CALL}%`],
  );
  return new Map(rows.map(({ key, ms }) => [key, ms]));
}

/** What a task of the run has used, with the runs that it started. */
async function spendingOf(
  em: EntityManager,
  runId: string,
): Promise<(task: string, index: number) => Spending> {
  const rows = await em.execute<(Spending & { name: string; unpriced: boolean })[]>(
    `with recursive tree (id, task) as (
       select id, null::text from run where id = ?
       union all
       select c.id, coalesce(t.task, c.parent_task) from tree t join run c on c.parent_run_id = t.id)
     select substring(coalesce(t.task, u.task) from '/((${CALL}|${JUDGE})[0-9]+)(/|$)') as name,
            sum(u.input_tokens)::float8 as input_tokens, sum(u.output_tokens)::float8 as output_tokens,
            sum(coalesce(u.cost_usd, 0))::float8 as cost_usd, bool_or(u.cost_usd is null) as unpriced
       from tree t join usage_record u on u.run_id = t.id group by 1`,
    [runId],
  );
  return (task, index) => {
    const found = rows.find(({ name }) => name === `${task}${index}`);
    if (!found) return { cost_usd: 0, input_tokens: 0, output_tokens: 0 };
    const { cost_usd: cost, input_tokens, output_tokens, unpriced } = found;
    return { cost_usd: unpriced ? null : cost, input_tokens, output_tokens };
  };
}
