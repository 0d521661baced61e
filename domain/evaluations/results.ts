/** What the calls of an evaluation have given: each output judged, and the figures of each version. Pure. */
import { canonicalJson } from '../../contracts/canonical-json.ts';
import { cutTo } from '../../contracts/cut-text.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { ExpressionError } from '../../language/expressions/index.ts';
import { DEFAULT_PASS, type Check, type CheckEffort } from './checks.ts';
import type { EvaluationCase } from './given.ts';

/** Of the JSON of an input, output or judgement that is kept, in characters. */
const MAX_KEPT_JSON = 16 * 1024;
const MAX_KEPT_TEXT = 2_000;
/** From where on a judge's number is a pass. */
const PASSING_SCORE = 0.5;

/** What cases are selected by. `regressed` and `improved`: any version, compared with the first one. */
export const MARKS = ['failed', 'error', 'regressed', 'improved', 'differs'] as const;
export type Mark = (typeof MARKS)[number];

/** Of one case with one version. */
export interface CaseResult {
  /** `error`: there is no output, or no judgement. */
  status: 'passed' | 'failed' | 'error';
  /** 0 to 1. */
  score: number;
  output?: unknown;
  /** What the judge has answered. */
  judgement?: unknown;
  error?: string;
  /** What it has failed: `expected`, `judge`, or the name of a check. */
  failed: string[];
  latency_ms: number | null;
  /** Of `output` and `judgement`: what was too large to keep. */
  omitted?: string[];
}

export interface Spending {
  /** Null: unknown. */
  cost_usd: number | null;
  input_tokens: number;
  output_tokens: number;
}

export interface VersionFigures {
  version: string;
  passed: number;
  failed: number;
  errors: number;
  /** The weighted mean of the cases' scores, 0 to 1. */
  score: number;
  /** Of the calls that have given an output; null if none has. */
  latency_ms: { p50: number; p95: number } | null;
  used: Spending;
  /** What judging this version has used. */
  judge_used: Spending;
  /** Cases that the first version passes and this one does not, and the other way round. */
  regressed: number;
  improved: number;
}

interface Judging {
  checks: readonly Check[];
  pass: string | null;
  effort: CheckEffort;
}

/** @param item what `call: map` has given for the case: `{ok, output}` or `{ok, error}` */
export function judgeCase(given: EvaluationCase, item: unknown, judging: Judging): CaseResult {
  if (!isRecord(item) || item['ok'] !== true || !isRecord(item['output']))
    return failedCall(isRecord(item) ? errorText(item['error']) : 'The call was not made.');
  const { output, verdict } = item['output'];
  const failed: string[] = [];
  if (given.expected !== undefined && canonicalJson(given.expected) !== canonicalJson(output))
    failed.push('expected');
  const variables = { input: given.input, expected: given.expected };
  for (const [index, { name, jq }] of [...judging.checks, ...(given.checks ?? [])].entries())
    if (!holds(judging.effort, jq, output, variables)) failed.push(name ?? `check ${index + 1}`);
  const judged = isRecord(verdict) ? judgementOf(verdict, judging, variables) : { score: 1 };
  if ('error' in judged) return { ...failedCall(judged.error), output, failed };
  const { score } = judged;
  if (score < PASSING_SCORE) failed.push('judge');
  const isPassed = failed.length === 0;
  return {
    status: isPassed ? 'passed' : 'failed',
    score: isPassed || (failed.length === 1 && failed[0] === 'judge') ? score : 0,
    output,
    ...(isRecord(verdict) ? { judgement: verdict['value'] } : {}),
    failed,
    latency_ms: null,
  };
}

function failedCall(error: string): CaseResult {
  return { status: 'error', score: 0, error, failed: [], latency_ms: null };
}

/** An expression that fails does not hold. */
function holds(
  effort: CheckEffort,
  jq: string,
  output: unknown,
  variables: { input: unknown; expected: unknown },
): boolean {
  try {
    const value = effort.evaluate(jq, output, variables);
    return value !== null && value !== false;
  } catch (error) {
    if (error instanceof ExpressionError) return false;
    throw error;
  }
}

function judgementOf(
  verdict: Record<string, unknown>,
  { pass, effort }: Judging,
  variables: { input: unknown; expected: unknown },
): { score: number } | { error: string } {
  if (!Object.hasOwn(verdict, 'value')) return { error: `The judge: ${errorText(verdict['error'])}` };
  try {
    const value = effort.evaluate(pass ?? DEFAULT_PASS, verdict['value'], variables);
    if (typeof value === 'boolean') return { score: value ? 1 : 0 };
    if (typeof value === 'number') return { score: Math.min(1, Math.max(0, value)) };
    return { error: 'The judge has given neither a boolean nor a number.' };
  } catch (error) {
    if (error instanceof ExpressionError) return { error: `The judge's answer: ${error.message}` };
    throw error;
  }
}

function errorText(error: unknown): string {
  const { title, detail } = isRecord(error) ? error : {};
  const texts = isRecord(error) ? [title, detail] : [error];
  const text = texts.filter((part) => typeof part === 'string').join(': ');
  return cutTo(text === '' ? 'unknown error' : text, MAX_KEPT_TEXT);
}

/** What the results of a case's versions say, the first one's first. */
export function marksOf(results: readonly CaseResult[]): Mark[] {
  const [first, ...others] = results;
  const has = (status: CaseResult['status']): boolean => results.some((one) => one.status === status);
  const outputs = new Set(results.map((one) => canonicalJson([one.status === 'error', one.output])));
  const found: Record<Mark, boolean> = {
    failed: has('failed'),
    error: has('error'),
    regressed: first?.status === 'passed' && others.some(({ status }) => status !== 'passed'),
    improved: first?.status !== 'passed' && others.some(({ status }) => status === 'passed'),
    differs: outputs.size > 1,
  };
  return MARKS.filter((mark) => found[mark]);
}

/** @param results of all cases, one for each version */
export function figuresOf(
  version: string,
  index: number,
  weights: readonly number[],
  results: readonly (readonly CaseResult[])[],
): Omit<VersionFigures, 'used' | 'judge_used'> {
  const own = results.flatMap((of) => of[index] ?? []);
  const count = (status: CaseResult['status']): number => own.filter((one) => one.status === status).length;
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const passes = results.map((of) => [of[0]?.status === 'passed', of[index]?.status === 'passed'] as const);
  return {
    version,
    passed: count('passed'),
    failed: count('failed'),
    errors: count('error'),
    score: own.reduce((sum, { score }, number) => sum + score * (weights[number] ?? 1), 0) / (total || 1),
    latency_ms: percentiles(own.flatMap(({ latency_ms: ms }) => ms ?? [])),
    regressed: passes.filter(([first, now]) => first && !now).length,
    improved: passes.filter(([first, now]) => !first && now).length,
  };
}

function percentiles(values: number[]): { p50: number; p95: number } | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0);
  return { p50: at(0.5), p95: at(0.95) };
}

/** The record without the named members whose JSON is too large to keep; `omitted` names them. */
export function withoutLarge<T extends object>(record: T, names: readonly (keyof T & string)[]): T {
  const large = names.filter((name) => (JSON.stringify(record[name]) ?? '').length > MAX_KEPT_JSON);
  if (large.length === 0) return record;
  const rest = Object.fromEntries(
    Object.entries(record).filter(([name]) => !large.some((one) => one === name)),
  );
  // The members that are left out are optional.
  return { ...rest, omitted: large } as unknown as T;
}
