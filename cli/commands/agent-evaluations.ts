/** Evaluations: versions of an agent, side by side on a data set. */
import { setTimeout as pause } from 'node:timers/promises';

import type {
  EvaluateAgentRequest,
  Evaluation,
  EvaluationCaseWithResults,
  EvaluationFigures,
} from '../../client/index.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { AGENT } from '../core/agents.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command } from '../core/command.ts';
import { CliError, EXIT, type ExitCode } from '../core/errors.ts';
import { choice, count, flag, seconds, text, texts } from '../core/flags.ts';
import { confirm, parseDocument, readText } from '../core/input.ts';
import { collect, listFlags, pageOf, viewOf } from '../core/lists.ts';
import { agentId } from '../core/names.ts';
import { errorText } from '../core/runs.ts';
import type { View } from '../core/table.ts';

const EVALUATION = argument('EVALUATION', 'Id');
const ASK_EVERY_MS = 1_000;

const figures = (one: EvaluationFigures): string =>
  [
    `${one.version}: score ${one.score.toFixed(2)}`,
    `${one.passed} passed`,
    `${one.failed} failed`,
    `${one.errors} errors`,
    ...(one.regressed > 0 ? [`${one.regressed} regressed`] : []),
    ...(one.improved > 0 ? [`${one.improved} improved`] : []),
    ...(one.latency_ms === null ? [] : [`p50 ${one.latency_ms.p50} ms, p95 ${one.latency_ms.p95} ms`]),
    ...(one.used.cost_usd === null ? ['cost unknown'] : [`${one.used.cost_usd} USD`]),
  ].join(', ');

const evaluationView: View<Evaluation> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['status', ({ status }) => status],
    ['cases', ({ cases }) => cases],
    ['scores', ({ report, versions }) => scoresOf(report, versions)],
    ['created', (row) => row.created_at],
  ],
  name: ({ id }) => id,
  lines: ({ id, name, status, run_id: run, cases, report, error }) => [
    `${name ?? 'Evaluation'} ${id}: ${status}, ${cases} cases`,
    ...(run === null ? [] : [`run ${run}`]),
    ...(error === null ? [] : [errorText(error)]),
    ...(report?.versions.map(figures) ?? []),
    ...(report === null ? [] : [`outputs of ${report.differing} cases differ`]),
  ],
  none: 'No evaluations: cadenza agent evaluate AGENT FILE',
};

function scoresOf(report: Evaluation['report'], versions: readonly string[]): string {
  if (report === null) return versions.join(', ');
  return report.versions.map(({ version, score }) => `${version} ${score.toFixed(2)}`).join(', ');
}

const caseView: View<EvaluationCaseWithResults> = {
  columns: [
    ['case', ({ id, number }) => id ?? number],
    ['marks', ({ marks }) => marks],
    [
      'results',
      ({ results }) =>
        (results ?? [])
          .map(({ version, status, failed, error }) =>
            [version, status, ...(error === undefined ? failed : [error])].join(' '),
          )
          .join('; '),
    ],
  ],
  name: ({ id, number }) => id ?? String(number),
  none: 'No cases.',
};

/** A list of cases, a case on each line of JSON, or all fields of an evaluation. */
async function readEvaluation(cli: Cli, path: string): Promise<Record<string, unknown>> {
  const source = await readText(cli, path);
  const name = path === '-' ? 'standard input' : path;
  const lines = source.split('\n').filter((line) => line.trim() !== '');
  const value: unknown =
    lines.length > 1 && lines.every((line) => /^\s*\{.*\}\s*$/.test(line))
      ? await Promise.all(lines.map((line, index) => parseDocument(line, `${name}, case ${index + 1}`)))
      : await parseDocument(source, name);
  if (Array.isArray(value)) return { cases: value };
  if (!isRecord(value)) throw new CliError(`${name} has no cases.`, { code: 'file_unreadable' });
  return Object.hasOwn(value, 'cases') || Object.hasOwn(value, 'file_id') ? value : { cases: [value] };
}

/** Starts it with the text of CSV, which the server reads by the agent's schemas. */
async function evaluateCsv(
  cli: Cli,
  id: string,
  csv: string,
  { versions, judge, ...query }: Fields,
  idempotencyKey: string,
): Promise<Evaluation> {
  return cli.client.call('evaluateAgent', {
    path: { id },
    query: {
      ...query,
      ...(versions === undefined ? {} : { versions: versions.join(',') }),
      ...(judge === undefined ? {} : { judge: judge.agent }),
      ...(judge?.criteria === undefined ? {} : { criteria: judge.criteria }),
    },
    body: new Blob([csv], { type: 'text/csv' }),
    idempotencyKey,
    signal: cli.signal,
  });
}

type Fields = Pick<EvaluateAgentRequest, 'name' | 'versions' | 'judge' | 'concurrency'>;

const WAIT = seconds('Wait for the report, but at most this long, such as 5m; exits with 6 after it');

