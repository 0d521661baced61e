/** External issuers for single sign-on. */
import { buildRouteMap } from '@stricli/core';

import type { CreateIssuerRequest, IdentityIssuer } from '../../client/operations.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command, type Context } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { flag, text, texts } from '../core/flags.ts';
import { confirm, readSecret } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { isId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { oneLine } from '../core/text.ts';

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
  title: text('What the log-in says: Log in with TITLE', 'TITLE'),
  clientId: text('What Cadenza is called there', 'ID'),
  clientSecretStdin: flag('Read the client secret from standard input. Default: a public client'),
  scope: texts('OAuth scope. Default: openid, profile and email', 'SCOPE'),
  role: texts('Rule for a role; CLAIM is a name or a JSON pointer', 'CLAIM=VALUE:ROLE'),
  defaultRole: texts(`Role of those whom no rule fits: ${ROLES.join(', ')}`, 'ROLE'),
  groupsClaim: text('Claim with the groups. Default: groups', 'CLAIM'),
};

interface Given {
  role?: readonly string[] | undefined;
  defaultRole?: readonly string[] | undefined;
  groupsClaim?: string | undefined;
}

function mappingOf({ role, defaultRole, groupsClaim }: Given) {
  const mapping = {
    ...(role === undefined ? {} : { roles: role.map(ruleOf) }),
    ...(defaultRole === undefined ? {} : { default_roles: defaultRole.map(roleOf) }),
    ...(groupsClaim === undefined ? {} : { groups: groupsClaim }),
  };
  return Object.keys(mapping).length === 0 ? {} : { mapping };
}

function ruleOf(given: string): { claim: string; value: string; roles: Role[] } {
  const [, claim, value, role] = /^([^=]+)=(.+):(\w+)$/.exec(given) ?? [];
  if (claim === undefined || value === undefined || role === undefined)
    throw usageError('Write --role CLAIM=VALUE:ROLE, such as --role groups=staff:viewer.');
  return { claim, value, roles: [roleOf(role)] };
}

function roleOf(given: string): Role {
  const role = ROLES.find((one) => one === given);
  if (role === undefined) throw usageError(`A role is one of ${ROLES.join(', ')}.`);
  return role;
}

const add = command({
  brief: 'Add an OpenID Connect issuer; for admins',
  details: 'Register the redirect URI that it prints at the issuer. docs/single-sign-on.md has examples.',
  flags: fields,
  arguments: [argument('NAME', 'Short name, before its groups'), argument('URL', 'As its tokens name it')],
  run: async (cli, { title, clientId, clientSecretStdin, scope, ...given }, name, issuer) => {
    if (clientId === undefined) throw usageError('Give --client-id.');
    const body: CreateIssuerRequest = {
      name,
      title: title ?? name,
      issuer,
      client_id: clientId,
      ...(clientSecretStdin === true ? { client_secret: await readSecret(cli) } : {}),
      ...(scope === undefined ? {} : { scopes: [...scope] }),
      ...mappingOf(given),
    };
    const added = await cli.client.call('createIssuer', { body, signal: cli.signal });
    await cli.out.record(added, issuerView);
  },
});

const update = command({
  brief: 'Change, disable or enable an issuer; for admins',
  details: 'Rules replace all others. The sessions of a disabled issuer end.',
  flags: { ...fields, disable: flag('Nobody logs in by it'), enable: flag('Enable it again') },
  arguments: [ISSUER],
  run: async (cli, { title, clientId, clientSecretStdin, scope, disable, enable, ...given }, issuer) => {
    if (disable === true && enable === true) throw usageError('Choose one of --disable and --enable.');
    const body = {
      ...(title === undefined ? {} : { title }),
      ...(clientId === undefined ? {} : { client_id: clientId }),
      ...(clientSecretStdin === true ? { client_secret: await readSecret(cli) } : {}),
      ...(scope === undefined ? {} : { scopes: [...scope] }),
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

const remove = command({
  brief: 'Delete an issuer; its sessions end, its users stay',
  flags: { yes: flag('Do not ask') },
  arguments: [ISSUER],
  run: async (cli, { yes }, given) => {
    const path = { id: await issuerId(cli, given) };
    await confirm(cli, `Delete the issuer ${given}?`, yes);
    await cli.client.call('deleteIssuer', { path, signal: cli.signal });
    cli.say(`Deleted the issuer ${given}.`);
  },
});

const routes = { list, get, add, update, check, delete: remove };

export const issuerCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'External issuers for single sign-on' },
});
