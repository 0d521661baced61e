/** Where you are logged in, your password, and the programs that may log people in. */
import { buildRouteMap } from '@stricli/core';

import { ApiError, type RegisteredClient, type Session } from '../../client/index.ts';
import { askProof, proofFor, proofIn } from './login.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command, optional, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { flag, refuseFlags, text } from '../core/flags.ts';
import { ask, confirm, readPasswordAndCode, readSecret } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { userId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { ago } from '../core/text.ts';
import { awaited } from './user.ts';

const sessionView: View<Session> = {
  columns: [
    ['id', ({ id }) => id],
    ['kind', ({ kind, current }) => (current ? `${kind} (this one)` : kind)],
    ['program', (session) => session.client_name],
    ['device', ({ device }) => device],
    ['address', ({ address }) => address],
    ['used', (session) => ago(session.last_used_at)],
    ['ends', (session) => ago(session.expires_at)],
    ['waits for', awaited],
  ],
  name: ({ id }) => id,
  none: 'No sessions.',
};

const USER = text('Of this user, by id or name; for admins', 'USER');

const list = command({
  brief: 'List where you are logged in, oldest first',
  flags: { ...listFlags, user: USER },
  run: async (cli, { user, ...flags }) => {
    await cli.requireLogIn();
    const page = { query: pageOf(flags), signal: cli.signal };
    const items =
      user === undefined
        ? cli.client.items('listMySessions', page)
        : cli.client.items('listUserSessions', { path: { id: await userId(cli, user) }, ...page });
    await cli.out.list(await collect(cli, items, flags), sessionView);
  },
});

const end = command({
  brief: 'End a session of yours, or with --others all but this one; for admins, with --user, one of a user',
  flags: {
    others: flag('All sessions but this one'),
    user: USER,
    all: flag('All sessions of the user; with --user'),
    yes: flag('Do not ask'),
  },
  arguments: [optional('SESSION', 'Id from cadenza session list')],
  hasData: false,
  run: async (cli, { others, user, all, yes }, id) => {
    if (user !== undefined) {
      refuseFlags({ others }, ['others'], 'together with --user');
      return endOfUser(cli, { user, all: all === true, yes }, id);
    }
    refuseFlags({ all }, ['all'], 'without --user');
    if ((others === true) === (id !== undefined)) throw usageError('Give a SESSION or --others.');
    await confirm(cli, id === undefined ? 'End all other sessions?' : `End session ${id}?`, yes);
    if (id === undefined) await cli.client.call('deleteMyOtherSessions', { signal: cli.signal });
    else await cli.client.call('deleteMySession', { path: { id }, signal: cli.signal });
    cli.say(id === undefined ? 'Ended all other sessions.' : `Ended session ${id}.`);
  },
});

async function endOfUser(
  cli: Cli,
  { user, all, yes }: { user: string; all: boolean; yes: boolean | undefined },
  id: string | undefined,
): Promise<void> {
  if (all === (id !== undefined)) throw usageError('Give a SESSION or --all.');
  const of = await userId(cli, user);
  const { signal } = cli;
  await confirm(
    cli,
    id === undefined ? `End all sessions of ${user}?` : `End session ${id} of ${user}?`,
    yes,
  );
  if (id === undefined) await cli.client.call('deleteUserSessions', { path: { id: of }, signal });
  else await cli.client.call('deleteUserSession', { path: { id: of, session_id: id }, signal });
  cli.say(id === undefined ? `Ended all sessions of ${user}.` : `Ended session ${id} of ${user}.`);
}

const password = command({
  brief: 'Change your password, which ends all your sessions and deletes your machine clients',
  details: 'Asks for the current password and for the new one, so it needs a terminal.',
  hasData: false,
  run: async (cli) => {
    await cli.requireLogIn();
    const hidden = { hidden: true };
    const current = await ask(cli, 'Current password: ', hidden);
    const wanted = await ask(cli, 'New password: ', hidden);
    if ((await ask(cli, 'New password again: ', hidden)) !== wanted)
      throw usageError('The new passwords differ.');
    const body = { current_password: current, new_password: wanted };
    await cli.client.call('changeMyPassword', { body, signal: cli.signal });
    cli.say('Changed the password. Log in again: cadenza login');
  },
});

const verify = command({
  brief: 'Show again who you are; for five minutes you may then create tokens, set secrets and change roles',
  details:
    'Asks for the password, and for a code of your authenticator app, or a recovery code, if you have a ' +
    'second factor; with --code for the code only.',
  flags: {
    code: flag('By a code instead of the password'),
    passwordStdin: flag('Read the password from standard input; else it is asked for'),
    codeStdin: flag('Read the code from standard input; with --password-stdin from the line after it'),
  },
  hasData: false,
  run: async (cli, { code, passwordStdin, codeStdin }) => {
    if (code === true) refuseFlags({ passwordStdin }, ['passwordStdin'], 'together with --code');
    await cli.requireLogIn();
    if (codeStdin === true && passwordStdin !== true) await prove(cli, proofIn(await readSecret(cli)));
    else if (code === true) await prove(cli, await askProof(cli));
    else await showPassword(cli, await readPasswordAndCode(cli, { passwordStdin, codeStdin }));
    cli.say('Verified, for five minutes.');
  },
});

async function showPassword(
  cli: Cli,
  { password: shown, code }: { password: string; code?: string },
): Promise<void> {
  try {
    await prove(cli, { password: shown });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'mfa_required') throw error;
    await prove(cli, { password: shown, ...(await proofFor(cli, error, code)) });
  }
}

async function prove(
  cli: Cli,
  body: { password?: string; code?: string; recovery_code?: string },
): Promise<void> {
  await cli.client.call('verifyMe', { body, signal: cli.signal });
}

const programView: View<RegisteredClient> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['registered', (program) => ago(program.created_at)],
    ['approved', (program) => (program.approved_at === null ? 'never' : ago(program.approved_at))],
    ['redirects to', (program) => program.redirect_uris],
  ],
  name: ({ id }) => id,
  none: 'No programs.',
};

const programs = command({
  brief: 'List the programs that have registered to log people in (OAuth), oldest first; for admins',
  flags: listFlags,
  run: async (cli, flags) => {
    await cli.requireLogIn();
    const items = cli.client.items('listRegisteredClients', { query: pageOf(flags), signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), programView);
  },
});

const removeProgram = command({
  brief: 'Remove a program that has registered; all its sessions end; for admins',
  flags: { yes: flag('Do not ask') },
  arguments: [argument('ID', 'From cadenza session programs')],
  hasData: false,
  run: async (cli, { yes }, id) => {
    await confirm(cli, `Remove program ${id} and end its sessions?`, yes);
    await cli.client.call('deleteRegisteredClient', { path: { id }, signal: cli.signal });
    cli.say(`Removed program ${id}.`);
  },
});

const routes = { list, end, verify, password, programs, removeProgram };

export const sessionCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Your sessions and password' },
});
