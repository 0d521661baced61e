/** Deputies, who decide your tasks while you are away. */
import { buildRouteMap } from '@stricli/core';

import type { Absence } from '../../client/index.ts';
import { argument, command, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { flag, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { personId } from '../core/names.ts';
import type { View } from '../core/table.ts';

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
  brief: 'Name a deputy, who decides your tasks until a day or time',
  flags: {
    from: text('When it begins; default: now', 'TIME'),
    user: text('Username or id of another user who is absent; for admins', 'USER'),
    note: text('What the deputy should know', 'TEXT'),
  },
  arguments: [
    argument('DEPUTY', 'Username or id'),
    argument('UNTIL', 'A day such as 2027-01-08, or a time such as 2027-01-08T09:00Z'),
  ],
  run: async (cli, { from, user, note }, deputy, until) => {
    const body = {
      deputy,
      until: timeOf(until),
      ...(from === undefined ? {} : { from: timeOf(from) }),
      ...(user === undefined ? {} : { user_id: await personId(cli, user) }),
      note: note ?? null,
    };
    await cli.out.record(await cli.client.call('createAbsence', { body, signal: cli.signal }), absenceView);
  },
});

function timeOf(given: string): string {
  const at = new Date(given);
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
