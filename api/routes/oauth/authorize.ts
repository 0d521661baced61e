/** The authorization endpoint: a user logs in, sees what a client asks for, and allows or denies it. */
import type { Context } from 'koa';
import * as z from 'zod';

import { isScope, SCOPE_TEXTS } from '../../../contracts/scopes.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { AUDIENCE, audienceOf } from '../../../domain/auth/access-token.ts';
import { hasRole, limitRoles } from '../../../domain/auth/actor.ts';
import { endCookieSession } from '../../../domain/auth/cookie-sessions.ts';
import type { Caller } from '../../../domain/auth/known-callers.ts';
import { AppError, badRequest, forbidden } from '../../../domain/errors.ts';
import {
  AUTHORIZATION_PARAMETERS,
  checkAuthorization,
  redirectBack,
  type AuthorizationParameters,
  type AuthorizationRequest,
} from '../../../domain/oauth/authorization.ts';
import { listChoices } from '../../../domain/identity/issuers.ts';
import { issueCode } from '../../../domain/oauth/codes.ts';
import type { AppDeps } from '../../deps.ts';
import { pageHeaders } from '../../page.ts';
import {
  endpoint,
  media,
  type AuditTrail,
  type Endpoint,
  type EndpointContext,
  type EndpointResponse,
} from '../../endpoint.ts';
import { sameSecret } from '../../middleware/auth.ts';
import {
  clearSessionCookie,
  identifyByCookie,
  isFromOwnPage,
  sessionSecretOf,
} from '../../middleware/session-cookie.ts';
import { MAX_AUTH_BODY_BYTES, FORM } from '../auth/requests.ts';
import { openBrowserSession } from '../console/session.ts';
import {
  renderCodePage,
  renderConsentPage,
  renderLogInPage,
  renderRefusedPage,
  renderResumePage,
  type PageForm,
} from './page.ts';

const value = z.string().optional();
const parameters = Object.fromEntries(AUTHORIZATION_PARAMETERS.map((name) => [name, value]));
/** Says that one of our own pages loads the request again, now with the cookie. */
const RESUMED = 'resumed';
const html = media({ 'text/html': z.string() });

type Deps = Pick<AppDeps, 'env' | 'encryption'>;

export function authorizeEndpoints(deps: Deps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/auth/authorize',
      operationId: 'authorize',
      summary: 'Ask a user to approve an OAuth client: the authorization endpoint, a page (RFC 6749)',
      description:
        'Authorization code with PKCE (`S256` only). `scope` names roles: the highest is the most that the ' +
        'client may do, `builder` by default. A malformed request is a 400 here and is never redirected. ' +
        'The redirect has `code` or `error`, `state` and `iss` (RFC 9207). ' +
        'With the scope `openid` it is a request of OpenID Connect, which may have `nonce`, `prompt` and ' +
        '`max_age`; with `openid` alone the client gets no rights.',
      tags: ['auth'],
      role: 'public',
      query: z.object({ ...parameters, [RESUMED]: value }).catchall(value),
      responses: { 200: html, 303: null, 403: html },
      errors: [403],
      handler: (c) => showPage(deps, c),
    }),
    endpoint({
      method: 'POST',
      path: '/auth/authorize',
      operationId: 'decideAuthorization',
      // What opens a session, or a program's, writes it itself.
      audit: false,
      summary: 'Log in, allow or deny: the form of the authorization page',
      description: 'Only for the page that `GET /auth/authorize` shows, else 403 `foreign_page`.',
      tags: ['auth'],
      role: 'public',
      bodies: {
        [FORM]: z
          .object({ ...parameters, action: value, username: value, password: value, proof: value })
          .extend({ challenge: value, code: value })
          .catchall(value)
          .meta({ id: 'AuthorizationForm' }),
      },
      bodyLimitBytes: MAX_AUTH_BODY_BYTES,
      responses: { 303: null, 401: html },
      errors: [401, 403],
      idempotent: false,
      transaction: false,
      handler: (c) => answerForm(deps, c),
    }),
  ];
}

type Asked = Pick<EndpointContext<unknown, AuthorizationParameters>, 'em' | 'ctx' | 'query' | 'audit'>;

/** What a browser that comes with a request sees. @throws 400 */
async function showPage(deps: Deps, c: Asked): Promise<EndpointResponse> {
  const issuer = deps.env.BASE_URL;
  const request = await checkAuthorization(c.em, issuer, c.query);
  const caller = await identifyByCookie(() => c.em, c.ctx, issuer);
  const isResumed = c.query[RESUMED] !== undefined;
  if (typeof caller === 'string' && !isResumed) {
    const body = renderResumePage(resumedUrl(c.ctx, c.query));
    return { status: 200, type: 'text/html', body, headers: pageHeaders() };
  }
  if (typeof caller === 'string' || isTooOld(request, caller)) {
    return request.prompt === 'none'
      ? refuseSilently(issuer, request, 'login_required')
      : logInPage(c, request, c.query, null);
  }
  if (!mayUse(request, caller)) {
    return request.prompt === 'none'
      ? refuseSilently(issuer, request, 'access_denied')
      : refusedPage(deps, c, request, caller);
  }
  // Who runs this server trusts it, and only its own addresses get the code.
  if (request.client.from_settings && request.prompt !== 'consent' && request.prompt !== 'select_account')
    return seeOther(redirectBack(issuer, request, await approve(c.em, request, caller, c.audit)));
  return request.prompt === 'none'
    ? refuseSilently(issuer, request, 'consent_required')
    : consentPage(deps, c.ctx, request, c.query, caller);
}

