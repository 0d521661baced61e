/** Limits with what is used of them; administrators give users and teams other ones. */
import { buildRouteMap } from '@stricli/core';

import type { QuotaState, Team, UpdateTeamRequest, UpdateUserRequest, User } from '../../client/index.ts';
import { command, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { flag, text, texts } from '../core/flags.ts';
import { teamId, userId } from '../core/names.ts';
import type { View } from '../core/table.ts';

const quotaView: View<QuotaState> = {
  columns: [
    ['limit', ({ name, per }) => (per === null ? name : `${name} of each ${per}`)],
    ['used', ({ used }) => String(used)],
    ['of', ({ limit }) => (limit === null ? 'no limit' : String(limit))],
    ['from', ({ own, setting }) => (own ? `its own, instead of ${setting}` : setting)],
  ],
  name: ({ name }) => name,
  none: 'No limits.',
};

const list = command({
  brief: 'Show your limits and what is used of them',
  details: 'Of what is for each run, agent or workflow, it shows the one that uses most.',
  flags: {
    team: text('Those of this team', 'TEAM'),
    user: text('Those of this user; for admins', 'USER'),
    platform: flag('What all have together; for admins'),
  },
  run: async (cli, { team, user, platform }) => {
    await cli.requireLogIn();
    const query = {
      ...(team === undefined ? {} : { team_id: await teamId(cli, team) }),
      ...(user === undefined ? {} : { user_id: user === 'me' ? user : await userId(cli, user) }),
      ...(platform === true ? { platform } : {}),
    };
    const { limits } = await cli.client.call('getUsageLimits', { query, signal: cli.signal });
    await cli.out.list(limits, quotaView);
  },
});

/** `files=100`, `files=default` */
function quotasIn(given: readonly string[]): Record<string, number | null> {
  return Object.fromEntries(
    given.map((one) => {
      const [, name = '', amount = ''] = /^([a-z_]+)=(\d{1,15}|default)$/.exec(one) ?? [];
      if (name === '') throw usageError(`${one} is not like files=100 or files=default.`);
      return [name, amount === 'default' ? null : Number(amount)];
    }),
  );
}

const set = command({
  brief: 'Give a user or a team limits of its own, or those of the settings again; for admins',
  details:
    '`cadenza quota list` has the names: `cadenza quota set --user ada --limit files=100`. 0 is no limit.',
  flags: {
    team: text('Of this team', 'TEAM'),
    user: text('Of this user', 'USER'),
    limit: texts('Such as files=100, or files=default', 'NAME=NUMBER'),
  },
  run: async (cli, { team, user, limit = [] }) => {
    if ((team === undefined) === (user === undefined)) throw usageError('Give --user or --team.');
    if (limit.length === 0) throw usageError('Give --limit.');
    const { signal } = cli;
    let changed: User | Team;
    if (user !== undefined) {
      // The API checks the names.
      const body: UpdateUserRequest = { quotas: quotasIn(limit) };
      changed = await cli.client.call('updateUser', { path: { id: await userId(cli, user) }, body, signal });
    } else {
      const body: UpdateTeamRequest = { quotas: quotasIn(limit) };
      const path = { id: await teamId(cli, team ?? '') };
      changed = await cli.client.call('updateTeam', { path, body, signal });
    }
    await cli.out.value(changed.quotas);
  },
});

export const quotaCommands = buildRouteMap<'list' | 'set', Context>({
  routes: { list, set },
  docs: { brief: 'Limits, and what is used of them' },
});
