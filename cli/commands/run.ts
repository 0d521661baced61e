/** Runs: start, watch, look, act. */
import { buildRouteMap } from '@stricli/core';

import { ApiError, type LogEntry, type Operations, type Run } from '../../client/index.ts';
import type { Cli } from '../core/cli.ts';
import { attachFlag, withFiles } from '../core/attach.ts';
import { budgetFlags, budgetOf } from '../core/budget-flags.ts';
import { argument, command, type Context } from '../core/command.ts';
import { diagramFlags, draw } from '../core/diagram.ts';
import { CliError, EXIT, usageError, type ExitCode } from '../core/errors.ts';
import { choice, flag, refuseFlags, seconds, text, texts, type ValuesOf } from '../core/flags.ts';
import { checkForm, readForm } from '../core/form.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { ofTeam, startableId } from '../core/names.ts';
import { runFilters, runQuery } from '../core/run-filters.ts';
import {
  endOf,
  followRun,
  hasEnded,
  logLine,
  runDetailView,
  runView,
  sayEnd,
  statsView,
} from '../core/runs.ts';
import { lastPart } from '../core/text.ts';
import { retryRuns, runAction } from './run-actions.ts';
import { task, tasks } from './run-tasks.ts';
import { openPage } from './status.ts';

const RUN = argument('RUN', 'Id of a run', 'run');
export const inputFlags = {
  input: texts('Field of the input; address.city=Bonn sets a field of a field', 'NAME=VALUE'),
  file: text('Input: a file of JSON or YAML, - for standard input', 'FILE'),
  attach: attachFlag,
};
export const endFlags = {
  watch: flag('Follow the log to the end; exits with 3 unless the run completes'),
  wait: seconds('Wait for the end, but at most this long: 60s, 5m, or 30 for seconds; exits with 6 after it'),
};

const start = command({
  brief: 'Start a run of a workflow',
  details: 'The input is checked against the schema of the workflow before anything starts.',
  flags: {
    ...inputFlags,
    key: text('Start nothing while a run with this key and the same input lives: give that run', 'KEY'),
    tag: texts('A tag to find the run by; may be repeated', 'TAG'),
    label: texts('A label to find the run by; may be repeated', 'NAME=VALUE'),
    ...budgetFlags,
    ...endFlags,
  },
  letters: { i: 'input', f: 'file', w: 'watch' },
  arguments: [argument('WORKFLOW', 'Name or id', 'startable')],
  run: async (cli, { input: pairs, file, attach, key, tag, label, watch, wait, ...limits }, given) => {
    const end = { watch, wait };
    checkEnd(end);
    const budget = budgetOf(limits);
    const more = {
      ...(budget === undefined ? {} : { budget }),
      ...(key === undefined ? {} : { key }),
      ...(tag === undefined ? {} : { tags: [...tag] }),
      ...(label === undefined ? {} : { labels: labelsIn(label) }),
    };
    return toEnd(cli, await startRun(cli, given, { pairs, file, attach }, more), end);
  },
});

