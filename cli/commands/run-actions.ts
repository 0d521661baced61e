/** Cancel, suspend, resume and retry: one run, several, or all that filters find. */
import type { Command } from '@stricli/core';

import type { ActOnRunsRequest, Operations, Run, RunBatch } from '../../client/index.ts';
import { counted } from '../../contracts/counted.ts';
import type { Cli } from '../core/cli.ts';
import { commandOfMany, type Context } from '../core/command.ts';
import { CliError, EXIT, usageError, type ExitCode } from '../core/errors.ts';
import { count, flag, refuseFlags, text, texts, type ValuesOf } from '../core/flags.ts';
import { readForm } from '../core/form.ts';
import { confirm } from '../core/input.ts';
import { runFilters, runQuery } from '../core/run-filters.ts';
import { hasEnded, runView } from '../core/runs.ts';
import type { View } from '../core/table.ts';

type Action = ActOnRunsRequest['action'];

/** Runs that an action can work on, unless --status says otherwise. */
const DEFAULT_STATUS: Readonly<Record<Action, string>> = {
  cancel: 'pending,running,waiting,suspended',
  suspend: 'pending,running,waiting',
  resume: 'suspended',
  retry: 'faulted',
};
const OPERATION = {
  cancel: 'cancelRun',
  suspend: 'suspendRun',
  resume: 'resumeRun',
  retry: 'retryRun',
} as const satisfies Record<Action, keyof Operations>;

/** Of one request. */
const BATCH = 100;
/** Of one command. */
const MAX_RUNS = 1_000;
/** More are only acted on after a question. */
const UNASKED = 10;

const flags = {
  ...runFilters,
  status: { ...runFilters.status, brief: 'In one of these, separated by commas; default: where it can work' },
  every: flag('All that you may act on, if nothing else narrows them'),
  yes: flag('Do not ask before acting on many'),
};

/** Flags that find runs. */
const FINDING = [...Object.keys(runFilters), 'every'];

const DETAILS =
  'Names runs by their ids, or finds them: with --workflow, --tag and the other filters it acts on all ' +
  `that fit, after a question. At most ${MAX_RUNS} runs. JSON of one id is that run; of several, or of ` +
  'what filters find, a list with id, status (of HTTP) and run or problem: --jq ".[].run.status".';
const ASKS =
  'It asks the runs and does not wait for them: the printed status is the one at that moment. ' +
  'cadenza run get shows whether a run has followed.';
const MANY = { placeholder: 'RUN', brief: 'Ids of runs', records: 'run' } as const;

export function runAction(action: Action, brief: string): Command<Context> {
  return commandOfMany({
    brief,
    details: `${DETAILS} ${ASKS}`,
    flags,
    many: MANY,
    run: (cli, given, ids) => act(cli, action, given, ids),
  });
}

/** With changes it acts on one run only. */
export const retryRuns = commandOfMany({
  brief: 'Continue failed runs, each with a new run from the failed task on',
  details:
    `${DETAILS} With --revision, --from or an input it retries one run, and people are asked again ` +
    'what they have decided.',
  flags: {
    ...flags,
    revision: count('Revision of the workflow to continue with'),
    from: text('JSON pointer of the task to continue with', 'TASK'),
    input: texts('Field of the input of that task; a.b=c sets a field of a field', 'NAME=VALUE'),
    file: text('That input: a file of JSON or YAML, - for standard input', 'FILE'),
  },
  letters: { i: 'input', f: 'file' },
  many: MANY,
  run: async (cli, { revision, from, input: pairs, file, ...given }, ids) => {
    const input = await readForm(cli, { pairs, file }, {});
    if (revision === undefined && from === undefined && input === undefined)
      return act(cli, 'retry', given, ids);
    const [id] = ids;
    if (id === undefined || ids.length > 1) throw usageError('Name one run to retry it with changes.');
    refuseFlags(given, FINDING, 'together with the id of a run');
    const body = {
      ...(revision === undefined ? {} : { revision }),
      ...(from === undefined ? {} : { from }),
      ...(input === undefined ? {} : { input }),
    };
    const run = await cli.client.call('retryRun', { path: { id }, body, signal: cli.signal });
    await cli.out.record(run, runView);
    return EXIT.good;
  },
});

