/** External workers: their tokens, their jobs, and a worker that runs a program. */
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { delimiter, join } from 'node:path';
import { buildRouteMap } from '@stricli/core';

import {
  ApiError,
  createWorker,
  JobError,
  type Job,
  type JobContext,
  type JobEnd,
  type WorkerJob,
  type WorkerToken,
} from '../../client/index.ts';
import { AGENT } from '../core/agents.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command, commandOfMany, FRESH_LOG_IN, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { choice, count, flag, seconds, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf, viewOf } from '../core/lists.ts';
import { agentId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { ago, oneLine } from '../core/text.ts';
import { awaited } from './user.ts';

const TOKEN = argument('TOKEN', 'Id of a token');
const STATUSES = ['waiting', 'leased', 'completed', 'failed', 'timed_out', 'cancelled'] as const;

const jobView: View<Job> = {
  columns: [
    ['id', ({ id }) => id],
    ['status', ({ status }) => status],
    ['queue', ({ queue }) => queue],
    ['attempt', ({ attempt, max_attempts: most }) => `${attempt}/${most}`],
    ['worker', ({ worker }) => worker && oneLine(worker)],
    ['progress', ({ progress, last_error: error }) => oneLine(progress ?? error ?? '')],
    ['created', ({ created_at: at }) => ago(at)],
    ['run', (job) => job.run_id],
  ],
  name: ({ id }) => id,
  none: 'No jobs.',
};

const tokenView: View<WorkerToken> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => oneLine(name)],
    ['agents', (token) => String(token.agent_ids.length)],
    ['expires', (token) => token.expires_at],
    ['last used', ({ last_used: at }) => (at === null ? 'never' : ago(at))],
    ['waits for', awaited],
  ],
  name: ({ id }) => id,
  none: 'No tokens: cadenza worker create-token AGENT NAME',
};

const jobs = command({
  brief: 'List the jobs of an agent, newest first',
  flags: {
    ...listFlags,
    status: choice('With this status', STATUSES),
    queue: text('Of this queue', 'NAME'),
    run: text('Of this run', 'RUN'),
  },
  arguments: [AGENT],
  run: async (cli, { status, queue, run, ...flags }, given) => {
    const path = { id: await agentId(cli, given) };
    const filters = { status, queue, run_id: run };
    const query = { ...filters, ...pageOf(flags) };
    const items = cli.client.items('listJobs', { path, query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), viewOf(jobView, filters));
  },
});

const queue = command({
  brief: 'Show how many jobs of an agent wait, and which workers were seen lately',
  arguments: [AGENT],
  run: async (cli, _flags, given) => {
    const path = { id: await agentId(cli, given) };
    await cli.out.value(await cli.client.call('getJobQueue', { path, signal: cli.signal }));
  },
});

const tokens = command({
  brief: "List the tokens of an agent's workers",
  flags: listFlags,
  arguments: [AGENT],
  run: async (cli, flags, given) => {
    const path = { id: await agentId(cli, given) };
    const query = pageOf(flags);
    const items = cli.client.items('listWorkerTokens', { path, query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), tokenView);
  },
});

const createToken = command({
  brief: 'Create a token for workers of an agent; it is shown once',
  details: FRESH_LOG_IN,
  flags: { expires: seconds('How long it is valid, such as 30d') },
  arguments: [AGENT, argument('NAME', 'Where it is used')],
  run: async (cli, { expires }, given, name) => {
    const path = { id: await agentId(cli, given) };
    const expiresAt = expires === undefined ? {} : { expires_at: inSeconds(expires) };
    const body = { name, ...expiresAt };
    await cli.out.value(await cli.client.call('createWorkerToken', { path, body, signal: cli.signal }));
  },
});

const inSeconds = (after: number): string => new Date(Date.now() + after * 1_000).toISOString();

const deleteToken = command({
  brief: 'End a token, at once',
  flags: { yes: flag('Do not ask') },
  arguments: [AGENT, TOKEN],
  hasData: false,
  run: async (cli, { yes }, given, token) => {
    const path = { id: await agentId(cli, given), token_id: token };
    await confirm(cli, `End the token ${token}?`, yes);
    await cli.client.call('deleteWorkerToken', { path, signal: cli.signal });
    cli.say(`Ended the token ${token}.`);
  },
});