export const evaluate = command({
  brief: 'Try versions of an agent on a data set, side by side',
  details:
    'FILE has a list of cases {id, input, expected, checks, weight}, a case on each line, or an object ' +
    'with `cases` and the other fields of POST /agents/{id}/evaluate. Of CSV (a name that ends in .csv) ' +
    'each row is a case, with fields of the input and `expected` in its columns. With --wait it exits ' +
    'with 3 unless all calls were made, and no version does worse than the first one on any case.',
  flags: {
    name: text('To find it by', 'TEXT'),
    version: texts('A version, range or draft; may be repeated', 'VERSION'),
    judge: text('An agent that judges the outputs: name or id', 'AGENT'),
    criteria: text('What the judge goes by', 'TEXT'),
    concurrency: count('Calls of each version at the same time (default 5)'),
    wait: WAIT,
  },
  arguments: [AGENT, argument('FILE', 'CSV, YAML, JSON or lines of JSON, - for standard input')],
  run: async (cli, { wait, version, judge, criteria, concurrency, name }, given, file) => {
    const fields: Fields = {
      ...(name === undefined ? {} : { name }),
      ...(version === undefined ? {} : { versions: [...version] }),
      ...(judge === undefined
        ? {}
        : { judge: { agent: judge, ...(criteria === undefined ? {} : { criteria }) } }),
      ...(concurrency === undefined ? {} : { concurrency }),
    };
    const id = await agentId(cli, given);
    const idempotencyKey = crypto.randomUUID();
    const { signal } = cli;
    const started = /\.csv$/i.test(file)
      ? await evaluateCsv(cli, id, await readText(cli, file), fields, idempotencyKey)
      : await cli.client.call('evaluateAgent', {
          path: { id },
          body: { ...(await readEvaluation(cli, file)), ...fields },
          idempotencyKey,
          signal,
        });
    return report(cli, started, wait);
  },
});

/** Shows it, after a wait if that is asked for. */
async function report(cli: Cli, started: Evaluation, wait: number | undefined): Promise<ExitCode> {
  const now = wait === undefined ? started : await waitForReport(cli, started, wait);
  await cli.out.record(now, evaluationView);
  return wait === undefined ? EXIT.good : exitOf(now);
}

export const retryEvaluation = command({
  brief: 'Try the cases of an evaluation again that ended in an error',
  details:
    'Starts another evaluation, whose report has all cases: the others keep their results. With --failed ' +
    'also the cases that failed. With --wait it exits as `agent evaluate`.',
  flags: {
    failed: flag('Also cases that failed'),
    concurrency: count('Calls of each version at the same time (default 5)'),
    wait: WAIT,
  },
  arguments: [EVALUATION],
  run: async (cli, { failed, concurrency, wait }, id) => {
    const body = {
      only: failed === true ? ['error' as const, 'failed' as const] : ['error' as const],
      ...(concurrency === undefined ? {} : { concurrency }),
    };
    const idempotencyKey = crypto.randomUUID();
    const { signal } = cli;
    const started = await cli.client.call('retryEvaluation', { path: { id }, body, idempotencyKey, signal });
    return report(cli, started, wait);
  },
});

async function waitForReport(cli: Cli, started: Evaluation, wait: number): Promise<Evaluation> {
  const path = { id: started.id };
  const deadline = Date.now() + wait * 1_000;
  let now = started;
  while (now.status === 'running' && Date.now() < deadline) {
    await pause(Math.min(ASK_EVERY_MS, Math.max(0, deadline - Date.now())), undefined, {
      signal: cli.signal,
    });
    now = await cli.client.call('getEvaluation', { path, signal: cli.signal });
  }
  return now;
}

function exitOf({ status, report }: Evaluation): ExitCode {
  if (status === 'running') return EXIT.ranOut;
  const isGood = report?.versions.every(({ errors, regressed }) => errors === 0 && regressed === 0) ?? false;
  return isGood ? EXIT.good : EXIT.no;
}

export const evaluations = command({
  brief: 'List the evaluations of an agent, newest first',
  flags: listFlags,
  arguments: [AGENT],
  run: async (cli, flags, given) => {
    const path = { id: await agentId(cli, given) };
    const items = cli.client.items('listEvaluations', { path, query: pageOf(flags), signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), evaluationView);
  },
});

export const evaluation = command({
  brief: 'Show an evaluation with its report',
  arguments: [EVALUATION],
  run: async (cli, _flags, id) => {
    await cli.out.record(
      await cli.client.call('getEvaluation', { path: { id }, signal: cli.signal }),
      evaluationView,
    );
  },
});

export const evaluationCases = command({
  brief: 'List the cases of an evaluation with what each version has given',
  flags: {
    ...listFlags,
    only: choice('Only these', ['failed', 'error', 'regressed', 'improved', 'differs']),
  },
  arguments: [EVALUATION],
  run: async (cli, { only, ...flags }, id) => {
    const query = { only, ...pageOf(flags) };
    const items = cli.client.items('listEvaluationCases', { path: { id }, query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), viewOf(caseView, { only }));
  },
});

export const deleteEvaluation = command({
  brief: 'Delete an evaluation that has ended, with its report',
  flags: { yes: flag('Do not ask') },
  arguments: [EVALUATION],
  hasData: false,
  run: async (cli, { yes }, id) => {
    await confirm(cli, `Delete the evaluation ${id}?`, yes);
    await cli.client.call('deleteEvaluation', { path: { id }, signal: cli.signal });
    cli.say(`Deleted the evaluation ${id}.`);
  },
});
