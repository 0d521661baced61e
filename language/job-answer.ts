/**
 * What an HTTP service says about a job that takes long: whether it still runs, and how it ended. Services
 * differ in their words; configurations of agents can say what theirs are (docs/agents.md#long-jobs).
 */
import { compile, type Environment } from './expressions/index.ts';
import { isRecord } from '../contracts/is-record.ts';

/** Parts of the `async` of an agent's configuration, and its `response`. */
export interface JobRules {
  /** jq that gives the word for the state. Default: `status`, `state` and the like of the answer. */
  state?: string | undefined;
  /** More words for a state. */
  succeeded?: readonly string[] | undefined;
  failed?: readonly string[] | undefined;
  /** jq that gives the reason of a failure. */
  error?: string | undefined;
  /** jq, or an object whose strings contain `${ … }`, that gives the output. */
  response?: unknown;
}

export interface JobAnswer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** What the rules may cost together. */
interface Budget {
  readonly options: Environment;
}

export type JobState = 'running' | 'succeeded' | 'failed';

const SUCCEEDED = ['succeeded', 'success', 'successful', 'completed', 'complete', 'done', 'finished', 'ok'];
const FAILED = [
  'failed',
  'failure',
  'error',
  'errored',
  'cancelled',
  'canceled',
  'aborted',
  'expired',
].concat(['rejected', 'timeout', 'timedout', 'terminated']);
const STATE_KEYS = ['status', 'state', 'phase', 'job_status', 'jobStatus'];
const OUTPUT_KEYS = ['output', 'result', 'results', 'response'];
const ERROR_KEYS = ['error', 'message', 'detail', 'reason', 'error_message'];
const MAX_ERROR = 1_000;

/**
 * Without a state in the answer, 202 means that the job runs, and any other status that it has succeeded.
 * Throws an error of jq.
 */
export function jobStateOf(rules: JobRules, answer: JobAnswer, budget?: Budget): JobState {
  const word = wordOf(rules, answer, budget);
  if (word === null) return answer.status === 202 ? 'running' : 'succeeded';
  const among = (words: readonly string[]): boolean => words.some((one) => plain(one) === word);
  if (among(rules.succeeded ?? []) || (rules.succeeded === undefined && among(SUCCEEDED))) return 'succeeded';
  if (among(rules.failed ?? []) || (rules.failed === undefined && among(FAILED))) return 'failed';
  return 'running';
}

function wordOf({ state }: JobRules, answer: JobAnswer, budget?: Budget): string | null {
  if (state !== undefined) {
    const value = evaluate(state, answer.body, answer, budget);
    return typeof value === 'boolean' ? (value ? 'done' : 'running') : plainOrNull(value);
  }
  const { body } = answer;
  if (!isRecord(body)) return null;
  // As Google's long-running operations say it.
  if (body['done'] === true) return body['error'] === undefined ? 'done' : 'failed';
  if (body['done'] === false) return 'running';
  for (const key of STATE_KEYS) {
    const word = plainOrNull(body[key]);
    if (word !== null) return word;
  }
  return null;
}

function plainOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? plain(value) : null;
}

/** `TIMED_OUT` and `timed out` are one word. */
function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** The output of a job that has succeeded. Throws an error of jq. */
export function jobOutputOf({ response }: JobRules, answer: JobAnswer, budget?: Budget): unknown {
  if (response !== undefined && response !== null) return evaluateRule(response, answer.body, answer, budget);
  const { body } = answer;
  if (!isRecord(body)) return body;
  const key = OUTPUT_KEYS.find((one) => body[one] !== undefined && body[one] !== null);
  return key === undefined ? body : body[key];
}

/** Why a job has failed, in the words of the service; empty if it says nothing. */
export function jobErrorOf({ error }: JobRules, answer: JobAnswer, budget?: Budget): string {
  const said = error === undefined ? firstText(answer.body) : evaluate(error, answer.body, answer, budget);
  const text = typeof said === 'string' ? said : said === null ? '' : JSON.stringify(said);
  return text.slice(0, MAX_ERROR);
}

function firstText(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value;
  if (!isRecord(value) || depth > 2) return '';
  for (const key of ERROR_KEYS) {
    const text = firstText(value[key], depth + 1);
    if (text !== '') return text;
  }
  return '';
}

/** jq, or an object whose strings contain `${ … }`; `$response` is the whole answer. */
export function evaluateRule(rule: unknown, content: unknown, response: unknown, budget?: Budget): unknown {
  return typeof rule === 'string'
    ? evaluate(rule, content, response, budget)
    : evaluateObject(rule, content, response, budget);
}

/** A bare jq expression, or one `${ … }`. */
function evaluate(source: string, content: unknown, response: unknown, budget?: Budget): unknown {
  const bare = /^\s*\$\{([\s\S]*)\}\s*$/.exec(source)?.[1] ?? source;
  const program = compile(bare, { variables: ['response'] });
  return program.first(content, { variables: { response }, ...budget?.options });
}

function evaluateObject(rule: unknown, content: unknown, response: unknown, budget?: Budget): unknown {
  if (typeof rule === 'string') return rule.includes('${') ? evaluate(rule, content, response, budget) : rule;
  if (typeof rule !== 'object' || rule === null) return rule;
  if (Array.isArray(rule)) return rule.map((item) => evaluateObject(item, content, response, budget));
  return Object.fromEntries(
    Object.entries(rule).map(([key, item]) => [key, evaluateObject(item, content, response, budget)]),
  );
}
