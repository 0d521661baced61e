/** Personal access tokens: your own, and for admins those of others. */
import { buildRouteMap } from '@stricli/core';

import type { AccessToken } from '../../client/index.ts';
import { argument, command, FRESH_LOG_IN, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { flag, seconds, text, texts } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { userId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { ago } from '../core/text.ts';
import { awaited } from './user.ts';

const tokenView: View<AccessToken> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['ends with', ({ hint }) => hint],
    ['scopes', ({ scopes }) => scopes],
    ['used', (token) => (token.last_used_at === null ? 'never' : ago(token.last_used_at))],
    ['expires', (token) => ago(token.expires_at)],
    ['waits for', awaited],
  ],
  name: ({ id }) => id,
  none: 'No access tokens.',
};

const USER = text('Of this user, by id or name; for admins', 'USER');
const DEFAULT_SECONDS = 30 * 86_400;

const list = command({
  brief: 'List your personal access tokens, oldest first',
  flags: { ...listFlags, user: USER },
  run: async (cli, { user, ...flags }) => {
    await cli.requireLogIn();
    const page = { query: pageOf(flags), signal: cli.signal };
    const items =
      user === undefined
        ? cli.client.items('listMyTokens', page)
        : cli.client.items('listUserTokens', { path: { id: await userId(cli, user) }, ...page });
    await cli.out.list(await collect(cli, items, flags), tokenView);
  },
});

const create = command({
  brief: 'Create a personal access token, which acts as you within its scopes; it is shown once',
  details:
    `${FRESH_LOG_IN} ` +
    'Programs send it as `Authorization: Bearer`, the command line takes it from CADENZA_TOKEN.',
  flags: {
    scope: texts('Such as runs:read, or workflow:ID for one workflow and its runs', 'SCOPE'),
    expires: seconds('It ends after this time, such as 30d (default)', 'TIME'),
  },
  arguments: [argument('NAME', 'What it is for')],
  run: async (cli, { scope = [], expires = DEFAULT_SECONDS }, name) => {
    if (scope.length === 0) throw usageError('Give --scope, such as --scope runs:read.');
    await cli.requireLogIn();
    const expires_at = new Date(Date.now() + expires * 1_000).toISOString();
    const body = { name, scopes: [...scope], expires_at };
    await cli.out.value(await cli.client.call('createMyToken', { body, signal: cli.signal }));
  },
});

const remove = command({
  brief: 'Delete a personal access token; it stops working at once',
  flags: { user: USER, yes: flag('Do not ask') },
  arguments: [argument('ID', 'From cadenza token list')],
  hasData: false,
  run: async (cli, { user, yes }, id) => {
    await confirm(cli, `Delete access token ${id}?`, yes);
    const { signal } = cli;
    if (user === undefined) await cli.client.call('deleteMyToken', { path: { id }, signal });
    else {
      const path = { id: await userId(cli, user), token_id: id };
      await cli.client.call('deleteUserToken', { path, signal });
    }
    cli.say(`Deleted access token ${id}.`);
  },
});

const routes = { list, create, delete: remove };

export const tokenCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Personal access tokens' },
});
