/** Secrets: their values are read from standard input or asked for, and never shown. */
import { buildRouteMap } from '@stricli/core';

import { argument, command, FRESH_LOG_IN, type Context } from '../core/command.ts';
import { flag, text } from '../core/flags.ts';
import { ask, confirm, readSecret } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { ofTeam } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { ago } from '../core/text.ts';
import type { Secret } from '../../client/index.ts';

const NAME = argument('NAME', 'Such as API_KEY', 'secret');

const TEAM = text('Of this team, instead of your own', 'TEAM');

const secretView: View<Secret> = {
  columns: [
    ['name', ({ name }) => name],
    ['created', (secret) => ago(secret.created_at)],
    ['changed', (secret) => ago(secret.updated_at)],
  ],
  name: ({ name }) => name,
  none: 'No secrets.',
};

const list = command({
  brief: 'List the names of your secrets',
  flags: { ...listFlags, team: TEAM },
  run: async (cli, { team, ...flags }) => {
    await cli.requireLogIn();
    await cli.out.list(
      await collect(
        cli,
        cli.client.items('listSecrets', {
          query: { ...pageOf(flags), ...(await ofTeam(cli, team)) },
          signal: cli.signal,
        }),
        flags,
      ),
      secretView,
    );
  },
});

const set = command({
  brief: 'Store a secret; the value is asked for, or read from standard input',
  details: FRESH_LOG_IN,
  flags: { stdin: flag('Read the value from standard input'), team: TEAM },
  arguments: [NAME],
  run: async (cli, { stdin, team }, name) => {
    const options = { hidden: true, instead: '--stdin' };
    const value = stdin === true ? await readSecret(cli) : await ask(cli, `Value of ${name}: `, options);
    const body = { value };
    const query = await ofTeam(cli, team);
    await cli.out.record(
      await cli.client.call('putSecret', { path: { name }, query, body, signal: cli.signal }),
      secretView,
    );
  },
});

const remove = command({
  brief: 'Delete a secret; agents that refer to it will fail',
  details: FRESH_LOG_IN,
  flags: { yes: flag('Do not ask'), team: TEAM },
  arguments: [NAME],
  hasData: false,
  run: async (cli, { yes, team }, name) => {
    await confirm(cli, `Delete secret ${name}?`, yes);
    const query = await ofTeam(cli, team);
    await cli.client.call('deleteSecret', { path: { name }, query, signal: cli.signal });
    cli.say(`Deleted secret ${name}.`);
  },
});

export const secretCommands = buildRouteMap<'list' | 'set' | 'delete', Context>({
  routes: { list, set, delete: remove },
  docs: { brief: 'Secrets of your agents' },
});
