/**
 * Agents of kind `api` whose jobs take long (docs/agents.md#long-jobs): the answer names an address at which
 * the job's state is asked for until it has ended. The address is kept, so a repeat after a lost worker asks
 * on and does not start the job again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { durationToMs } from '../../language/definition/duration.ts';
import {
  evaluateRule,
  jobErrorOf,
  jobOutputOf,
  jobStateOf,
  type JobAnswer,
  type JobRules,
} from '../../language/job-answer.ts';
import { Fault, fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { ApiConfiguration } from '../../contracts/agent-kinds/api.ts';
import { callBudget } from '../../language/expression-budget.ts';
import type { AgentCall } from '../../domain/ports.ts';
import type { EgressResponse } from '../egress/egress.ts';
import type { Sensitive } from '../secrets/sensitive.ts';
import { contentOf, statusFault } from './message.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** What a service may ask to wait: `Retry-After: 0` asks for nothing. */
const MIN_RETRY_AFTER_MS = 1_000;
const MAX_RETRY_AFTER_MS = 600_000;
const SHORTEST_INTERVAL_MS = 20;
/** How long a service may be unreachable while its job runs. */
const UNREACHABLE_MS = 120_000;
const CANCEL_MS = 5_000;
const URL_KEYS = ['status_url', 'statusUrl', 'status_uri', 'polling_url', 'href', 'url'];

/** With the agent's credentials if the address is of its endpoint's origin. */
type SendAgain = (
  method: string,
  url: string,
  limits: { timeoutMs: number; signal: AbortSignal },
) => Promise<EgressResponse>;

export interface LongJob {
  configuration: ApiConfiguration;
  call: AgentCall;
  sensitive: Sensitive;
  send: SendAgain;
  leftMs: () => number;
}

function rulesOf({ async: long, response }: ApiConfiguration): JobRules {
  return { ...long, response };
}

/** Redacted, for rules of the agent's configuration. */
function jobAnswerOf(answer: EgressResponse, sensitive: Sensitive): JobAnswer {
  const body = contentOf(answer, (base64, type) => ({ media_type: type, base64 }));
  const headers = sensitive.clean(answer.headers);
  // The assertion holds: it is a copy.
  return { status: answer.status, headers: headers as Record<string, string>, body: sensitive.clean(body) };
}

/**
 * The address of the job's state in an answer; null if it has none. Not redacted: it is an address to call.
 */
export function statusUrlOf(
  answer: EgressResponse,
  { configuration, sensitive }: Pick<LongJob, 'configuration' | 'sensitive'>,
): string | null {
  const { status_url: rule } = configuration.async ?? {};
  const { headers } = answer;
  let found: unknown;
  if (rule === undefined) {
    found = headers['operation-location'] ?? headers['azure-asyncoperation'] ?? headers['location'];
    if (found === undefined) found = urlIn(contentOf(answer, () => null));
  } else {
    const body = contentOf(answer, () => null);
    found = evaluated('status_url', sensitive, () =>
      evaluateRule(rule, body, { status: answer.status, headers, body }, callBudget()),
    );
  }
  if (typeof found !== 'string' || found === '' || !URL.canParse(found, answer.url)) return null;
  return new URL(found, answer.url).href;
}

/** As Replicate, Fal and others have it: `urls.get`, `status_url`. */
function urlIn(content: unknown): unknown {
  if (!isRecord(content)) return undefined;
  const { urls, _links: links } = content;
  if (isRecord(urls) && typeof urls['get'] === 'string') return urls['get'];
  if (isRecord(links) && isRecord(links['self'])) return links['self']['href'];
  return URL_KEYS.map((key) => content[key]).find((value) => typeof value === 'string');
}

/** How a job has ended, by an answer; null if it runs. Throws `Fault` for a job that has failed. */
export function endOfJob(
  { configuration, sensitive }: Pick<LongJob, 'configuration' | 'sensitive'>,
  answer: EgressResponse,
): { output: unknown } | null {
  const rules = rulesOf(configuration);
  const seen = jobAnswerOf(answer, sensitive);
  const state = evaluated('async', sensitive, () => jobStateOf(rules, seen, callBudget()));
  if (state === 'running') return null;
  if (state === 'succeeded')
    return { output: evaluated('response', sensitive, () => jobOutputOf(rules, seen, callBudget())) };
  const reason = evaluated('async', sensitive, () => jobErrorOf(rules, seen, callBudget()));
  throw fault('communication', `The job has failed${reason === '' ? '' : `: ${reason}`}`, { status: 502 });
}

/** Asks until the job has ended. @returns its output, and how often it asked */
export async function followJob(
  job: LongJob,
  statusUrl: string,
): Promise<{ output: unknown; requests: number }> {
  try {
    return await new JobFollower(job, statusUrl).follow();
  } catch (error) {
    if (await isToBeCancelled(job, error)) await cancelJob(job, statusUrl);
    throw error;
  }
}

