/** Schedules of workflows: when their runs start by themselves. */
import { buildRouteMap } from '@stricli/core';

import type { Budget, Schedule } from '../../client/index.ts';
import { OVERLAPS } from '../../contracts/schedules.ts';
import { budgetFlags, budgetOf } from '../core/budget-flags.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { choice, flag, seconds, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { workflowId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { oneLine } from '../core/text.ts';

const WORKFLOW = argument('WORKFLOW', 'Name or id', 'workflow');
const SHOWN_TIMES = 3;

const scheduleView: View<Schedule> = {
  columns: [
    ['workflow', ({ workflow_id }) => workflow_id],
    ['starts', timesText],
    ['state', ({ state }) => state],
    ['reason', ({ reason, note }) => oneLine(reason ?? note ?? '')],
    ['overlap', ({ overlap }) => overlap],
    ['next', ({ next }) => next?.slice(0, SHOWN_TIMES).join(', ') ?? 'unknown'],
    ['budget', ({ budget }) => budget && JSON.stringify(budget)],
    ['last', ({ last }) => last[0] && `${last[0].scheduled_at} ${last[0].outcome}`],
  ],
  name: ({ workflow_id }) => workflow_id,
};

function timesText({ cron, every_seconds: every, after_seconds: after, events }: Schedule): string {
  if (events !== null) return oneLine(`by events: ${events.join(', ')}`);
  if (cron !== null) return oneLine(cron);
  return every === null ? `${after ?? 0} s after the last run` : `every ${every} s`;
}

const get = command({
  brief: "Show a workflow's schedule with its last and next times",
  arguments: [WORKFLOW],
  run: async (cli, _flags, given) => {
    const path = { id: await workflowId(cli, given) };
    await cli.out.record(await cli.client.call('getSchedule', { path, signal: cli.signal }), scheduleView);
  },
});

type Changes = Parameters<typeof update>[2];

async function update(
  cli: Cli,
  given: string,
  body: {
    paused?: boolean;
    note?: string;
    overlap?: Schedule['overlap'];
    catch_up_seconds?: number;
    jitter_seconds?: number;
    budget?: Budget | null;
  },
): Promise<void> {
  const path = { id: await workflowId(cli, given) };
  const changed = await cli.client.call('updateSchedule', { path, body, signal: cli.signal });
  await cli.out.record(changed, scheduleView);
}

const pause = command({
  brief: 'Pause a schedule; runs that have started go on',
  flags: { note: text('Why, for others to read', 'TEXT') },
  arguments: [WORKFLOW],
  run: (cli, { note }, given) =>
    update(cli, given, { paused: true, ...(note === undefined ? {} : { note }) }),
});

const resume = command({
  brief: 'Resume a paused schedule; times in between are not made up for',
  arguments: [WORKFLOW],
  run: (cli, _flags, given) => update(cli, given, { paused: false }),
});

const set = command({
  brief: 'Change how a schedule starts runs',
  flags: {
    overlap: choice('At a time at which an earlier run has not ended', OVERLAPS),
    'catch-up': seconds('How late a run may still start, such as 10m'),
    jitter: seconds('Delay each start by a random time of at most this, such as 30s'),
    ...budgetFlags,
    'no-budget': flag('Take the budget of its runs away'),
  },
  arguments: [WORKFLOW],
  run: (cli, { overlap, 'catch-up': catchUp, jitter, 'no-budget': none, ...limits }, given) => {
    const budget = none ? null : budgetOf(limits);
    const changes: Changes = {
      ...(overlap === undefined ? {} : { overlap }),
      ...(catchUp === undefined ? {} : { catch_up_seconds: Math.round(catchUp) }),
      ...(jitter === undefined ? {} : { jitter_seconds: Math.round(jitter) }),
      ...(budget === undefined ? {} : { budget }),
    };
    if (Object.keys(changes).length === 0)
      throw usageError('Give --overlap, --catch-up, --jitter or a limit of the budget with the new value.');
    return update(cli, given, changes);
  },
});

const trigger = command({
  brief: 'Start a run of the schedule now, also while it is paused',
  arguments: [WORKFLOW],
  run: async (cli, _flags, given) => {
    const path = { id: await workflowId(cli, given) };
    const run = await cli.client.call('triggerSchedule', { path, body: {}, signal: cli.signal });
    await cli.out.record(run, {
      columns: [
        ['id', ({ id }) => id],
        ['workflow', ({ workflow_name }) => oneLine(workflow_name)],
        ['status', ({ status }) => status],
      ],
      name: ({ id }) => id,
    });
  },
});

const backfill = command({
  brief: 'Start the runs of past times, at most 100; a time that has a start keeps it',
  flags: {
    from: text('The first time, such as 2026-11-01T00:00:00Z', 'TIME'),
    to: text('The last time; default: now', 'TIME'),
    yes: flag('Do not ask'),
  },
  arguments: [WORKFLOW],
  run: async (cli, { from, to = new Date().toISOString(), yes }, given) => {
    if (from === undefined) throw usageError('Give --from with the first time.');
    const path = { id: await workflowId(cli, given) };
    await confirm(cli, `Start the runs of ${given} from ${from} to ${to}?`, yes);
    const starts = await cli.client.call('backfillSchedule', {
      path,
      body: { from, to },
      signal: cli.signal,
    });
    await cli.out.list(starts, {
      columns: [
        ['time', ({ scheduled_at }) => scheduled_at],
        ['outcome', ({ outcome }) => outcome],
        ['run', ({ run_id }) => run_id],
      ],
      name: ({ run_id, scheduled_at }) => run_id ?? scheduled_at,
      none: 'Nothing to start.',
    });
  },
});

const routes = { get, pause, resume, set, trigger, backfill };

export const scheduleCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Schedules: when runs start by the clock' },
});
