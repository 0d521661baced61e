/** The DSL's authentication policies (dsl-reference.md "Authentication") for `call: http`. */
import { createHmac, randomUUID } from 'node:crypto';
import { isRecord } from '../../contracts/is-record.ts';
import { fault } from '../../contracts/fault.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import type { HttpCall } from '../../domain/ports.ts';
import { digestAuthorization } from './digest.ts';
import type { EgressPolicy, EgressResponse } from '../egress/egress.ts';
import { basicCredentials, type TokenRequest, type TokenSource } from './oauth-token.ts';
import { textsIn, type Sensitive } from '../secrets/sensitive.ts';

export interface DslCredentials {
  headers: Record<string, string>;
  /** After a 401: the headers for one more attempt; null if there are none. */
  challenged(answer: EgressResponse, request: { method: string; url: string }): Record<string, string> | null;
}

interface Tools {
  egress: EgressPolicy;
  tokens: TokenSource;
  sensitive: Sensitive;
  limits: { timeoutMs: number; signal: AbortSignal };
}

type Values = Record<string, unknown>;

/**
 * `policy` is evaluated and has exactly one scheme. `{use: name}` inside a scheme reads a secret: an object,
 * `user:password`, or a bare token.
 */
export async function dslCredentials(policy: unknown, call: HttpCall, tools: Tools): Promise<DslCredentials> {
  const schemes = isRecord(policy) ? policy : {};
  const [scheme] = Object.keys(schemes);
  if (scheme === undefined) return { headers: {}, challenged: () => null };
  const values = await schemeValues(scheme, schemes[scheme], call, tools.sensitive);
  switch (scheme) {
    case 'basic': {
      const value = basicCredentials(text(values, 'username'), text(values, 'password'));
      tools.sensitive.protect(text(values, 'password'), '<PASSWORD>');
      tools.sensitive.protect(value.slice('Basic '.length), '<CREDENTIALS>');
      return { headers: { authorization: value }, challenged: () => null };
    }
    case 'bearer':
      return bearer(text(values, 'token'), tools.sensitive);
    case 'digest': {
      const account = { username: text(values, 'username'), password: text(values, 'password') };
      tools.sensitive.protect(account.password, '<PASSWORD>');
      return {
        headers: {},
        challenged: (answer, request) => {
          const value = digestAuthorization(answer.headers['www-authenticate'] ?? '', {
            ...request,
            ...account,
          });
          return value === null ? null : { authorization: value };
        },
      };
    }
    case 'oauth2':
    case 'oidc': {
      const request = await tokenRequest(scheme, values, tools);
      const token = await tools.tokens.token(request, tools.limits);
      checkIssuer(token, values['issuers'], request.tokenUrl);
      return {
        ...bearer(token, tools.sensitive),
        challenged: () => {
          tools.tokens.forget(request);
          return null;
        },
      };
    }
    default:
      throw fault('configuration', `The authentication "${scheme}" is not known`);
  }
}

function bearer(token: string, sensitive: Sensitive): DslCredentials {
  sensitive.protect(token, '<TOKEN>');
  return { headers: { authorization: `Bearer ${token}` }, challenged: () => null };
}

async function schemeValues(
  scheme: string,
  given: unknown,
  call: HttpCall,
  sensitive: Sensitive,
): Promise<Values> {
  if (!isRecord(given)) throw fault('configuration', `The authentication "${scheme}" must be an object`);
  const name = given['use'];
  if (typeof name !== 'string') return given;
  const secret = await call.secret(name);
  if (secret === null)
    throw fault('configuration', `The secret ${name} is not in the workflow owner's store`);
  for (const part of textsIn(secret)) sensitive.protect(part, `<${name}>`);
  const parsed = parseObject(secret);
  if (parsed !== null) return parsed;
  if (scheme === 'bearer') return { token: secret };
  const [username = '', ...password] = secret.split(':');
  if (password.length > 0 && (scheme === 'basic' || scheme === 'digest'))
    return { username, password: password.join(':') };
  throw fault('configuration', `The secret ${name} must be a JSON object with the fields of "${scheme}"`);
}