/** The call has timed out, or somebody has cancelled it; not: another worker goes on with it. */
async function isToBeCancelled({ call }: LongJob, error: unknown): Promise<boolean> {
  if (error instanceof JobTimeout) return true;
  return call.signal.aborted && ((await call.cancelRequested?.()) ?? true);
}

class JobTimeout extends Fault {}

/** Tells the service that its job is not needed any more, if the configuration says how. */
export async function cancelJob(
  job: Pick<LongJob, 'configuration' | 'send'>,
  statusUrl: string,
): Promise<void> {
  const { cancel } = job.configuration.async ?? {};
  if (cancel === undefined || cancel === false) return;
  const { method = 'DELETE', path = '' } = cancel === true ? {} : cancel;
  try {
    const url = path === '' ? statusUrl : addressBelow(statusUrl, path);
    const limits = { timeoutMs: CANCEL_MS, signal: AbortSignal.timeout(CANCEL_MS) };
    await job.send(method.toUpperCase(), url, limits);
  } catch {
    // The attempt was best effort.
  }
}

/** The query of the address stays, unless the path brings one. */
function addressBelow(address: string, path: string): string {
  const url = new URL(address);
  const [below = '', query] = path.split('?');
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${below.replace(/^\//, '')}`;
  if (query !== undefined) url.search = query;
  return url.href;
}

class JobFollower {
  readonly #job: LongJob;
  readonly #statusUrl: string;
  #requests = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #reachedAt = Date.now();

  constructor(job: LongJob, statusUrl: string) {
    this.#job = job;
    this.#statusUrl = statusUrl;
  }

  async follow(): Promise<{ output: unknown; requests: number }> {
    let wantedMs: number | null = null;
    for (;;) {
      await this.#pause(wantedMs);
      const answer = await this.#ask();
      wantedMs = answer === null ? null : retryAfterMs(answer.headers['retry-after']);
      if (answer === null) continue;
      const end = endOfJob(this.#job, answer);
      if (end !== null) return { ...end, requests: this.#requests };
    }
  }

  async #pause(wantedMs: number | null): Promise<void> {
    const { configuration, call, leftMs } = this.#job;
    const { interval } = configuration.async ?? {};
    const ownMs =
      interval === undefined ? null : typeof interval === 'number' ? interval : durationToMs(interval);
    const pauseMs = wantedMs ?? (ownMs === null ? this.#pauseMs : Math.max(SHORTEST_INTERVAL_MS, ownMs));
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 1.5);
    if (leftMs() <= 1) throw this.#timeout();
    await sleep(Math.min(pauseMs, leftMs()), undefined, { signal: call.signal });
    if (leftMs() <= 1) throw this.#timeout();
  }

  #timeout(): JobTimeout {
    const { error } = fault('timeout', 'The job has not ended in time');
    return new JobTimeout(error);
  }

  /** Null: the service could not be asked, and may be asked again. */
  async #ask(): Promise<EgressResponse | null> {
    const { call, send, leftMs, sensitive } = this.#job;
    this.#requests++;
    let answer: EgressResponse;
    try {
      answer = await send('GET', this.#statusUrl, {
        timeoutMs: Math.min(60_000, leftMs()),
        signal: call.signal,
      });
    } catch (error) {
      if (call.signal.aborted || this.#isUnreachable() || !isPassing(error)) throw error;
      return null;
    }
    if (answer.status >= 500 || answer.status === 429 || answer.status === 408) {
      if (this.#isUnreachable()) throw statusFault(answer, 'GET', sensitive);
      // It may say when to ask again.
      return answer.headers['retry-after'] === undefined
        ? null
        : { ...answer, status: 202, bytes: new Uint8Array() };
    }
    this.#reachedAt = Date.now();
    if (answer.status < 200 || answer.status > 299) throw statusFault(answer, 'GET', sensitive);
    return answer;
  }

  #isUnreachable(): boolean {
    return Date.now() - this.#reachedAt > UNREACHABLE_MS;
  }
}

/** Whether the service may be reachable a moment later: it is no rule of ours that refuses it. */
function isPassing(error: unknown): boolean {
  return error instanceof Fault && (error.error.status === 503 || error.error.status === 408);
}

/** Seconds, or a date; null if it is no time to come. */
function retryAfterMs(header: string | undefined): number | null {
  if (header === undefined) return null;
  const seconds = /^\d{1,9}$/.test(header.trim())
    ? Number(header)
    : (Date.parse(header) - Date.now()) / 1_000;
  if (!(seconds > 0)) return null;
  return Math.min(MAX_RETRY_AFTER_MS, Math.max(MIN_RETRY_AFTER_MS, seconds * 1_000));
}

function evaluated<T>(key: string, sensitive: Sensitive, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const message = error instanceof Error ? sensitive.redact(error.message) : '';
    throw fault('expression', `"${key}" of the agent's configuration cannot be evaluated: ${message}`, {
      cause: error,
    });
  }
}
