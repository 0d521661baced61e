/** Profiles. */
import { buildRouteMap } from '@stricli/core';

import { argument, command, type Context } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { isLoopback, serverUrl } from '../core/session.ts';
import type { View } from '../core/table.ts';

interface ProfileRow {
  name: string;
  current: boolean;
  url: string;
  username: string | null;
  logged_in: boolean;
}

const profileView: View<ProfileRow> = {
  columns: [
    ['', ({ current }) => (current ? '*' : '')],
    ['name', ({ name }) => name],
    ['server', ({ url }) => url],
    ['user', ({ username }) => username],
    ['session', (row) => (row.logged_in ? 'yes' : 'no')],
  ],
  name: ({ name }) => name,
  none: 'No profiles yet: cadenza login makes one.',
};

const list = command({
  brief: 'List the profiles; no token is shown',
  run: async (cli) => {
    const { profiles } = cli.config.read();
    const rows = Object.entries(profiles).map(([name, { url, username, access_token: token }]) => ({
      name,
      current: name === cli.session.profileName,
      url,
      username: username ?? null,
      logged_in: token !== undefined,
    }));
    await cli.out.list(rows, profileView);
  },
});

const use = command({
  brief: 'Make a profile the current one',
  arguments: [argument('NAME', 'Name of a profile')],
  hasData: false,
  run: async (cli, _flags, name) => {
    await cli.config.change((configuration) => {
      if (configuration.profiles[name] === undefined)
        throw new CliError(`There is no profile ${name}. See: cadenza config list`, {
          code: 'no_such_profile',
        });
      configuration.current = name;
    });
    cli.say(`Using profile ${name}.`);
  },
});

const set = command({
  brief: 'Set a value of the current profile',
  details:
    'Setting another server ends the session of the profile here, because tokens belong to one server.',
  arguments: [argument('KEY', 'url'), argument('VALUE', 'The new value')],
  hasData: false,
  run: async (cli, _flags, key, value) => {
    if (key !== 'url') throw usageError(`There is no setting ${key}. There is: url`);
    const url = serverUrl(value);
    // More likely a mistake than the name of a server in the same network.
    if (/^[\w-]+$/.test(value) && !isLoopback(value.toLowerCase()))
      throw usageError(`${value} is no address of a server. If it is its name: http://${value} or ${url}`);
    const { profileName } = cli.session;
    await cli.config.change(({ profiles }) => {
      if (profiles[profileName]?.url !== url) profiles[profileName] = { url };
    });
    cli.say(`Profile ${profileName} uses ${url}.`);
  },
});

export const configCommands = buildRouteMap<'list' | 'use' | 'set', Context>({
  routes: { list, use, set },
  docs: { brief: 'Profiles: servers and sessions' },
});
