/** The fields of an external issuer as flags. */
import type { CreateIssuerRequest, UpdateIssuerRequest } from '../../client/operations.ts';
import { claimOf } from '../../contracts/claim-text.ts';
import { ROLES, type Role } from '../../contracts/roles.ts';
import type { Cli } from '../core/cli.ts';
import { usageError } from '../core/errors.ts';
import { choice, flag, text, texts, type ValuesOf } from '../core/flags.ts';
import { readSecret } from '../core/input.ts';

const TOKEN_TYPES = ['at+jwt', 'jwt', 'none'] as const;
type Mapping = NonNullable<UpdateIssuerRequest['mapping']>;

/** Instead of a value, or of all values. */
const NONE = 'none';

const fields = {
  title: text('What the log-in says: Continue with TITLE', 'TITLE'),
  clientId: text('What Cadenza is called there', 'ID'),
  clientSecretStdin: flag('Read the client secret from standard input'),
  jwksUri: text('Address of its keys; none: what its configuration names', 'URL'),
  scope: texts('OAuth scope', 'SCOPE'),
  role: texts('Rule for a role; CLAIM is a name or a JSON pointer; none: no rules', 'CLAIM=VALUE:ROLE'),
  defaultRole: texts(`Role of those whom no rule fits: ${ROLES.join(', ')}; none: they stay out`, 'ROLE'),
  groupsClaim: text('Claim with the groups; none: without groups', 'CLAIM'),
  usernameClaim: text('Claim with the username', 'CLAIM'),
  emailClaim: text('Claim with the e-mail address', 'CLAIM'),
  displayNameClaim: text('Claim with the name', 'CLAIM'),
  secondFactor: text('Claim of a log-in with a second factor', 'CLAIM=VALUE'),
  createsUsers: choice('Whether the first log-in makes the account', ['yes', 'no']),
  externalIdClaim: text('Claim with the externalId of SCIM, such as sub or oid; none: no SCIM', 'CLAIM'),
  audience: texts('Audience of access tokens of programs; none: they are not accepted', 'AUDIENCE'),
  tokenType: texts(`typ of such tokens: ${TOKEN_TYPES.join(', ')} (without one)`, 'TYPE'),
};

/** What is not given has a default in a new issuer, and stays as it is in one that is changed. */
export const fieldsOfNew = {
  ...fields,
  clientSecretStdin: flag('Read the client secret from standard input. Default: a public client'),
  scope: texts('OAuth scope. Default: openid, profile and email', 'SCOPE'),
  groupsClaim: text('Claim with the groups; none: without groups. Default: groups', 'CLAIM'),
  usernameClaim: text('Claim with the username. Default: preferred_username', 'CLAIM'),
  emailClaim: text('Claim with the e-mail address. Default: email', 'CLAIM'),
  displayNameClaim: text('Claim with the name. Default: name', 'CLAIM'),
  secondFactor: text('Claim of a log-in with a second factor. Default: amr=mfa', 'CLAIM=VALUE'),
  createsUsers: choice('Whether the first log-in makes the account. Default: yes', ['yes', 'no']),
  tokenType: texts(`typ of such tokens: ${TOKEN_TYPES.join(', ')} (without one). Default: at+jwt`, 'TYPE'),
  disable: flag('Nobody logs in by it yet'),
};
export const fieldsOfChanged = {
  ...fields,
  issuer: text('Its address, as its tokens name it', 'URL'),
  publicClient: flag('Remove the client secret'),
  disable: flag('Nobody logs in by it'),
  enable: flag('Enable it again'),
};

type Given = ValuesOf<typeof fields>;

/** @throws CliError if what is new says too little */
export async function newIssuer(
  cli: Cli,
  { disable, ...given }: ValuesOf<typeof fieldsOfNew>,
  name: string,
  issuer: string,
): Promise<CreateIssuerRequest> {
  if (given.clientId === undefined) throw usageError('Give --client-id.');
  return {
    title: name,
    ...(await bodyOf(cli, given)),
    name,
    issuer,
    client_id: given.clientId,
    ...(disable === true ? { enabled: false } : {}),
  };
}

