/** External issuers for single sign-on. */
import { buildRouteMap } from '@stricli/core';

import type {
  CreateIssuerRequest,
  IdentityIssuer,
  IssuerMachine,
  ScimToken,
} from '../../client/operations.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command, type Context } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { flag, text, texts } from '../core/flags.ts';
import { confirm, readSecret } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { isId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { oneLine } from '../core/text.ts';
import { userId } from './user.ts';

const ISSUER = argument('ISSUER', 'Id or short name');
const ROLES = ['viewer', 'approver', 'builder', 'admin'] as const;
type Role = (typeof ROLES)[number];

const issuerView: View<IdentityIssuer> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['title', ({ title }) => oneLine(title)],
    ['issuer', ({ issuer }) => issuer],
    ['enabled', ({ enabled }) => (enabled ? 'yes' : 'no')],
    ['redirect URI', (issuer) => issuer.redirect_uri],
  ],
  name: ({ id }) => id,
  none: 'No issuers.',
};

const list = command({
  brief: 'List the external issuers; for admins',
  flags: listFlags,
  run: async (cli, flags) => {
    await cli.requireLogIn();
    const items = cli.client.items('listIssuers', { query: pageOf(flags), signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), issuerView);
  },
});

async function issuerId(cli: Cli, given: string): Promise<string> {
  if (isId(given)) return given;
  for await (const issuer of cli.client.items('listIssuers', { signal: cli.signal }))
    if (issuer.name === given) return issuer.id;
  throw new CliError(`There is no issuer ${given}.`, { code: 'not_found' });
}

const get = command({
  brief: 'Show an issuer; for admins',
  arguments: [ISSUER],
  run: async (cli, _flags, given) => {
    const path = { id: await issuerId(cli, given) };
    await cli.out.record(await cli.client.call('getIssuer', { path, signal: cli.signal }), issuerView);
  },
});

const fields = {
  title: text('What the log-in says: Continue with TITLE', 'TITLE'),
  clientId: text('What Cadenza is called there', 'ID'),
  clientSecretStdin: flag('Read the client secret from standard input'),
  scope: texts('OAuth scope', 'SCOPE'),
  role: texts('Rule for a role; CLAIM is a name or a JSON pointer', 'CLAIM=VALUE:ROLE'),
  defaultRole: texts(`Role of those whom no rule fits: ${ROLES.join(', ')}`, 'ROLE'),
  audience: texts('Audience of access tokens of programs', 'AUDIENCE'),
  groupsClaim: text('Claim with the groups', 'CLAIM'),
  secondFactor: text('Claim of a log-in with a second factor', 'CLAIM=VALUE'),
};
/** What is not given has a default in a new issuer, and stays as it is in one that is changed. */
const fieldsOfNew = {
  ...fields,
  clientSecretStdin: flag('Read the client secret from standard input. Default: a public client'),
  scope: texts('OAuth scope. Default: openid, profile and email', 'SCOPE'),
  groupsClaim: text('Claim with the groups. Default: groups', 'CLAIM'),
  secondFactor: text('Claim of a log-in with a second factor. Default: amr=mfa', 'CLAIM=VALUE'),
};

interface Given {
  role?: readonly string[] | undefined;
  defaultRole?: readonly string[] | undefined;
  groupsClaim?: string | undefined;
  secondFactor?: string | undefined;
}

function mappingOf({ role, defaultRole, groupsClaim, secondFactor }: Given) {
  const mapping = {
    ...(role === undefined ? {} : { roles: role.map(ruleOf) }),
    ...(defaultRole === undefined
      ? {}
      : { default_roles: defaultRole.map((one) => roleOf(one, '--default-role')) }),
    ...(groupsClaim === undefined ? {} : { groups: groupsClaim }),
    ...(secondFactor === undefined ? {} : { second_factor: claimOf(secondFactor) }),
  };
  return Object.keys(mapping).length === 0 ? {} : { mapping };
}

function ruleOf(given: string): { claim: string; value: string; roles: Role[] } {
  const [, claim, value, role] = /^([^=]+)=(.+):(\w+)$/.exec(given) ?? [];
  if (claim === undefined || value === undefined || role === undefined)
    throw usageError('Write --role CLAIM=VALUE:ROLE, such as --role groups=staff:viewer.');
  return { claim, value, roles: [roleOf(role, '--role')] };
}