/** Some clients are for users with one role only. */
function mayUse({ client }: AuthorizationRequest, { actor }: Caller): boolean {
  return client.required_role === null || hasRole(actor, client.required_role);
}

function isTooOld({ maxAgeSeconds }: AuthorizationRequest, { claims }: Caller): boolean {
  return maxAgeSeconds !== null && Date.now() / 1_000 - (claims.auth_time ?? 0) > maxAgeSeconds;
}

/** The answer to `prompt=none`. Only clients of the settings get redirects that no user has consented to. */
function refuseSilently(issuer: string, request: AuthorizationRequest, error: string): EndpointResponse {
  if (!request.client.from_settings)
    throw badRequest(error, 'The user has to be asked: leave out prompt=none.');
  return seeOther(redirectBack(issuer, request, { error }));
}

/** @throws 400 for a malformed request, 403 for a form that is not ours, 429 for too many log-ins */
async function answerForm(
  deps: Deps,
  {
    em,
    ctx,
    body,
    audit,
  }: Pick<EndpointContext<unknown, unknown, AuthorizationParameters>, 'em' | 'ctx' | 'body' | 'audit'>,
): Promise<EndpointResponse> {
  const issuer = deps.env.BASE_URL;
  if (!isFromOwnPage(ctx, issuer)) throw foreignPage();
  const request = await checkAuthorization(em, issuer, body);
  const again = resumedUrl(ctx, body);
  if (body['action'] === 'log_in') {
    return logInByForm(deps, { em, ctx, body }, request);
  }
  if (body['action'] === 'log_out') {
    await endCookieSession(em, sessionSecretOf(ctx, issuer) ?? '');
    ctx.append('Set-Cookie', clearSessionCookie(issuer));
    return seeOther(again);
  }
  const caller = await identifyByCookie(() => em, ctx, issuer);
  if (typeof caller === 'string') return seeOther(again);
  return seeOther(redirectBack(issuer, request, await decide(deps, em, request, caller, { body, audit })));
}

/** With a second page for a code; passkeys need scripts, so their users log in to the console first. */
async function logInByForm(
  deps: Deps,
  { em, ctx, body }: Pick<EndpointContext<unknown, unknown, AuthorizationParameters>, 'em' | 'ctx' | 'body'>,
  request: AuthorizationRequest,
): Promise<EndpointResponse> {
  const { username = '', password = '', challenge = '', code = '' } = body;
  const plain = code.replaceAll(/\s/g, '');
  const proof = /^\d{6}$/.test(plain) ? { code: plain } : { recovery_code: plain };
  const given = challenge === '' ? { username, password } : { challenge, ...proof };
  try {
    if ((await openBrowserSession(deps, { em, ctx }, given)) !== null) return seeOther(resumedUrl(ctx, body));
  } catch (error) {
    const next =
      error instanceof AppError && error.code === 'mfa_required' ? error.extra?.['challenge'] : null;
    if (typeof next !== 'string') throw error;
    return codePage(ctx, body, next, null);
  }
  return challenge === ''
    ? logInPage({ em, ctx }, request, body, 'The username or password is incorrect.')
    : codePage(ctx, body, challenge, 'The code is wrong, or it is too late: begin again.');
}

function codePage(
  ctx: Context,
  all: AuthorizationParameters,
  challenge: string,
  problem: string | null,
): EndpointResponse {
  const body = renderCodePage({ path: ctx.path, fields: { ...given(all), challenge } }, problem);
  const headers = { ...pageHeaders(), 'WWW-Authenticate': 'Bearer realm="cadenza"' };
  return { status: 401, type: 'text/html', body, headers };
}

/** @throws 403 if the form is not one that this session was shown for this request */
async function decide(
  deps: Deps,
  em: EntityManager,
  request: AuthorizationRequest,
  caller: Caller,
  { body, audit }: Pick<EndpointContext<unknown, unknown, AuthorizationParameters>, 'body' | 'audit'>,
): Promise<{ code: string } | { error: string }> {
  if (!sameSecret(body['proof'] ?? '', proofOf(deps, caller, body))) throw foreignPage();
  if (body['action'] === 'deny' || !mayUse(request, caller)) return { error: 'access_denied' };
  if (body['action'] !== 'approve') throw badRequest('invalid_request', 'action must be approve or deny.');
  return approve(em, request, caller, audit);
}

