/** The tasks of a run: how often and how long, and what went in and came out. */
import type { RunTask, RunTaskGroup } from '../../client/index.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command } from '../core/command.ts';
import { CliError } from '../core/errors.ts';
import { count, flag, refuseFlags, text } from '../core/flags.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { duration, errorText, lengthText } from '../core/runs.ts';
import type { View } from '../core/table.ts';
import { lastPart } from '../core/text.ts';

const RUN = argument('RUN', 'Id of a run', 'run');

const groupView: View<RunTaskGroup> = {
  columns: [
    ['name', ({ name }) => name],
    ['type', ({ type }) => type],
    ['visits', (group) => group.count],
    ['completed', ({ completed }) => completed],
    ['faulted', ({ faulted }) => faulted || ''],
    ['unfinished', ({ unfinished }) => unfinished || ''],
    ['total', (group) => lengthText(group.total_ms)],
    ['task', ({ reference }) => reference],
  ],
  name: ({ reference }) => reference,
  none: 'No task has started.',
};

const visitView: View<RunTask> = {
  columns: [
    ['name', ({ name }) => name],
    ['visit', ({ visit }) => visit],
    ['attempt', ({ attempt }) => attempt],
    ['status', ({ status }) => status],
    ['took', (one) => duration(one.started_at, one.finished_at)],
    ['task', ({ reference }) => reference],
    ['error', ({ error }) => error && errorText(error)],
  ],
  name: ({ reference }) => reference,
  wraps: true,
  none: 'No such task has started.',
};

export const tasks = command({
  brief: 'List the tasks of a run in the order in which they started, with their counts and times',
  flags: {
    ...listFlags,
    visits: flag('Each visit of a task by itself'),
    step: text('With --visits: only those of this task: its name, or its JSON pointer', 'TASK'),
    status: text('With --visits: one or more of running, waiting, faulted, …, separated by commas', 'STATUS'),
  },
  arguments: [RUN],
  run: async (cli, { visits, step, status, ...flags }, id) => {
    const { signal } = cli;
    const [path, page] = [{ id }, pageOf(flags)];
    if (visits !== true) {
      refuseFlags({ step, status }, ['step', 'status'], 'without --visits');
      const groups = cli.client.items('listRunTaskGroups', { path, query: page, signal });
      await cli.out.list(await collect(cli, groups, flags), groupView);
      return;
    }
    const reference = step === undefined ? undefined : await referenceOf(cli, id, step);
    const items = cli.client.items('listRunTasks', { path, query: { ...page, status, reference }, signal });
    await cli.out.list(await collect(cli, items, flags), visitView);
  },
});

export const task = command({
  brief: 'Show a task of a run with its input and output',
  flags: { visit: count('Which visit; default: the last') },
  arguments: [RUN, argument('TASK', 'Its name, or its JSON pointer')],
  run: async (cli, { visit }, id, given) => {
    const path = { id, reference: await referenceOf(cli, id, given) };
    await cli.out.value(await cli.client.call('getRunTask', { path, query: { visit }, signal: cli.signal }));
  },
});

/** @throws CliError if no task of this name has started, or several tasks have the name */
async function referenceOf(cli: Cli, id: string, given: string): Promise<string> {
  if (given.startsWith('/')) return given;
  const found: string[] = [];
  const query = pageOf({ limit: undefined, all: true });
  const groups = cli.client.items('listRunTaskGroups', { path: { id }, query, signal: cli.signal });
  for await (const { reference } of groups) if (lastPart(reference) === given) found.push(reference);
  const [first] = found;
  if (first === undefined)
    throw new CliError(`No task ${given} of the run has started.`, { code: 'not_found' });
  if (found.length > 1)
    throw new CliError(
      `The run has ${found.length} tasks ${given}. Name one by its pointer: ${found.join(', ')}`,
      { code: 'ambiguous_name' },
    );
  return first;
}