function claimOf(given: string): { claim: string; value: string } {
  const [, claim, value] = /^([^=]+)=(.+)$/.exec(given) ?? [];
  if (claim === undefined || value === undefined)
    throw usageError('Write --second-factor CLAIM=VALUE, such as --second-factor amr=mfa.');
  return { claim, value };
}

function roleOf(given: string, flagWith: string): Role {
  const role = ROLES.find((one) => one === given);
  if (role === undefined) throw usageError(`A role of ${flagWith} is one of ${ROLES.join(', ')}.`);
  return role;
}

const add = command({
  brief: 'Add an OpenID Connect issuer; for admins',
  details: 'Register the redirect URI that it prints at the issuer. docs/single-sign-on.md has examples.',
  flags: fieldsOfNew,
  arguments: [argument('NAME', 'Short name, before its groups'), argument('URL', 'As its tokens name it')],
  run: async (cli, { title, clientId, clientSecretStdin, scope, audience, ...given }, name, issuer) => {
    if (clientId === undefined) throw usageError('Give --client-id.');
    const body: CreateIssuerRequest = {
      name,
      title: title ?? name,
      issuer,
      client_id: clientId,
      ...(clientSecretStdin === true ? { client_secret: await readSecret(cli) } : {}),
      ...(scope === undefined ? {} : { scopes: [...scope] }),
      ...(audience === undefined ? {} : { audiences: [...audience] }),
      ...mappingOf(given),
    };
    const added = await cli.client.call('createIssuer', { body, signal: cli.signal });
    await cli.out.record(added, issuerView);
  },
});

const update = command({
  brief: 'Change, disable or enable an issuer; for admins',
  details:
    'What is not given stays as it is; rules replace all others. The sessions of a disabled issuer end.',
  flags: { ...fields, disable: flag('Nobody logs in by it'), enable: flag('Enable it again') },
  arguments: [ISSUER],
  run: async (
    cli,
    { title, clientId, clientSecretStdin, scope, audience, disable, enable, ...given },
    issuer,
  ) => {
    if (disable === true && enable === true) throw usageError('Choose one of --disable and --enable.');
    const body = {
      ...(title === undefined ? {} : { title }),
      ...(clientId === undefined ? {} : { client_id: clientId }),
      ...(clientSecretStdin === true ? { client_secret: await readSecret(cli) } : {}),
      ...(scope === undefined ? {} : { scopes: [...scope] }),
      ...(audience === undefined ? {} : { audiences: [...audience] }),
      ...mappingOf(given),
      ...(disable === true ? { enabled: false } : {}),
      ...(enable === true ? { enabled: true } : {}),
    };
    if (Object.keys(body).length === 0) throw usageError('Give a flag with what changes.');
    const path = { id: await issuerId(cli, issuer) };
    await cli.out.record(
      await cli.client.call('updateIssuer', { path, body, signal: cli.signal }),
      issuerView,
    );
  },
});

const check = command({
  brief: 'Read the configuration and keys of an issuer now; for admins',
  arguments: [ISSUER],
  run: async (cli, _flags, given) => {
    const path = { id: await issuerId(cli, given) };
    await cli.out.value(await cli.client.call('checkIssuer', { path, body: {}, signal: cli.signal }));
  },
});

const scimTokenView: View<ScimToken> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => oneLine(name)],
    ['expires', ({ expires_at: at }) => at],
    ['used', ({ last_used_at: at }) => at],
  ],
  name: ({ id }) => id,
  none: 'No SCIM tokens.',
};

const scimTokens = command({
  brief: 'List the SCIM tokens of an issuer; for admins',
  arguments: [ISSUER],
  run: async (cli, _flags, given) => {
    const path = { id: await issuerId(cli, given) };
    await cli.out.list(await cli.client.call('listScimTokens', { path, signal: cli.signal }), scimTokenView);
  },
});

