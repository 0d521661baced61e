/** External issuers for single sign-on. */
import { buildRouteMap } from '@stricli/core';

import type { IdentityIssuer, IssuerMachine, ScimToken } from '../../client/operations.ts';
import { claimOf } from '../../contracts/claim-text.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command, FRESH_LOG_IN, type Context } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { flag, text, texts } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { isId, userId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { oneLine } from '../core/text.ts';
import { changedIssuer, fieldsOfChanged, fieldsOfNew, newIssuer } from './issuer-fields.ts';

const ISSUER = argument('ISSUER', 'Id or short name');

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
const issuerRecordView: View<IdentityIssuer> = {
  ...issuerView,
  columns: [
    ...issuerView.columns,
    ['client id', (issuer) => issuer.client_id],
    ['client secret', (issuer) => (issuer.has_secret ? 'yes' : 'no')],
    ['keys', (issuer) => issuer.jwks_uri],
    ['scopes', ({ scopes }) => scopes],
    ['username claim', ({ mapping }) => mapping.username],
    ['e-mail claim', ({ mapping }) => mapping.email],
    ['name claim', ({ mapping }) => mapping.display_name],
    ['groups claim', ({ mapping }) => mapping.groups],
    ['second factor', ({ mapping: { second_factor: rule } }) => `${rule.claim}=${rule.value}`],
    [
      'rules',
      ({ mapping }) => mapping.roles.map(({ claim, value, roles }) => `${claim}=${value}:${roles.join('+')}`),
    ],
    ['default roles', ({ mapping }) => mapping.default_roles],
    ['creates users', (issuer) => (issuer.creates_users ? 'yes' : 'no')],
    ['externalId claim', (issuer) => issuer.external_id_claim],
    ['audiences', ({ audiences }) => audiences],
    ['token types', (issuer) => issuer.token_types],
  ],
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
    await cli.out.record(await cli.client.call('getIssuer', { path, signal: cli.signal }), issuerRecordView);
  },
});

const add = command({
  brief: 'Add an OpenID Connect issuer; for admins',
  details:
    'Register the redirect URI that it prints at the issuer. docs/single-sign-on.md has examples. ' +
    FRESH_LOG_IN,
  flags: fieldsOfNew,
  arguments: [argument('NAME', 'Short name, before its groups'), argument('URL', 'As its tokens name it')],
  run: async (cli, flags, name, url) => {
    const body = await newIssuer(cli, flags, name, url);
    const added = await cli.client.call('createIssuer', { body, signal: cli.signal });
    await cli.out.record(added, issuerRecordView);
  },
});

const update = command({
  brief: 'Change, disable or enable an issuer; for admins',
  details:
    'What is not given stays as it is; rules replace all others. The sessions of a disabled issuer end. ' +
    FRESH_LOG_IN,
  flags: fieldsOfChanged,
  arguments: [ISSUER],
  run: async (cli, flags, issuer) => {
    const body = await changedIssuer(cli, flags);
    const path = { id: await issuerId(cli, issuer) };
    const changed = await cli.client.call('updateIssuer', { path, body, signal: cli.signal });
    await cli.out.record(changed, issuerRecordView);
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
  details:
    'The token is shown once. The address of SCIM is that of the server with /scim/v2. ' + FRESH_LOG_IN,
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
  details: `The issuer needs audiences: cadenza issuer update ISSUER --audience AUDIENCE. ${FRESH_LOG_IN}`,
  flags: {
    claim: texts('A claim that must fit, up to 5', 'CLAIM=VALUE'),
    user: text('Username or id of the account as which the program acts', 'USER'),
    scope: texts('Only what this scope allows; default: all that the account may do', 'SCOPE'),
  },
  arguments: [ISSUER, argument('NAME', 'For people')],
  run: async (cli, { claim = [], user, scope }, given, name) => {
    if (user === undefined) throw usageError('Give --user.');
    const pairs = claim.flatMap((one) => claimOf(one) ?? []);
    if (pairs.length === 0 || pairs.length < claim.length)
      throw usageError('Write --claim CLAIM=VALUE, such as --claim azp=robot.');
    const claims = Object.fromEntries(pairs.map((pair) => [pair.claim, pair.value]));
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
