/** The log-in of a browser at an external issuer: authorization code with PKCE (OpenID Connect Core). */
import type { Context } from 'koa';
import * as z from 'zod';

import { IdentityRefusal } from '../../../contracts/identity-refusal.ts';
import { AppError } from '../../../domain/errors.ts';
import { linkOwnIdentity } from '../../../domain/identity/identities.ts';
import { accessOf, findEnabledIssuer, type Issuer } from '../../../domain/identity/issuers.ts';
import { auditRefusedLogIn, logInByIdentity, type LogInRefusal } from '../../../domain/identity/log-in.ts';
import { endSessionsByIssuer } from '../../../domain/identity/log-out.ts';
import {
  beginLogIn,
  CONSOLE,
  openPending,
  safeReturn,
  sealPending,
  type PendingLogIn,
} from '../../../domain/identity/pending-log-in.ts';
import type { IssuedIdentity, LogInRequest } from '../../../domain/ports.ts';
import { originOf } from '../../audit-trail.ts';
import type { AppDeps } from '../../deps.ts';
import {
  endpoint,
  media,
  type Endpoint,
  type EndpointContext,
  type EndpointResponse,
} from '../../endpoint.ts';
import { isFromOwnPage, sessionSecretOf, setSessionCookie } from '../../middleware/session-cookie.ts';
import { MAX_AUTH_BODY_BYTES, FORM, openedFrom } from '../auth/requests.ts';
import { oauthError } from '../auth/schemas.ts';
import { pageHeaders } from '../../page.ts';
import { renderProblemPage } from '../oauth/page.ts';
import { pendingCookie, pendingCookieOf } from './browser-cookie.ts';
import { redirectUriOf, TAGS } from './schemas.ts';

type Deps = Pick<AppDeps, 'env' | 'encryption' | 'identities'>;
type Call = Pick<EndpointContext, 'em' | 'ctx'>;

const html = media({ 'text/html': z.string() });
const params = z.object({ name: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/) });
const pages = { 303: null, 400: html, 403: html, 404: html, 502: html };

export function identityLogInEndpoints(deps: Deps): Endpoint[] {
  return [beginEndpoint(deps), callbackEndpoint(deps), backChannelEndpoint(deps)];
}

function beginEndpoint(deps: Deps): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/auth/sso/{name}',
    operationId: 'beginIssuerLogIn',
    summary: 'Send the browser to an issuer, where its user logs in',
    description:
      'A page. `return_to` is a path of the console or of the authorization endpoint. With `fresh=true` ' +
      'the issuer asks for the credentials again. From pages of other sites it leads to the console instead.',
    tags: TAGS,
    role: 'public',
    params,
    query: z.object({ return_to: z.string().optional(), fresh: z.enum(['true', 'false']).optional() }),
    responses: pages,
    errors: [403, 404, 502],
    handler: async (c) => {
      const { return_to: wanted, fresh } = c.query;
      if (!isFromOwnPage(c.ctx, deps.env.BASE_URL)) return seeOther(CONSOLE);
      const back = safeReturn(deps.env.BASE_URL, wanted);
      const issuer = await findEnabledIssuer(c.em, c.params.name);
      if (issuer === null) return problemPage(404, 'There is no such issuer.', back);
      return answering(c, back, async () => {
        const log = beginLogIn({
          issuer_id: issuer.id,
          fresh: fresh === 'true',
          return_to: back,
          link: null,
        });
        return seeOther(await addressOf(deps, c, issuer, log));
      });
    },
  });
}

/** Sets the cookie of a new log-in. @returns the address at the issuer @throws IdentityRefusal */
export async function addressOf(
  deps: Deps,
  { em, ctx }: Call,
  issuer: Issuer,
  log: PendingLogIn,
): Promise<string> {
  const access = await accessOf(em, deps.encryption, issuer);
  const url = await deps.identities.logInUrl(access, requestOf(deps, issuer, log));
  ctx.append('Set-Cookie', pendingCookie(deps.env.BASE_URL, sealPending(deps.encryption, log)));
  return url;
}

function requestOf({ env }: Deps, issuer: Issuer, log: PendingLogIn): LogInRequest {
  const { state, nonce, verifier, fresh } = log;
  return { redirect_uri: redirectUriOf(env.BASE_URL, issuer), state, nonce, verifier, fresh };
}

function callbackEndpoint(deps: Deps): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/auth/sso/{name}/callback',
    operationId: 'completeIssuerLogIn',
    summary: 'Where an issuer sends the browser back',
    description: 'A page. Only the browser that began the log-in can complete it, once.',
    tags: TAGS,
    role: 'public',
    params,
    query: z.looseObject({}).catchall(z.union([z.string(), z.array(z.string())])),
    responses: pages,
    errors: [403, 404, 502],
    transaction: false,
    handler: async (c) => {
      const sealed = pendingCookieOf(c.ctx, deps.env.BASE_URL);
      const log = sealed === null ? null : openPending(deps.encryption, sealed);
      const issuer = await findEnabledIssuer(c.em, c.params.name);
      if (log === null || issuer === null || log.issuer_id !== issuer.id)
        return problemPage(400, 'This log-in was not begun in this browser, or it took too long.', CONSOLE);
      c.ctx.append('Set-Cookie', pendingCookie(deps.env.BASE_URL, null));
      return answering(c, log.return_to, () => complete(deps, c, issuer, log));
    },
  });
}