async function approve(
  em: EntityManager,
  request: AuthorizationRequest,
  { actor, claims }: Caller,
  audit: AuditTrail,
): Promise<{ code: string }> {
  const approver = { user: actor, sid: claims.sid, authTime: claims.auth_time ?? null };
  return {
    code: await em.transactional(async (tx) => {
      await audit.write(tx, {
        action: 'approve_client',
        actor: { id: actor.id, name: actor.username },
        objectType: 'oauth_client',
        objectId: request.client.id,
        data: { name: request.client.name },
      });
      return issueCode(tx, request, approver);
    }),
  };
}

async function refusedPage(
  deps: Deps,
  { em, ctx, query, audit }: Asked,
  request: AuthorizationRequest,
  caller: Caller,
): Promise<EndpointResponse> {
  const { client } = request;
  await audit.write(em, {
    action: 'approve_client',
    outcome: 'refused',
    actor: { id: caller.actor.id, name: caller.actor.username },
    objectType: 'oauth_client',
    objectId: client.id,
    data: { name: client.name, code: 'role_required' },
  });
  const form: PageForm = { path: ctx.path, fields: { ...given(query), proof: proofOf(deps, caller, query) } };
  const body = renderRefusedPage(form, {
    clientName: client.name,
    username: caller.actor.username,
    role: client.required_role ?? 'admin',
  });
  const target = targetOf(request.redirectUri).source;
  return { status: 403, type: 'text/html', body, headers: pageHeaders([target]) };
}

/** Where the browser goes on, as a person reads it and as a source of a policy. */
function targetOf(redirectUri: string): { shown: string; source: string } {
  const { protocol, host, origin, hostname } = new URL(redirectUri);
  const web = /^https?:$/.test(protocol);
  // A source of a policy cannot be an IPv6 address, nor have the host of a private scheme.
  return { shown: web ? host : protocol, source: web && !hostname.startsWith('[') ? origin : protocol };
}

function foreignPage(): AppError {
  return forbidden('Open the page again: this form is not from it.', 'foreign_page');
}

/** Binds the consent form to the session and to each parameter that the user was shown. */
function proofOf({ encryption }: Deps, { claims }: Caller, all: AuthorizationParameters): string {
  return encryption.fingerprint(`consent ${claims.sid} ${JSON.stringify(given(all))}`);
}

/** The parameters that count, in a fixed order. */
function given(all: AuthorizationParameters): Record<string, string> {
  return Object.fromEntries(
    AUTHORIZATION_PARAMETERS.flatMap((name) => {
      const one = all[name];
      return one === undefined ? [] : [[name, one]];
    }),
  );
}

function resumedUrl(ctx: Context, all: AuthorizationParameters): string {
  return `${ctx.path}?${new URLSearchParams({ ...given(all), [RESUMED]: 'true' }).toString()}`;
}

function consentPage(
  deps: Deps,
  ctx: Context,
  request: AuthorizationRequest,
  all: AuthorizationParameters,
  caller: Caller,
): EndpointResponse {
  const { client, redirectUri, roleLimit } = request;
  const target = targetOf(redirectUri);
  const pageForm: PageForm = { path: ctx.path, fields: { ...given(all), proof: proofOf(deps, caller, all) } };
  const body = renderConsentPage(pageForm, {
    clientName: client.name,
    clientUri: client.client_uri,
    redirectTo: target.shown,
    isTrusted: client.from_settings,
    identity: request.openid?.scopes ?? null,
    registeredAt: client.created_at,
    username: caller.actor.username,
    role: request.scopes?.length === 0 ? null : (limitRoles(caller.actor.roles, roleLimit)[0] ?? null),
    toolsOnly: audienceOf(deps.env.BASE_URL, request.resource) !== AUDIENCE,
    mayDecide: request.mayDecide,
    scopes: request.scopes === null || request.scopes.length === 0 ? null : request.scopes.map(scopeText),
  });
  return { status: 200, type: 'text/html', body, headers: pageHeaders([target.source]) };
}

function scopeText(scope: string): string {
  return isScope(scope) ? SCOPE_TEXTS[scope] : `read and run the workflow ${scope.replace('workflow:', '')}`;
}

async function logInPage(
  { em, ctx }: Pick<EndpointContext, 'em' | 'ctx'>,
  request: AuthorizationRequest,
  all: AuthorizationParameters,
  problem: string | null,
): Promise<EndpointResponse> {
  const back = new URLSearchParams({ return_to: resumedUrl(ctx, all) }).toString();
  const issuers = (await listChoices(em)).map(({ name, title }) => ({
    title,
    url: `/auth/sso/${name}?${back}`,
  }));
  const pageForm = { path: ctx.path, fields: given(all) };
  const body = renderLogInPage(pageForm, request.client.name, problem, issuers);
  const challenge = problem === null ? {} : { 'WWW-Authenticate': 'Bearer realm="cadenza"' };
  return {
    status: problem === null ? 200 : 401,
    type: 'text/html',
    body,
    headers: { ...pageHeaders(), ...challenge },
  };
}

function seeOther(location: string): EndpointResponse {
  return { status: 303, headers: { Location: location, 'Cache-Control': 'no-store' } };
}
