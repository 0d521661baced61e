/** Deputies, who decide your tasks while you are away. */
import { buildRouteMap } from '@stricli/core';

import type { Absence } from '../../client/index.ts';
import { argument, command, FRESH_LOG_IN, type Context } from '../core/command.ts';
import { dayIn, endOfDay, startOfDay, zoneOf } from '../core/days.ts';
import { usageError } from '../core/errors.ts';
import { flag, sets, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { personId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { oneLine } from '../core/text.ts';

const absenceView: View<Absence> = {
  columns: [
    ['id', ({ id }) => id],
    ['absent', ({ user }) => user.display_name],
    ['deputy', ({ deputy }) => deputy.display_name],
    ['from', ({ from }) => from],
    ['until', ({ until }) => until],
    ['note', ({ note }) => note],
  ],
  name: ({ id }) => id,
  none: 'No absences.',
};

const list = command({
  brief: 'List your absences, and those in which you are the deputy, newest first',
  flags: { ...listFlags, current: flag('Only those of this moment') },
  run: async (cli, { current, ...flags }) => {
    await cli.requireLogIn();
    const query = { current, ...pageOf(flags) };
    const items = cli.client.items('listAbsences', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), absenceView);
  },
});

const create = command({
  brief: 'Name a deputy, who decides your tasks until a time or the end of a day',
  details:
    'Days are those of your time zone, which cadenza notification settings shows. The absence begins with ' +
    `the day of --from, and lasts to the end of the day UNTIL. stderr says until when. ${FRESH_LOG_IN}`,
  flags: {
    from: text('When it begins, or the day; default: now', 'TIME'),
    user: text('Username or id of another user who is absent; for admins', 'USER'),
    note: text('What the deputy should know', 'TEXT'),
  },
  arguments: [
    sets(argument('DEPUTY', 'Username or id'), 'deputy'),
    sets(argument('UNTIL', 'The last day, such as 2027-01-08, or a time such as 2027-01-08T09:00Z'), 'until'),
  ],
  run: async (cli, { from, user, note }, deputy, until) => {
    const days = [until, from].some((given) => given !== undefined && dayIn(given) !== undefined);
    const zone = days ? await zoneOf(cli) : 'UTC';
    const body = {
      deputy,
      until: timeOf(until, (day) => endOfDay(day, zone)),
      ...(from === undefined ? {} : { from: timeOf(from, (day) => startOfDay(day, zone)) }),
      ...(user === undefined ? {} : { user_id: await personId(cli, user) }),
      note: note ?? null,
    };
    const made = await cli.client.call('createAbsence', { body, signal: cli.signal });
    cli.say(`${oneLine(made.deputy.display_name)} decides until ${shownIn(made.until, zone)}.`);
    await cli.out.record(made, absenceView);
  },
});

/** `2027-01-09 00:00 (Europe/Paris)` */
function shownIn(time: string, zone: string): string {
  const options = { timeZone: zone, dateStyle: 'short', timeStyle: 'short' } as const;
  return `${new Intl.DateTimeFormat('sv', options).format(new Date(time))} (${zone})`;
}

function timeOf(given: string, ofDay: (day: Date) => Date): string {
  const day = dayIn(given);
  const at = day === undefined ? new Date(given) : ofDay(day);
  if (Number.isNaN(at.getTime())) throw usageError(`${given} is not a day or a time.`);
  return at.toISOString();
}

const end = command({
  brief: 'End an absence now',
  flags: { yes: flag('Do not ask') },
  arguments: [argument('ABSENCE', 'Id from cadenza absence list')],
  hasData: false,
  run: async (cli, { yes }, id) => {
    await confirm(cli, `End absence ${id}?`, yes);
    await cli.client.call('endAbsence', { path: { id }, signal: cli.signal });
    cli.say(`Ended absence ${id}.`);
  },
});

const routes = { list, create, end };

export const absenceCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Deputies, who decide your tasks while you are away' },
});