/** @throws CliError if nothing changes, or flags contradict each other */
export async function changedIssuer(
  cli: Cli,
  { issuer, publicClient, disable, enable, ...given }: ValuesOf<typeof fieldsOfChanged>,
): Promise<UpdateIssuerRequest> {
  if (disable === true && enable === true) throw usageError('Choose one of --disable and --enable.');
  if (publicClient === true && given.clientSecretStdin === true)
    throw usageError('Choose one of --client-secret-stdin and --public-client.');
  const body = {
    ...(await bodyOf(cli, given)),
    ...(issuer === undefined ? {} : { issuer }),
    ...(publicClient === true ? { client_secret: null } : {}),
    ...(disable === true ? { enabled: false } : {}),
    ...(enable === true ? { enabled: true } : {}),
  };
  if (Object.keys(body).length === 0) throw usageError('Give a flag with what changes.');
  return body;
}

async function bodyOf(cli: Cli, given: Given) {
  const { title, clientId, clientSecretStdin, jwksUri, scope } = given;
  const { createsUsers, externalIdClaim, audience, tokenType } = given;
  const mapping = mappingOf(given);
  return {
    ...(title === undefined ? {} : { title }),
    ...(clientId === undefined ? {} : { client_id: clientId }),
    ...(jwksUri === undefined ? {} : { jwks_uri: orNull(jwksUri) }),
    ...(scope === undefined ? {} : { scopes: [...scope] }),
    ...(Object.keys(mapping).length === 0 ? {} : { mapping }),
    ...(createsUsers === undefined ? {} : { creates_users: createsUsers === 'yes' }),
    ...(externalIdClaim === undefined ? {} : { external_id_claim: orNull(externalIdClaim) }),
    ...(audience === undefined ? {} : { audiences: valuesOf(audience) }),
    ...(tokenType === undefined ? {} : { token_types: tokenType.map(tokenTypeOf) }),
    // The last to be read: a mistake in the others needs no secret.
    ...(clientSecretStdin === true ? { client_secret: await readSecret(cli) } : {}),
  };
}

function mappingOf(given: Given): Mapping {
  const { role, defaultRole, groupsClaim, usernameClaim, emailClaim, displayNameClaim, secondFactor } = given;
  return {
    ...(role === undefined ? {} : { roles: valuesOf(role).map(ruleOf) }),
    ...(defaultRole === undefined
      ? {}
      : { default_roles: valuesOf(defaultRole).map((one) => roleOf(one, '--default-role')) }),
    ...(groupsClaim === undefined ? {} : { groups: orNull(groupsClaim) }),
    ...(usernameClaim === undefined ? {} : { username: usernameClaim }),
    ...(emailClaim === undefined ? {} : { email: emailClaim }),
    ...(displayNameClaim === undefined ? {} : { display_name: displayNameClaim }),
    ...(secondFactor === undefined ? {} : { second_factor: secondFactorOf(secondFactor) }),
  };
}

function orNull(given: string): string | null {
  return given === NONE ? null : given;
}

function valuesOf(given: readonly string[]): string[] {
  return given.length === 1 && given[0] === NONE ? [] : [...given];
}

function ruleOf(given: string): { claim: string; value: string; roles: Role[] } {
  const [, pair = '', role = ''] = /^(.*):(\w+)$/.exec(given) ?? [];
  const claim = claimOf(pair);
  if (claim === null) throw usageError('Write --role CLAIM=VALUE:ROLE, such as --role groups=staff:viewer.');
  return { ...claim, roles: [roleOf(role, '--role')] };
}

function secondFactorOf(given: string): { claim: string; value: string } {
  const claim = claimOf(given);
  if (claim === null) throw usageError('Write --second-factor CLAIM=VALUE, such as --second-factor amr=mfa.');
  return claim;
}

function roleOf(given: string, flagWith: string): Role {
  const role = ROLES.find((one) => one === given);
  if (role === undefined) throw usageError(`A role of ${flagWith} is one of ${ROLES.join(', ')}.`);
  return role;
}

function tokenTypeOf(given: string): (typeof TOKEN_TYPES)[number] {
  const type = TOKEN_TYPES.find((one) => one === given);
  if (type === undefined) throw usageError(`A --token-type is one of ${TOKEN_TYPES.join(', ')}.`);
  return type;
}