async function act(
  cli: Cli,
  action: Action,
  { every, yes, ...filters }: ValuesOf<typeof flags>,
  ids: readonly string[],
): Promise<ExitCode | void> {
  if (ids.length > 0) refuseFlags({ ...filters, every }, FINDING, 'together with ids of runs');
  const isFiltered = every === true || Object.keys(runFilters).some((name) => isGiven(filters, name));
  if (ids.length === 0 && !isFiltered) throw usageError('Name a run, or find runs with filters.');
  const [only] = ids;
  if (ids.length === 1 && only !== undefined) return actOnOne(cli, action, only);
  const chosen = isFiltered ? await find(cli, action, filters) : [...new Set(ids)];
  if (chosen.length > MAX_RUNS)
    throw new CliError(`These are more than ${MAX_RUNS} runs. Narrow them.`, { code: 'too_many_runs' });
  if (isFiltered && chosen.length === 0) return cli.say('No such runs.');
  if (isFiltered || chosen.length > UNASKED) {
    const what = chosen.length === 1 ? 'one run' : `${chosen.length} runs`;
    await confirm(cli, `${action[0]?.toUpperCase()}${action.slice(1)} ${what}?`, yes);
  }
  return actOnMany(cli, action, chosen);
}

const isGiven = (filters: Readonly<Record<string, unknown>>, name: string): boolean =>
  filters[name] !== undefined;

async function actOnOne(cli: Cli, action: Action, id: string): Promise<ExitCode> {
  const run = await cli.client.call(OPERATION[action], { path: { id }, signal: cli.signal });
  sayAsked(cli, action, [run]);
  await cli.out.record(run, runView);
  return EXIT.good;
}

/** Whether a run has done what an action asks for. */
const HAS_FOLLOWED: Readonly<Record<Action, (status: Run['status']) => boolean>> = {
  cancel: (status) => hasEnded({ status }),
  suspend: (status) => status === 'suspended',
  resume: (status) => status !== 'suspended',
  // The answer is the new run.
  retry: () => true,
};

/** The status that is printed is the one before, until the run has followed. */
function sayAsked(cli: Cli, action: Action, runs: readonly Pick<Run, 'status'>[]): void {
  const asked = runs.filter(({ status }) => !HAS_FOLLOWED[action](status));
  if (asked.length > 0) cli.say(`${counted(asked.length, 'run')} asked to ${action}.`);
}

/** Ids of the newest that fit, and one more than allowed if there are more. */
async function find(cli: Cli, action: Action, filters: Parameters<typeof runQuery>[1]): Promise<string[]> {
  const given = await runQuery(cli, filters);
  const query = {
    ...given,
    status: given.status ?? DEFAULT_STATUS[action],
    view: 'summary',
    limit: 200,
  } as const;
  const ids: string[] = [];
  for await (const { id } of cli.client.items('listRuns', { query, signal: cli.signal })) {
    ids.push(id);
    if (ids.length > MAX_RUNS) break;
  }
  return ids;
}

type Result = RunBatch['results'][number];

const resultView: View<Result> = {
  columns: [
    ['id', ({ id, run }) => run?.id ?? id],
    ['status', ({ run, problem }) => run?.status ?? problem?.status],
    ['', ({ run, problem }) => problem?.detail ?? run?.workflow_name],
  ],
  name: ({ id, run }) => run?.id ?? id,
  wraps: true,
};

async function actOnMany(cli: Cli, action: Action, ids: readonly string[]): Promise<ExitCode> {
  const results: Result[] = [];
  for (let from = 0; from < ids.length; from += BATCH) {
    const body = { action, ids: ids.slice(from, from + BATCH) };
    // A repeated request acts once.
    const idempotencyKey = crypto.randomUUID();
    const batch = await cli.client.call('actOnRuns', { body, idempotencyKey, signal: cli.signal });
    results.push(...batch.results);
  }
  const runs = results.flatMap(({ run }) => run ?? []);
  sayAsked(cli, action, runs);
  await cli.out.list(results, resultView);
  const refused = results.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
  if (refused.length === 0) return EXIT.good;
  cli.say(`${refused.length} of ${results.length} were refused.`);
  return refused.every(({ status }) => status === 409) ? EXIT.conflict : EXIT.failed;
}