function labelsIn(pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map((pair): [string, string] => {
    const at = pair.indexOf('=');
    if (at < 1) throw usageError(`--label ${pair} is not name=value.`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return Object.fromEntries(entries);
}

/** Starts a run of the workflow with this name or id, if its input fits. */
export async function startRun(
  cli: Cli,
  given: string,
  sources: {
    pairs?: readonly string[] | undefined;
    file: string | undefined;
    attach?: readonly string[] | undefined;
  },
  more: Pick<NonNullable<Operations['runWorkflow']['body']>, 'key' | 'tags' | 'labels' | 'budget'> = {},
): Promise<Run> {
  const path = { id: await startableId(cli, given) };
  const schema = await inputSchema(cli, path);
  const read = await readForm(cli, { pairs: undefined, ...sources }, schema);
  const uploadFor = { workflow: path.id };
  const input = (await withFiles(cli, read, sources.attach ?? [], { schema, uploadFor })) ?? {};
  await checkForm(schema, input, '/input_params');
  return cli.client.call('runWorkflow', {
    path,
    // Checked by the server, which says what is wrong with anything but an object.
    body: { input_params: input as Record<string, unknown>, ...more },
    idempotencyKey: crypto.randomUUID(),
    signal: cli.signal,
  });
}

/** Runners see no more of a workflow than its name and this schema. */
async function inputSchema({ client, signal }: Cli, path: { id: string }): Promise<unknown> {
  try {
    return (await client.call('getWorkflow', { path, signal })).input_schema;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
    return (await client.call('getStartableWorkflow', { path, signal })).input_schema;
  }
}

type EndFlags = ValuesOf<typeof endFlags>;

/** Before the run starts. @throws CliError */
export function checkEnd({ watch, wait }: EndFlags): void {
  if (watch === true) refuseFlags({ wait }, ['wait'], 'together with --watch');
}

/** Follows or waits for a run that has just started, if the user wants it. */
export async function toEnd(cli: Cli, run: Run, { watch, wait }: EndFlags): Promise<ExitCode> {
  if (watch === true) {
    cli.say(`Run ${run.id}`);
    return followRun(cli, run.id);
  }
  const now = wait === undefined || hasEnded(run) ? run : await endOf(cli, run.id, Date.now() + wait * 1_000);
  await cli.out.record(now, runDetailView);
  if (wait === undefined) return EXIT.good;
  if (hasEnded(now)) return sayEnd(cli, now);
  cli.say(`Run ${now.id} is ${now.status} after ${wait} s.`);
  return EXIT.ranOut;
}

const list = command({
  brief: 'List your runs, newest first',
  flags: { ...listFlags, ...runFilters },
  run: async (cli, flags) => {
    await cli.requireLogIn();
    const query = { ...(await runQuery(cli, flags)), ...pageOf(flags) };
    await cli.out.list(
      await collect(cli, cli.client.items('listRuns', { query, signal: cli.signal }), flags),
      runView,
    );
  },
});

const stats = command({
  brief: 'Count your runs by hour or day',
  details:
    'Prints the hours or days, in UTC, in which something happened. Lengths are those of completed runs.',
  flags: {
    by: choice('Default: hour', ['hour', 'day']),
    workflow: text('Runs of this workflow', 'WORKFLOW'),
    team: text('Runs of workflows of this team, for its builders whoever started them', 'TEAM'),
    last: seconds('How far back, such as 12h or 30d. Default: 24 hours or 14 days'),
  },
  run: async (cli, { by, workflow, team, last }) => {
    await cli.requireLogIn();
    const query = {
      by,
      workflow_id: workflow === undefined ? undefined : await startableId(cli, workflow),
      ...(await ofTeam(cli, team)),
      from: last === undefined ? undefined : new Date(Date.now() - last * 1_000).toISOString(),
    };
    const { series } = await cli.client.call('getRunStats', { query, signal: cli.signal });
    await cli.out.list(series[0]?.buckets ?? [], statsView);
  },
});

const get = command({
  brief: 'Show a run with its tasks as a tree',
  arguments: [RUN],
  run: async (cli, _flags, id) => {
    await cli.out.record(
      await cli.client.call('getRun', { path: { id }, signal: cli.signal }),
      runDetailView,
    );
  },
});

const watch = command({
  brief: 'Follow the log of a run to its end; exits with 3 unless the run completes',
  isStream: true,
  arguments: [RUN],
  run: (cli, _flags, id) => followRun(cli, id),
});

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

const logs = command({
  brief: 'Print the log of a run',
  isStream: true,
  flags: {
    follow: flag('Follow the log to the end of the run'),
    step: text('Only this task: its name, or its JSON pointer', 'TASK'),
    level: choice('This level and more severe ones', LEVELS),
  },
  letters: { f: 'follow' },
  arguments: [RUN],
  run: async (cli, { follow, step, level }, id) => {
    const pointer = step?.startsWith('/') === true ? step : undefined;
    const shows = (entry: LogEntry): boolean =>
      isAtLeast(entry.level, level) &&
      (step === undefined || (entry.task !== null && (entry.task === step || lastPart(entry.task) === step)));
    if (follow === true) return followRun(cli, id, shows);
    const query = { level, task: pointer };
    for await (const entry of cli.client.items('listRunLogs', { path: { id }, query, signal: cli.signal }))
      if (shows(entry)) await cli.out.event(entry, () => logLine(entry, cli.out.paint));
    return EXIT.good;
  },
});

const isAtLeast = (level: LogEntry['level'], least: LogEntry['level'] = 'debug'): boolean =>
  LEVELS.indexOf(level) >= LEVELS.indexOf(least);

const terminate = command({
  brief: 'End a run that is stuck, at once and without its own cleaning up; for admins',
  flags: { reason: text('Why, for the log', 'TEXT'), yes: flag('Do not ask') },
  arguments: [RUN],
  run: async (cli, { reason, yes }, id) => {
    await confirm(cli, `Terminate run ${id}? Nothing of it is cleaned up.`, yes);
    const body = reason === undefined ? {} : { reason };
    await cli.out.record(await cli.client.call('terminateRun', { path: { id }, body }), runView);
  },
});

const open = command({
  brief: 'Open a run in the console',
  flags: { print: flag('Print the address only') },
  arguments: [RUN],
  hasData: false,
  run: async (cli, { print }, id) => {
    if (!/^[\w-]+$/.test(id)) throw new CliError(`${id} is no id.`, { code: 'usage', exitCode: EXIT.usage });
    openPage(cli, `runs/${id}`, print === true);
  },
});

const diagram = command({
  brief: 'Draw a run with the state of its tasks, as Mermaid or SVG',
  flags: diagramFlags,
  arguments: [RUN],
  hasData: false,
  run: (cli, flags, id) => draw(cli, 'getRunDiagram', id, flags),
});

const routes = {
  start,
  list,
  stats,
  get,
  tasks,
  task,
  diagram,
  watch,
  logs,
  cancel: runAction('cancel', 'Cancel runs'),
  suspend: runAction('suspend', 'Suspend runs: tasks in progress finish, nothing new starts'),
  resume: runAction('resume', 'Resume suspended runs'),
  retry: retryRuns,
  terminate,
  open,
};

export const runCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Runs: start, watch, look, act' },
});
