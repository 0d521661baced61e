/** Checks of what listens on our ports: the api, A2A over gRPC, the metrics of api and worker. */
import { Client, credentials } from '@grpc/grpc-js';

import { splitPort } from '../../../config/env-types.ts';
import type { Env } from '../../../config/env.ts';
import { error, ok, reasonOf, warn, type Finding } from './finding.ts';

/** `/readyz` waits for PostgreSQL and the file store itself. */
const READY_MS = 5_000;
const ANSWER_MS = 4_000;
const API = 'api';

/** Where the api may be reached from here. */
export interface ApiAddresses {
  /** The first that a program answers at is the api's. */
  urls: string[];
  /** Where it is if none of those answers, perhaps on another machine. */
  elsewhere: string | null;
  /** It is expected to run, and not only after `npm start`. */
  isExpected: boolean;
}

type Answer =
  | { kind: 'away'; url: string; reason: string }
  | { kind: 'foreign'; url: string }
  | { kind: 'api'; url: string; finding: Finding };

/** Of the api, and of the other ports of the machine that it is on. */
export async function portFindings(env: Env, addresses: ApiAddresses): Promise<Finding[]> {
  const answers = await Promise.all(addresses.urls.map(askApi));
  const api = answers.find((answer) => answer.kind === 'api');
  if (api === undefined)
    return (
      await Promise.all([
        findingWithout(answers, addresses).then((finding) => [finding]),
        workerMetricsFindings(env),
      ])
    ).flat();
  const foreign = answers.filter(({ kind }) => kind === 'foreign').map(foreignFinding);
  const others = [grpcFindings(env, api.url), metricsFindings(env, api.url), workerMetricsFindings(env)];
  return [api.finding, ...foreign, ...(await Promise.all(others)).flat()];
}

async function askApi(url: string): Promise<Answer> {
  let answer: Response;
  try {
    answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(READY_MS) });
  } catch (cause) {
    const deeper = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause;
    // What speaks, but no HTTP, is another program, too. Of undici's error only the name says so.
    const speaks = deeper instanceof Error && deeper.name === 'HTTPParserError';
    return speaks ? { kind: 'foreign', url } : { kind: 'away', url, reason: reasonOf(deeper) };
  }
  const content: unknown = await answer.json().catch(() => null);
  if (!isReadiness(content)) return { kind: 'foreign', url };
  const problems = (content.problems ?? []).map(String);
  const detail = [`${url} answers ${answer.status}`, ...problems].join('. ');
  const judge = answer.ok ? (problems.length > 0 ? warn : ok) : error;
  return { kind: 'api', url, finding: judge(API, detail) };
}

function isReadiness(content: unknown): content is { checks: object; problems?: unknown[] } {
  return (
    typeof content === 'object' &&
    content !== null &&
    'checks' in content &&
    typeof content.checks === 'object' &&
    (!('problems' in content) || Array.isArray(content.problems))
  );
}

const foreignFinding = ({ url }: Pick<Answer, 'url'>): Finding =>
  error(API, `${url} is of another program, not of Cadenza. Stop that program, or set another PORT.`);

/** No api answers at the addresses of this machine. */
async function findingWithout(
  answers: readonly Answer[],
  { elsewhere, isExpected }: ApiAddresses,
): Promise<Finding> {
  const foreign = answers.find(({ kind }) => kind === 'foreign');
  if (foreign !== undefined) return foreignFinding(foreign);
  const tried = answers
    .map((answer) => `${answer.url} (${answer.kind === 'away' ? answer.reason : ''})`)
    .join(', ');
  if (!isExpected)
    return warn(API, `does not run: no answer from ${tried}. Start everything with npm start.`);
  const other = elsewhere === null ? null : await askApi(elsewhere);
  if (other?.kind === 'api') {
    const judge = other.finding.status === 'error' ? error : warn;
    return judge(
      API,
      `no answer from ${tried}; ${other.finding.detail}. If an api should run on this machine, start it.`,
    );
  }
  return error(API, `no answer from ${tried}. Start the api, and see its log.`);
}

async function grpcFindings({ A2A_GRPC_PORT: port }: Env, apiUrl: string): Promise<Finding[]> {
  if (port === undefined || port === 'off' || port === 0) return [];
  const check = 'gRPC';
  const address = `${new URL(apiUrl).hostname}:${port}`;
  const client = new Client(address, credentials.createInsecure());
  try {
    await new Promise<void>((resolve, reject) =>
      client.waitForReady(Date.now() + ANSWER_MS, (cause) => (cause ? reject(cause) : resolve())),
    );
    return [ok(check, address)];
  } catch (cause) {
    const todo = 'If another program has the port, set another A2A_GRPC_PORT; else see the log of the api.';
    return [error(check, `${address} does not answer as gRPC (${reasonOf(cause)}). ${todo}`)];
  } finally {
    client.close();
  }
}

/** What Prometheus gets of the api. */
async function metricsFindings({ METRICS_TOKEN: token }: Env, apiUrl: string): Promise<Finding[]> {
  if (token === undefined) return [];
  const check = 'metrics of the api';
  const url = `${apiUrl}/metrics`;
  try {
    const answer = await readMetrics(url, { authorization: `Bearer ${token}` });
    if (answer.text.includes('cadenza_')) return [ok(check, url)];
    const todo = 'Give all copies of the api, Prometheus and this command the same METRICS_TOKEN.';
    return [error(check, `${url} answers ${answer.status} to METRICS_TOKEN. ${todo}`)];
  } catch (cause) {
    return [error(check, `${url}: ${reasonOf(cause)}. See the log of the api.`)];
  }
}

async function workerMetricsFindings({ WORKER_METRICS_ADDRESS: address }: Env): Promise<Finding[]> {
  if (address === undefined) return [];
  const check = 'metrics of the worker';
  const { host, port } = splitPort(address);
  const url = `http://${['0.0.0.0', '[::]'].includes(host) ? 'localhost' : host}:${port ?? ''}/metrics`;
  try {
    const { text } = await readMetrics(url, {});
    return /^temporal_/m.test(text)
      ? [ok(check, url)]
      : [error(check, `${url} is of another program. Stop it, or set another WORKER_METRICS_ADDRESS.`)];
  } catch (cause) {
    // Workers may be on other machines.
    return [warn(check, `${url} does not answer (${reasonOf(cause)}). If a worker runs here, see its log.`)];
  }
}

async function readMetrics(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWER_MS) });
  return { status: answer.status, text: await answer.text() };
}
