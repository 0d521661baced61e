/** Users, for admins; and your own machine clients. */
import { setTimeout as sleep } from 'node:timers/promises';

import { buildRouteMap } from '@stricli/core';

import type { Client, Invitation, UpdateUserRequest, UserIdentity } from '../../client/operations.ts';
import { ROLES } from '../../contracts/roles.ts';
import { didYouMean } from '../../contracts/suggest.ts';
import { argument, command, FRESH_LOG_IN, optional, type Context } from '../core/command.ts';
import type { Cli } from '../core/cli.ts';
import { EXIT, usageError } from '../core/errors.ts';
import { choice, flag, seconds, sets, text, texts } from '../core/flags.ts';
import { ask, confirm, readPassword, readSecret } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { userId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { ago, oneLine } from '../core/text.ts';
import { userView } from './status.ts';

const USER = argument('USER', 'Id or username', 'person');
/** How often a large transfer is looked at. */
const POLL_MS = 1_000;

const list = command({
  brief: 'List users; for admins',
  flags: { ...listFlags, search: text('Text in the name', 'TEXT'), role: choice('With this role', ROLES) },
  run: async (cli, { search, role, ...flags }) => {
    await cli.requireLogIn();
    const items = cli.client.items('listUsers', {
      query: { q: search, role, ...pageOf(flags) },
      signal: cli.signal,
    });
    await cli.out.list(await collect(cli, items, flags), userView);
  },
});

/** In tables of what acts as a user: what it waits for, with a viewer's rights until then. */
export function awaited(one: { awaits_second_factor: boolean }): string {
  return one.awaits_second_factor ? 'second factor' : '';
}

const get = command({
  brief: 'Show a user; for admins',
  arguments: [USER],
  run: async (cli, _flags, given) => {
    const path = { id: await userId(cli, given) };
    await cli.out.record(await cli.client.call('getUser', { path, signal: cli.signal }), userView);
  },
});

const invitationView: View<Invitation> = {
  columns: [
    ['until', ({ expires_at: at }) => ago(at)],
    ['mailed to', ({ mailed_to: address }) => address],
    ['link', ({ link }) => link],
  ],
  name: ({ link, mailed_to: address }) => link ?? address ?? '',
  none: 'No invitations.',
};

async function inviteUser(cli: Cli, id: string): Promise<void> {
  const { signal } = cli;
  const sent = await cli.client.call('sendInvitation', { path: { id }, body: {}, signal });
  if (sent.link !== null) cli.say('Mails are not set up: hand the link over yourself. It is shown once.');
  await cli.out.record(sent, invitationView);
}

const invite = command({
  brief: 'Invite the person of an account without a password to choose one, or invite again; for admins',
  details:
    'They get a link by mail. Where mails are not set up, it is printed, for you to hand over. A link of ' +
    `before stops working. ${FRESH_LOG_IN}`,
  arguments: [USER],
  run: async (cli, _flags, given) => inviteUser(cli, await userId(cli, given)),
});

const withdrawInvitation = command({
  brief: 'Take the invitation of a user back; its link stops working; for admins',
  arguments: [USER],
  hasData: false,
  run: async (cli, _flags, given) => {
    const path = { id: await userId(cli, given) };
    await cli.client.call('withdrawInvitation', { path, signal: cli.signal });
    cli.say(`Took the invitation of ${given} back.`);
  },
});

const create = command({
  brief: 'Create a user; the password is asked for, or read from standard input',
  details:
    'With --invite the person chooses the password, by a link in a mail: see cadenza user invite. ' +
    FRESH_LOG_IN,
  flags: {
    email: text('E-mail address; required', 'ADDRESS'),
    name: sets(text('Display name', 'TEXT'), 'display_name'),
    role: texts(`One of ${ROLES.join(', ')}; at least one is required`, 'ROLE'),
    group: texts('Group', 'NAME'),
    passwordStdin: flag('Read the password from standard input'),
    invite: flag('Without a password: invite the person to choose one'),
  },
  arguments: [sets(argument('USERNAME', 'Such as ada'), 'username')],
  run: async (cli, { email, name, role = [], group = [], passwordStdin, invite: invites }, username) => {
    if (email === undefined) throw usageError('Give --email.');
    const roles = rolesIn(role);
    if (invites === true && passwordStdin === true)
      throw usageError('Choose one of --invite and --password-stdin.');
    const password = invites === true ? null : await readPassword(cli, passwordStdin);
    const shown = name === undefined ? {} : { display_name: name };
    const body = { username, email, ...shown, roles, groups: [...group], password };
    const user = await cli.client.call('createUser', { body, signal: cli.signal });
    if (invites === true) {
      cli.say(`Created ${username}.`);
      await inviteUser(cli, user.id);
    } else await cli.out.record(user, userView);
  },
});

function rolesIn(given: readonly string[]): (typeof ROLES)[number][] {
  const known = `one of ${ROLES.join(', ')}`;
  if (given.length === 0) throw usageError(`Give --role, ${known}.`);
  const wrong = given.find((one) => !ROLES.some((role) => role === one));
  if (wrong !== undefined)
    throw usageError(`There is no role ${wrong}${didYouMean(wrong, ROLES) || `: --role is ${known}.`}`);
  return ROLES.filter((one) => given.includes(one));
}

const status = (value: 'active' | 'disabled', brief: string) =>
  command({
    brief,
    details: FRESH_LOG_IN,
    arguments: [USER],
    run: async (cli, _flags, given) => {
      const path = { id: await userId(cli, given) };
      const body = { status: value };
      await cli.out.record(await cli.client.call('updateUser', { path, body, signal: cli.signal }), userView);
    },
  });

const update = command({
  brief: 'Change a user; for admins',
  details:
    'Roles and groups replace all others. A new password ends all sessions of the user. Definitions that ' +
    'name the user by the former username no longer mean them. All but the display name needs a log-in at ' +
    'most five minutes ago, or cadenza session verify.',
  flags: {
    username: text('New username', 'NAME'),
    email: text('E-mail address', 'ADDRESS'),
    name: sets(text('Display name', 'TEXT'), 'display_name'),
    role: texts(`One of ${ROLES.join(', ')}`, 'ROLE'),
    group: texts('Group', 'NAME'),
    noGroups: flag('Take the user out of all groups'),
    passwordStdin: flag('Read a new password from standard input'),
    noPassword: flag('Switch the log-in by password off'),
  },
  arguments: [USER],
  run: async (
    cli,
    { username, email, name, role, group, noGroups, passwordStdin, noPassword: off },
    given,
  ) => {
    if (group !== undefined && noGroups === true) throw usageError('Choose one of --group and --no-groups.');
    const body: UpdateUserRequest = {
      ...(username === undefined ? {} : { username }),
      ...(email === undefined ? {} : { email }),
      ...(name === undefined ? {} : { display_name: name }),
      ...(role === undefined ? {} : { roles: rolesIn(role) }),
      ...(group === undefined && noGroups !== true ? {} : { groups: [...(group ?? [])] }),
      ...(passwordStdin === true ? { password: await readSecret(cli) } : {}),
      ...(off === true ? { password: null } : {}),
    };
    if (Object.keys(body).length === 0) throw usageError('Give a flag with what changes.');
    const path = { id: await userId(cli, given) };
    await cli.out.record(await cli.client.call('updateUser', { path, body, signal: cli.signal }), userView);
  },
});

const transfer = command({
  brief: 'Hand over all that a user owns to another; for admins',
  details:
    'Agents, workflows, runs, files, webhooks and marketplace items get the new owner, undecided tasks the ' +
    'new assignee. Tasks of A2A, conversations, sets and chats of workflows go along. Secrets are copied. ' +
    `The command waits for the end; the transfer goes on without it. ${FRESH_LOG_IN}`,
  flags: { yes: flag('Do not ask') },
  arguments: [USER, sets(argument('TO', 'Id or username of the new owner', 'person'), 'to')],
  run: async (cli, { yes }, given, to) => {
    const [path, body] = [{ id: await userId(cli, given) }, { to: await userId(cli, to) }];
    await confirm(cli, `Hand over all that ${given} owns to ${to}?`, yes);
    const idempotencyKey = crypto.randomUUID();
    const { signal } = cli;
    let moved = await cli.client.call('transferUser', { path, body, idempotencyKey, signal });
    while (moved.status === 'running') {
      await sleep(POLL_MS, undefined, { signal });
      moved = await cli.client.call('getTransfer', { path, signal });
    }
    await cli.out.value(moved);
  },
});

const personalData = command({
  brief: 'Print what is stored about a user as NDJSON; for admins. Without USER: about you',
  details: 'Secrets, hashes and keys are not in it. The request is in the audit log.',
  arguments: [optional('USER', 'Id or username')],
  hasData: false,
  run: async (cli, _flags, given) => {
    const { signal } = cli;
    const data =
      given === undefined
        ? await cli.client.call('getMyPersonalData', { signal })
        : await cli.client.call('getPersonalData', { path: { id: await userId(cli, given) }, signal });
    cli.out.text(typeof data === 'string' ? data : await data.text());
  },
});

const erase = command({
  brief: "Erase a user's personal data; for admins. It cannot be undone",
  details:
    'The account is emptied; its id stays, because history names it. Hand over first what the user owns: ' +
    `cadenza user transfer. ${FRESH_LOG_IN} --dry-run shows what would happen, ` +
    'and what stands in the way: then its status is blocked, and the exit code 3. ' +
    "The user's names in texts of everybody are listed, or with --free-text replace replaced where records " +
    'may change; dry-run first, because a name may be a common word.',
  flags: {
    dryRun: flag('Only show what would happen'),
    runs: choice('Ended runs that the user owns. Default: keep', ['keep', 'remove']),
    freeText: choice("Texts with the user's names. Default: report", ['report', 'replace']),
    confirm: text('The username, instead of typing it when asked', 'USERNAME'),
  },
  arguments: [USER],
  run: async (cli, { dryRun, runs, freeText, confirm: typed }, given) => {
    const path = { id: await userId(cli, given) };
    const body = {
      ...(runs === undefined ? {} : { runs }),
      ...(freeText === undefined ? {} : { free_text: freeText }),
    };
    const { signal } = cli;
    if (dryRun === true) {
      const dryBody = { ...body, dry_run: true };
      const plan = await cli.client.call('eraseUser', { path, body: dryBody, signal });
      await cli.out.value(plan);
      for (const { detail } of plan.obstacles) cli.say(oneLine(`In the way: ${detail}`));
      return plan.status === 'blocked' ? EXIT.no : EXIT.good;
    }
    const confirmed =
      typed ?? (await ask(cli, `Type the username to erase ${given} for ever: `, { instead: '--confirm' }));
    const report = await cli.client.call('eraseUser', {
      path,
      body: { ...body, confirm: confirmed },
      signal,
    });
    await cli.out.value(report);
    return EXIT.good;
  },
});

const erasure = command({
  brief: "Show the report of the erasure of a user's data; for admins",
  arguments: [USER],
  run: async (cli, _flags, given) => {
    const path = { id: await userId(cli, given) };
    await cli.out.value(await cli.client.call('getErasure', { path, signal: cli.signal }));
  },
});

const retryErasure = command({
  brief: 'Try again to remove the histories that Temporal has refused to remove; for admins',
  details: 'For an erasure whose status is incomplete, once Temporal allows it.',
  arguments: [USER],
  run: async (cli, _flags, given) => {
    const path = { id: await userId(cli, given) };
    await cli.out.value(await cli.client.call('retryErasure', { path, signal: cli.signal }));
  },
});

const identityView: View<UserIdentity> = {
  columns: [
    ['id', ({ id }) => id],
    ['issuer', ({ issuer_name: name }) => name],
    ['subject', ({ subject }) => (subject === null ? null : oneLine(subject))],
    ['name', ({ label }) => (label === null ? null : oneLine(label))],
    ['last log-in', ({ last_log_in_at: at }) => (at === null ? 'never' : ago(at))],
  ],
  name: ({ id }) => id,
  none: 'No identities.',
};

const identities = command({
  brief: 'List the identities of a user at external issuers; without USER your own',
  arguments: [optional('USER', 'Id or username; for admins')],
  run: async (cli, _flags, given) => {
    const { signal } = cli;
    const found =
      given === undefined
        ? await cli.client.call('listMyIdentities', { signal })
        : await cli.client.call('listUserIdentities', { path: { id: await userId(cli, given) }, signal });
    await cli.out.list(found, identityView);
  },
});

const link = command({
  brief: 'Link the identity of an external issuer to a user; for admins',
  details: `You link an identity of your own in the console. ${FRESH_LOG_IN}`,
  arguments: [USER, argument('ISSUER', 'Id of the issuer'), argument('SUBJECT', '`sub` at the issuer')],
  run: async (cli, _flags, given, issuer, subject) => {
    const path = { id: await userId(cli, given) };
    const body = { issuer_id: issuer, subject };
    const linked = await cli.client.call('linkUserIdentity', { path, body, signal: cli.signal });
    await cli.out.record(linked, identityView);
  },
});

const unlink = command({
  brief: 'Unlink an identity; the sessions that it opened end',
  details: 'Your own needs a log-in at most five minutes ago, or cadenza session verify.',
  flags: { yes: flag('Do not ask'), user: text('Of this user; for admins. Default: your own', 'USER') },
  arguments: [argument('ID', 'Of the identity')],
  hasData: false,
  run: async (cli, { yes, user }, id) => {
    const { signal } = cli;
    await confirm(cli, `Unlink the identity ${id}?`, yes);
    if (user === undefined) await cli.client.call('unlinkMyIdentity', { path: { id }, signal });
    else {
      const path = { id: await userId(cli, user), identity_id: id };
      await cli.client.call('unlinkUserIdentity', { path, signal });
    }
    cli.say(`Unlinked the identity ${id}.`);
  },
});

const noPassword = command({
  brief: 'Switch your log-in by password off; you need a linked identity',
  details: FRESH_LOG_IN,
  flags: { yes: flag('Do not ask') },
  hasData: false,
  run: async (cli, { yes }) => {
    await confirm(cli, 'Switch your password off? All your sessions end.', yes);
    await cli.client.call('deleteMyPassword', { signal: cli.signal });
    cli.say('Your password is switched off.');
  },
});

const clients = command({
  brief: 'List the machine clients of a user; for admins',
  flags: listFlags,
  arguments: [USER],
  run: async (cli, flags, given) => {
    const path = { id: await userId(cli, given) };
    const items = cli.client.items('listUserClients', { path, query: pageOf(flags), signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), clientView);
  },
});

const deleteUserClient = command({
  brief: 'Delete a machine client of a user; for admins',
  flags: { yes: flag('Do not ask') },
  arguments: [USER, argument('ID', 'Id of the record')],
  hasData: false,
  run: async (cli, { yes }, given, client) => {
    const path = { id: await userId(cli, given), client_id: client };
    await confirm(cli, `Delete machine client ${client} of ${given}?`, yes);
    await cli.client.call('deleteUserClient', { path, signal: cli.signal });
    cli.say(`Deleted machine client ${client}.`);
  },
});

const resetSecondFactor = command({
  brief: "Remove a user's second factors, who has lost them; for admins",
  details: FRESH_LOG_IN,
  flags: { yes: flag('Do not ask') },
  arguments: [USER],
  hasData: false,
  run: async (cli, { yes }, given) => {
    const path = { id: await userId(cli, given) };
    await confirm(cli, `Remove the second factors of ${given}?`, yes);
    await cli.client.call('resetUserSecondFactor', { path, signal: cli.signal });
    cli.say(`Removed the second factors of ${given}.`);
  },
});

const userRoutes = {
  resetSecondFactor,
  list,
  get,
  create,
  invite,
  withdrawInvitation,
  update,
  transfer,
  personalData,
  erase,
  erasure,
  retryErasure,
  identities,
  link,
  unlink,
  noPassword,
  clients,
  deleteClient: deleteUserClient,
  disable: status('disabled', 'Disable a user, who loses access within a second; for admins'),
  enable: status('active', 'Enable a user again; for admins'),
};

export const userCommands = buildRouteMap<keyof typeof userRoutes, Context>({
  routes: userRoutes,
  docs: { brief: 'Users, for admins' },
});

const clientView: View<Client> = {
  columns: [
    ['id', ({ id }) => id],
    ['client id', (client) => client.client_id],
    ['expires', (client) => ago(client.expires_at)],
    ['used', (client) => ago(client.last_used)],
    ['waits for', awaited],
    ['scopes', ({ scopes }) => scopes ?? 'all'],
    ['name', ({ name }) => name],
  ],
  name: ({ id }) => id,
  none: 'No machine clients.',
};

const listClients = command({
  brief: 'List your machine clients',
  flags: listFlags,
  run: async (cli, flags) => {
    await cli.requireLogIn();
    await cli.out.list(
      await collect(
        cli,
        cli.client.items('listMyClients', { query: pageOf(flags), signal: cli.signal }),
        flags,
      ),
      clientView,
    );
  },
});

const createClient = command({
  brief: 'Create a machine client, which acts as you; its secret is shown once',
  details: `${FRESH_LOG_IN} Without --scope it may do all that you may.`,
  flags: {
    scope: texts('Such as runs:read, or workflow:ID for one workflow and its runs', 'SCOPE'),
    expires: seconds('How long it lives, such as 30d'),
  },
  arguments: [argument('NAME', 'What it is for')],
  run: async (cli, { scope = [], expires }, name) => {
    const until = expires === undefined ? undefined : new Date(Date.now() + expires * 1_000).toISOString();
    const body = {
      name,
      ...(scope.length === 0 ? {} : { scopes: [...scope] }),
      ...(until === undefined ? {} : { expires_at: until }),
    };
    await cli.out.record(await cli.client.call('createMyClient', { body, signal: cli.signal }), {
      columns: [...clientView.columns, ['secret', (client) => client.client_secret]],
      name: ({ id }) => id,
    });
  },
});

const deleteClient = command({
  brief: 'Delete a machine client; its tokens stop working at once',
  flags: { yes: flag('Do not ask') },
  arguments: [argument('ID', 'Id of the record', 'client')],
  hasData: false,
  run: async (cli, { yes }, id) => {
    await confirm(cli, `Delete machine client ${id}?`, yes);
    await cli.client.call('deleteMyClient', { path: { id }, signal: cli.signal });
    cli.say(`Deleted machine client ${id}.`);
  },
});

export const clientCommands = buildRouteMap<'list' | 'create' | 'delete', Context>({
  routes: { list: listClients, create: createClient, delete: deleteClient },
  docs: { brief: 'Your machine clients' },
});