async function tokenRequest(scheme: 'oauth2' | 'oidc', values: Values, tools: Tools): Promise<TokenRequest> {
  const grant = text(values, 'grant');
  const client: Values = isRecord(values['client']) ? values['client'] : {};
  const how = optional(client, 'authentication') ?? 'client_secret_post';
  const clientId = optional(client, 'id');
  const clientSecret = optional(client, 'secret');
  if (clientSecret !== undefined) tools.sensitive.protect(clientSecret, '<CLIENT_SECRET>');
  const assertion = optional(client, 'assertion');
  if (assertion !== undefined) tools.sensitive.protect(assertion, '<CLIENT_ASSERTION>');
  const tokenUrl = await tokenEndpoint(scheme, values, tools);
  const list = (key: string): string | undefined => {
    const items = values[key];
    return Array.isArray(items) && items.length > 0 ? items.map(String).join(' ') : undefined;
  };
  const parameters: Record<string, string | undefined> = {
    grant_type: grant,
    scope: list('scopes'),
    audience: list('audiences'),
  };
  if (grant === 'password') {
    parameters['username'] = text(values, 'username');
    parameters['password'] = text(values, 'password');
    tools.sensitive.protect(parameters['password'], '<PASSWORD>');
  } else if (grant === 'urn:ietf:params:oauth:grant-type:token-exchange') {
    for (const party of ['subject', 'actor']) {
      const token = values[party];
      if (!isRecord(token)) continue;
      parameters[`${party}_token`] = text(token, 'token');
      tools.sensitive.protect(text(token, 'token'), '<TOKEN>');
      parameters[`${party}_token_type`] = text(token, 'type');
    }
  } else if (grant !== 'client_credentials') {
    throw fault(
      'configuration',
      `The grant "${grant}" is not available in a workflow: there is nobody to ask and no token to refresh`,
    );
  }
  if (how === 'private_key_jwt' || how === 'client_secret_jwt') {
    parameters['client_assertion_type'] = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    parameters['client_assertion'] =
      assertion ?? clientAssertion(how, clientId ?? '', clientSecret, tokenUrl);
  } else if (how !== 'client_secret_post' && how !== 'client_secret_basic' && how !== 'none') {
    throw fault('configuration', `The client authentication "${how}" is not known`);
  }
  const encoding = isRecord(values['request']) ? optional(values['request'], 'encoding') : undefined;
  const usesSecret = how === 'client_secret_post' || how === 'client_secret_basic';
  return {
    tokenUrl,
    parameters: Object.fromEntries(
      Object.entries(parameters).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
    ),
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined || !usesSecret ? {} : { clientSecret }),
    clientAuthentication: how === 'client_secret_basic' || how === 'client_secret_post' ? how : 'none',
    ...(encoding === 'application/json' ? { encoding } : {}),
  };
}

/**
 * `issuers` lists the allowed issuers of the token. The token comes from the authority itself, so its
 * signature is not checked.
 */
function checkIssuer(token: string, issuers: unknown, tokenUrl: string): void {
  if (!Array.isArray(issuers) || issuers.length === 0) return;
  const claims = parseObject(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  const issuer = claims === null ? undefined : optional(claims, 'iss');
  if (issuer !== undefined && issuers.includes(issuer)) return;
  const { host } = new URL(tokenUrl);
  throw fault(
    'authentication',
    issuer === undefined
      ? `The token of ${host} names no issuer, so "issuers" cannot be checked`
      : `The token of ${host} is of another issuer than "issuers" names`,
  );
}

/**
 * The token endpoint. For OAuth2: authority plus path. For OpenID Connect, and for an OAuth2 authority that
 * is the URL of a discovery document: the document's `token_endpoint`.
 */
async function tokenEndpoint(scheme: 'oauth2' | 'oidc', values: Values, tools: Tools): Promise<string> {
  const authority = text(values, 'authority');
  const given = isRecord(values['endpoints']) ? optional(values['endpoints'], 'token') : undefined;
  if (scheme === 'oauth2' && (given !== undefined || !authority.includes('/.well-known/'))) {
    const path = given ?? '/oauth2/token';
    if (URL.canParse(path)) return path;
    return `${withoutEnd(authority, '/')}/${path.replace(/^\/+/, '')}`;
  }
  const discovery = authority.includes('/.well-known/')
    ? authority
    : `${withoutEnd(authority, '/')}/.well-known/openid-configuration`;
  const answer = await tools.egress.request({
    url: discovery,
    method: 'GET',
    headers: { accept: 'application/json' },
    ...tools.limits,
  });
  const document = parseObject(Buffer.from(answer.bytes).toString());
  const endpoint = document === null ? undefined : optional(document, 'token_endpoint');
  if (answer.status !== 200 || endpoint === undefined) {
    throw fault('communication', `${new URL(discovery).host} has no OpenID Connect discovery document`, {
      status: answer.status >= 400 ? answer.status : 502,
    });
  }
  return endpoint;
}

/** RFC 7523 §3, signed with the client's secret. */
function clientAssertion(
  how: string,
  clientId: string,
  clientSecret: string | undefined,
  audience: string,
): string {
  if (how === 'private_key_jwt' || clientSecret === undefined) {
    throw fault(
      'configuration',
      how === 'private_key_jwt'
        ? 'private_key_jwt needs client.assertion'
        : 'client_secret_jwt needs client.secret',
    );
  }
  const now = Math.floor(Date.now() / 1000);
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = part({ alg: 'HS256', typ: 'JWT' });
  const lifetime = { jti: randomUUID(), iat: now, exp: now + 120 };
  const claims = part({ iss: clientId, sub: clientId, aud: audience, ...lifetime });
  const signed = `${header}.${claims}`;
  return `${signed}.${createHmac('sha256', clientSecret).update(signed).digest('base64url')}`;
}

function text(values: Values, key: string): string {
  const value = optional(values, key);
  if (value === undefined) throw fault('configuration', `The authentication needs "${key}"`);
  return value;
}

function optional(values: Values, key: string): string | undefined {
  const value = values[key];
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function parseObject(json: string): Values | null {
  try {
    const value: unknown = JSON.parse(json);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