/** @throws IdentityRefusal, AppError */
async function complete(
  deps: Deps,
  { em, ctx, audit }: Call & Pick<EndpointContext, 'audit'>,
  issuer: Issuer,
  log: PendingLogIn,
): Promise<EndpointResponse> {
  const request = requestOf(deps, issuer, log);
  const access = await accessOf(em, deps.encryption, issuer);
  const address = new URL(`${request.redirect_uri}?${ctx.querystring}`);
  const identity = await deps.identities.redeem(access, request, address).catch(async (error: unknown) => {
    if (error instanceof IdentityRefusal) await auditRefusedLogIn(em, openedFrom(ctx), issuer, error.code);
    throw error;
  });
  const { link } = log;
  if (link !== null) {
    const { SECOND_FACTOR_ROLES: secondFactorRoles } = deps.env;
    await em.transactional(async (tx) => {
      const linking = { ...link, origin: originOf(ctx), secondFactorRoles };
      await linkOwnIdentity(tx, linking, issuer, identity);
      const actor = { id: link.userId, name: null };
      await audit.write(tx, {
        action: 'linkMyIdentity',
        actor,
        objectType: 'identity_issuer',
        objectId: issuer.id,
      });
    });
    return seeOther(log.return_to);
  }
  return openSession(deps, { em, ctx }, issuer, identity, log);
}

async function openSession(
  { env, encryption }: Deps,
  { em, ctx }: Call,
  issuer: Issuer,
  identity: IssuedIdentity,
  { fresh, return_to: back }: PendingLogIn,
): Promise<EndpointResponse> {
  const former = sessionSecretOf(ctx, env.BASE_URL);
  const opened = await em.transactional((tx) =>
    logInByIdentity(tx, encryption, { issuer, identity, fresh, from: openedFrom(ctx), former }),
  );
  if ('refusal' in opened) return problemPage(403, REFUSALS[opened.refusal](issuer.title), back);
  ctx.append('Set-Cookie', setSessionCookie(env.BASE_URL, opened.secret));
  return seeOther(back);
}

const REFUSALS: Readonly<Record<LogInRefusal, (title: string) => string>> = {
  no_account: (title) =>
    `${title} knows you, but you have no account here, or none of your rights there gives you one.`,
  no_roles: (title) => `None of your rights at ${title} gives you access here. Ask an administrator.`,
  disabled: () => 'Your account is disabled. Ask an administrator.',
};

function backChannelEndpoint({ encryption, identities }: Deps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/auth/sso/{name}/logout',
    operationId: 'endSessionsByIssuer',
    summary: 'An issuer ends sessions (OpenID Connect Back-Channel Logout 1.0)',
    tags: TAGS,
    role: 'public',
    params,
    bodies: {
      [FORM]: z.looseObject({ logout_token: z.string().optional() }).meta({ id: 'IssuerLogOutForm' }),
    },
    bodyLimitBytes: MAX_AUTH_BODY_BYTES,
    responses: { 200: null, 400: media({ 'application/json': oauthError }) },
    idempotent: false,
    transaction: false,
    handler: async (c) => {
      const issuer = await findEnabledIssuer(c.em, c.params.name);
      try {
        if (issuer === null || !c.body.logout_token) throw new IdentityRefusal('invalid_answer', 'No token.');
        const access = await accessOf(c.em, encryption, issuer);
        const named = await identities.logOutClaims(access, c.body.logout_token);
        await c.em.transactional(async (tx) => {
          await endSessionsByIssuer(tx, issuer, named);
          await c.audit.write(tx, { objectType: 'identity_issuer', objectId: issuer.id });
        });
      } catch (error) {
        if (!(error instanceof IdentityRefusal)) throw error;
        // Anybody may ask, and the reason may name servers of the inside.
        const body = { error: 'invalid_request', error_description: 'The logout token is not accepted.' };
        return { status: 400, body, headers: { 'Cache-Control': 'no-store' } };
      }
      return { status: 200, headers: { 'Cache-Control': 'no-store' } };
    },
  });
}

/** A refusal is a page too: a person looks at it. */
async function answering(
  { ctx }: { ctx: Context },
  back: string,
  work: () => Promise<EndpointResponse>,
): Promise<EndpointResponse> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof IdentityRefusal)
      return problemPage(error.code === 'issuer_unreachable' ? 502 : 403, error.message, back);
    if (error instanceof AppError && (error.kind === 'conflict' || error.kind === 'not_found'))
      return problemPage(403, error.detail, back);
    throw error;
  } finally {
    ctx.set('Cache-Control', 'no-store');
  }
}

function problemPage(status: number, text: string, back: string): EndpointResponse {
  return { status, type: 'text/html', body: renderProblemPage(text, back), headers: pageHeaders() };
}

function seeOther(location: string): EndpointResponse {
  return { status: 303, headers: { Location: location, 'Cache-Control': 'no-store' } };
}
