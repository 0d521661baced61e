/** The session of a browser: log-in, its user, log-out. */
import * as z from 'zod';

import { anonymous } from '../../../domain/auth/actor.ts';
import { endCookieSession, openCookieSession } from '../../../domain/auth/cookie-sessions.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { completeLogIn, logIn, type ChallengeAnswer } from '../../../domain/auth/log-in.ts';
import { addressKey } from '../../../domain/auth/throttle.ts';
import { getUser } from '../../../domain/auth/users.ts';
import { IdentityRefusal } from '../../../contracts/identity-refusal.ts';
import { forbidden } from '../../../domain/errors.ts';
import { accessOf, type Issuer } from '../../../domain/identity/issuers.ts';
import { issuerOfSession } from '../../../domain/identity/log-out.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import {
  clearSessionCookie,
  isFromOwnPage,
  sessionSecretOf,
  setSessionCookie,
} from '../../middleware/session-cookie.ts';
import { deviceMarkOf, setDeviceCookie } from '../auth/device-cookie.ts';
import { MAX_AUTH_BODY_BYTES, openedFrom, secretText } from '../auth/requests.ts';
import { secondFactorFields } from '../auth/schemas.ts';
import { wrongCredentials } from '../auth/token.ts';
import { presentUser, userRecord } from '../users/presenter.ts';

const loggedOut = z.object({ log_out_url: z.string() }).meta({ id: 'LoggedOut' });
const PATH = '/console/session';
const noStore = { 'Cache-Control': 'no-store' };

export function sessionEndpoints(deps: Pick<AppDeps, 'env' | 'encryption' | 'identities'>): Endpoint[] {
  const { env, encryption } = deps;
  return [
    endpoint({
      method: 'POST',
      path: PATH,
      operationId: 'createSession',
      // What opens a session writes `log_in` itself.
      audit: false,
      summary: 'Log in a browser: the session is in a cookie that scripts cannot read',
      description:
        'Only pages of this server may call it, else 403 `foreign_page`. ' +
        'The cookie is `__Host-cadenza` over HTTPS and `cadenza` over plain HTTP. ' +
        'It counts on requests without `Authorization` from pages of this server: ' +
        '`Sec-Fetch-Site: same-origin` (`none` too for GET), else an `Origin` of this server. ' +
        'With `Cadenza-User: <id>` a request is 401 `another_user` if the session is of another user. ' +
        'A session ends 30 days after its last use. ' +
        'Failed logins are limited as for `POST /auth/token`. Somebody with a second factor gets 401 ' +
        '`mfa_required` with a `challenge`, and sends it with `code`, `recovery_code` or `passkey`. ' +
        'A challenge of `POST /auth/passkey` needs no password.',
      tags: ['console'],
      role: 'public',
      body: z.discriminatedUnion('grant_type', [
        z.strictObject({
          grant_type: z.literal('password').optional(),
          username: secretText.meta({ description: 'The username or email address.' }),
          password: secretText,
        }),
        z.strictObject({ grant_type: z.literal('second_factor'), ...secondFactorFields }),
      ]),
      bodyLimitBytes: MAX_AUTH_BODY_BYTES,
      responses: { 200: userRecord },
      errors: [401, 403],
      idempotent: false,
      transaction: false,
      handler: async (c) => {
        if (!isFromOwnPage(c.ctx, env.BASE_URL)) {
          throw forbidden('Only a page of this server may open a session.', 'foreign_page');
        }
        const { grant_type: _type, ...credentials } = c.body;
        const id = await openBrowserSession(deps, c, credentials);
        if (id === null) throw wrongCredentials();
        return { status: 200, body: presentUser(await getUser(c.em, id)), headers: noStore };
      },
    }),
    endpoint({
      method: 'GET',
      path: PATH,
      operationId: 'getSession',
      summary: 'Get the user who is logged in, or 204',
      tags: ['console'],
      role: 'viewer',
      anonymousToo: true,
      responses: { 200: userRecord, 204: null },
      handler: async (c) => ({
        ...(c.actor === anonymous
          ? { status: 204 }
          : { status: 200, body: presentUser(await getUser(c.em, c.actor.id)) }),
        headers: noStore,
      }),
    }),
    endpoint({
      method: 'DELETE',
      path: PATH,
      operationId: 'deleteSession',
      auditAction: 'log_out',
      summary: 'Log out: end the session of this browser',
      description:
        'A token is ended by `POST /auth/revoke` instead. With a body, open its address in the browser: it ' +
        'ends the session at the external issuer.',
      tags: ['console'],
      role: 'viewer',
      responses: { 200: loggedOut, 204: null },
      transaction: false,
      handler: async (c) => {
        c.checkSyntax();
        const byCookie = c.ctx.get('authorization') === '';
        const secret = byCookie ? sessionSecretOf(c.ctx, env.BASE_URL) : null;
        const headers = { 'Set-Cookie': clearSessionCookie(env.BASE_URL) };
        if (secret === null) return { status: 204, headers };
        const by = await issuerOfSession(c.em, encryption, secret);
        await c.em.transactional(async (tx) => {
          await endCookieSession(tx, secret);
          await c.audit.write(tx);
        });
        const url = by === null ? null : await logOutAddress(deps, c.em, by);
        return url === null ? { status: 204, headers } : { status: 200, body: { log_out_url: url }, headers };
      },
    }),
  ];
}

/** Null if the issuer has no such page, or does not answer: the session here has ended in any case. */
async function logOutAddress(
  { env, encryption, identities }: Pick<AppDeps, 'env' | 'encryption' | 'identities'>,
  em: EntityManager,
  { issuer, idToken }: { issuer: Issuer; idToken: string | null },
): Promise<string | null> {
  try {
    const access = await accessOf(em, encryption, issuer);
    return await identities.logOutUrl(access, idToken, `${env.BASE_URL}/console/`);
  } catch (error) {
    if (error instanceof IdentityRefusal) return null;
    throw error;
  }
}

/** Logs in and sets the cookies. @returns the user's id, or null for wrong credentials @throws 429 */
export async function openBrowserSession(
  { env, encryption }: Pick<AppDeps, 'env' | 'encryption'>,
  { em, ctx }: Pick<EndpointContext, 'em' | 'ctx'>,
  credentials: { username: string; password: string } | ChallengeAnswer,
): Promise<string | null> {
  const mac = (text: string) => encryption.fingerprint(text);
  const former = sessionSecretOf(ctx, env.BASE_URL);
  const deps = {
    em,
    address: addressKey(ctx.ip),
    device: { mark: deviceMarkOf(ctx), mac },
    from: openedFrom(ctx),
    factors: { encryption, baseUrl: env.BASE_URL },
  };
  const open = async (tx: EntityManager, { id }: { id: string }) => {
    if (former !== null) await endCookieSession(tx, former);
    return { id, secret: await openCookieSession(tx, { id }, openedFrom(ctx)) };
  };
  const login =
    'challenge' in credentials
      ? await completeLogIn(deps, credentials, open)
      : await logIn(deps, credentials, open);
  if (!login) return null;
  const { id, secret } = login.session;
  ctx.append('Set-Cookie', setSessionCookie(env.BASE_URL, secret));
  if (login.newMark !== null) ctx.append('Set-Cookie', setDeviceCookie(ctx, env.BASE_URL, login.newMark));
  return id;
}