const scimToken = command({
  brief: 'Create a token with which the issuer provisions users and groups; for admins',
  details: 'The token is shown once. The address of SCIM is that of the server with /scim/v2.',
  flags: { expires: text('When it ends. Default: as late as allowed', 'TIME') },
  arguments: [ISSUER, argument('NAME', 'For people')],
  run: async (cli, { expires }, given, name) => {
    const path = { id: await issuerId(cli, given) };
    const body = { name, ...(expires === undefined ? {} : { expires_at: expires }) };
    await cli.out.record(await cli.client.call('createScimToken', { path, body, signal: cli.signal }), {
      columns: [...scimTokenView.columns, ['token', (made) => made.token]],
      name: ({ id }) => id,
    });
  },
});

const deleteScimToken = command({
  brief: 'Delete a SCIM token; it stops working at once',
  flags: { yes: flag('Do not ask') },
  arguments: [ISSUER, argument('ID', 'Of the token')],
  hasData: false,
  run: async (cli, { yes }, given, id) => {
    const path = { id: await issuerId(cli, given), token_id: id };
    await confirm(cli, `Delete the SCIM token ${id}?`, yes);
    await cli.client.call('deleteScimToken', { path, signal: cli.signal });
    cli.say(`Deleted the SCIM token ${id}.`);
  },
});

const machineView: View<IssuerMachine> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => oneLine(name)],
    ['user', (machine) => machine.user_id],
    ['scopes', ({ scopes }) => scopes ?? 'all'],
    ['claims', ({ claims }) => Object.entries(claims).map((claim) => oneLine(claim.join('=')))],
  ],
  name: ({ id }) => id,
  none: 'No machines.',
};

const machines = command({
  brief: 'List the programs whose access tokens of an issuer are accepted; for admins',
  arguments: [ISSUER],
  run: async (cli, _flags, given) => {
    const path = { id: await issuerId(cli, given) };
    await cli.out.list(await cli.client.call('listMachines', { path, signal: cli.signal }), machineView);
  },
});

const machine = command({
  brief: 'Accept access tokens with certain claims as those of an account; for admins',
  details: 'The issuer needs audiences: cadenza issuer update ISSUER --audience AUDIENCE.',
  flags: {
    claim: texts('A claim that must fit, up to 5', 'CLAIM=VALUE'),
    user: text('Username or id of the account as which the program acts', 'USER'),
    scope: texts('Only what this scope allows; default: all that the account may do', 'SCOPE'),
  },
  arguments: [ISSUER, argument('NAME', 'For people')],
  run: async (cli, { claim = [], user, scope }, given, name) => {
    if (user === undefined) throw usageError('Give --user.');
    const pairs = claim.map((one) => /^([^=]+)=(.+)$/.exec(one) ?? []);
    if (pairs.length === 0 || pairs.some(({ length }) => length === 0))
      throw usageError('Write --claim CLAIM=VALUE, such as --claim azp=robot.');
    const claims = Object.fromEntries(pairs.map(([, path = '', value = '']) => [path, value]));
    const path = { id: await issuerId(cli, given) };
    const body = { name, user_id: await userId(cli, user), claims, ...(scope && { scopes: [...scope] }) };
    const made = await cli.client.call('createMachine', { path, body, signal: cli.signal });
    await cli.out.record(made, machineView);
  },
});

const deleteMachine = command({
  brief: 'Accept the access tokens of a program no longer',
  flags: { yes: flag('Do not ask') },
  arguments: [ISSUER, argument('ID', 'Of the machine')],
  hasData: false,
  run: async (cli, { yes }, given, id) => {
    const path = { id: await issuerId(cli, given), machine_id: id };
    await confirm(cli, `Accept tokens of the machine ${id} no longer?`, yes);
    await cli.client.call('deleteMachine', { path, signal: cli.signal });
    cli.say(`Deleted the machine ${id}.`);
  },
});

const remove = command({
  brief: 'Delete an issuer; its sessions end, its users stay',
  flags: { yes: flag('Do not ask') },
  arguments: [ISSUER],
  hasData: false,
  run: async (cli, { yes }, given) => {
    const path = { id: await issuerId(cli, given) };
    await confirm(cli, `Delete the issuer ${given}?`, yes);
    await cli.client.call('deleteIssuer', { path, signal: cli.signal });
    cli.say(`Deleted the issuer ${given}.`);
  },
});

const routes = {
  list,
  get,
  add,
  update,
  check,
  delete: remove,
  machines,
  machine,
  deleteMachine,
  scimTokens,
  scimToken,
  deleteScimToken,
};

export const issuerCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'External issuers for single sign-on' },
});