const run = commandOfMany({
  brief: 'Work on the jobs of an agent with a program, until Ctrl-C',
  details:
    'The program runs once for each job: it reads the input as JSON on standard input and writes the ' +
    'output, JSON or else text, to standard output. If it ends with another code than 0, the job fails ' +
    'with the end of what it has written to standard error, and is handed out again. CADENZA_JOB_ID, ' +
    'CADENZA_ATTEMPT and CADENZA_IDEMPOTENCY_KEY name the job. If nobody waits for the job any more, the ' +
    'program gets SIGTERM. Each job that has ended is a line on standard error. With a token of the worker ' +
    'in CADENZA_TOKEN no log-in is needed; name the agent by its id then.',
  flags: {
    concurrency: count('Jobs at once (default 1)'),
    queue: text('Only jobs of this queue', 'NAME'),
    name: text('Name of this worker; default: that of the machine', 'NAME'),
  },
  many: {
    placeholder: 'AGENT -- COMMAND',
    brief: 'The agent, and the program with its arguments',
    minimum: 2,
  },
  hasData: false,
  run: async (
    cli,
    { concurrency = 1, queue: ofQueue, name = hostname() },
    [given = '', file = '', ...args],
  ) => {
    requireProgram(cli.env, file);
    await cli.requireLogIn();
    const worker = createWorker({
      client: cli.client,
      agents: [await agentId(cli, given)],
      concurrency: Math.max(1, concurrency),
      name,
      ...(ofQueue === undefined ? {} : { queue: ofQueue }),
      onProblem: (problem, job) => {
        // A refused output is the end of its job.
        if (isRefusedOutput(problem)) return;
        cli.say(`${job === undefined ? '' : `job ${job.id}: `}${reasonOf(problem)}`);
      },
      onEnd: (end) => cli.say(endOf(end, given)),
      handler: (job, context) => runProgram(cli.env, [file, ...args], job, context),
    });
    cli.signal.addEventListener('abort', () => void worker.stop(), { once: true });
    cli.say('Waiting for jobs. Ctrl-C ends this.');
    await worker.done;
  },
});

/** @throws CliError if it would fail for every job */
function requireProgram({ PATH = '' }: Cli['env'], file: string): void {
  const paths = file.includes('/') ? [file] : PATH.split(delimiter).map((folder) => join(folder, file));
  const found = paths.filter(isFile);
  if (found.length === 0) throw usageError(`There is no program ${file}.`);
  if (!found.some(isExecutable)) throw usageError(`You may not execute ${found.join(', ')}.`);
}

/** A folder of PATH that may not be read, or is no path at all, has no program; the next one may have it. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function endOf({ job, tookMs, error }: JobEnd, agent: string): string {
  const took = `${(tookMs / 1_000).toFixed(1)} s`;
  const what = oneLine(`job ${job.id} of ${agent}`);
  return error === undefined
    ? `${what} completed in ${took}`
    : `${what} failed after ${took}: ${reasonOf(error)}`;
}

const isRefusedOutput = (problem: unknown): boolean =>
  problem instanceof ApiError && [413, 422].includes(problem.status);

/** On one line. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(String(error));
  if (error instanceof ProgramError) return oneLine(error.summary);
  if (!(error.cause instanceof ApiError)) return oneLine(error.message);
  const { detail, errors } = error.cause;
  const places = errors.map(({ pointer, message }) => `${pointer}: ${message}`).join('; ');
  return oneLine(`the output was refused: ${places || detail}`);
}

/** Lines of standard error that are shown. */
const SHOWN_LINES = 3;

/** Its message, which the run gets, has all that is kept of standard error. */
class ProgramError extends JobError {
  readonly summary: string;

  constructor(end: string, said: string) {
    super(said === '' ? end : `${end}: ${said}`);
    const shown = said.split('\n').slice(-SHOWN_LINES).join(' / ');
    this.summary = shown === '' ? end : `${end}: ${shown}`;
  }
}

/** What a program may write to standard output, and how much of its standard error is kept. */
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const MAX_ERROR = 2_000;
const KILL_MS = 10_000;

async function runProgram(
  env: Cli['env'],
  [file = '', ...args]: readonly string[],
  job: WorkerJob,
  { signal }: JobContext,
): Promise<unknown> {
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...env,
      // The program has no need of it.
      CADENZA_TOKEN: undefined,
      CADENZA_JOB_ID: job.id,
      CADENZA_ATTEMPT: String(job.attempt),
      CADENZA_IDEMPOTENCY_KEY: job.idempotency_key,
    },
  });
  const chunks: Buffer[] = [];
  let size = 0;
  let said = '';
  const stop = (): void => {
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), KILL_MS).unref();
  };
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_OUTPUT_BYTES) chunks.push(chunk);
    else stop();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-MAX_ERROR);
  });
  // A program that does not read its input is none the worse.
  child.stdin.on('error', () => undefined).end(JSON.stringify(job.input));
  signal.addEventListener('abort', stop, { once: true });
  const { promise, resolve, reject } = Promise.withResolvers<number | string>();
  child.on('error', reject).on('close', (code, killedBy) => resolve(code ?? killedBy ?? 'nothing'));
  const code = await promise;
  signal.removeEventListener('abort', stop);
  if (size > MAX_OUTPUT_BYTES)
    throw new JobError(`${file} wrote more than ${MAX_OUTPUT_BYTES} bytes`, { retry: false });
  if (code !== 0) throw new ProgramError(`${file} ended with ${code}`, said.trim());
  return outputOf(Buffer.concat(chunks).toString('utf8'));
}

function outputOf(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}

const routes = { run, jobs, queue, tokens, createToken, deleteToken };

export const workerCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'External workers: run one, look at its jobs, make tokens' },
});
