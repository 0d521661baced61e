/**
 * Links by which a person chooses a password. They lead to a page of the console, and their token is in the
 * part of the address that browsers keep to themselves; it comes here in a body only.
 */
import * as z from 'zod';

import { choosePassword, openAccountLink } from '../../../domain/auth/account-links.ts';
import { requestPasswordLink } from '../../../domain/auth/password-requests.ts';
import { addressKey } from '../../../domain/auth/throttle.ts';
import { conflict } from '../../../domain/errors.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { text, timestamp } from '../../schemas.ts';
import { newPassword } from '../users/routes.ts';
import { MAX_AUTH_BODY_BYTES, secretText } from './requests.ts';

const noStore = { 'Cache-Control': 'no-store' };
const TAGS = ['auth'];

const linkRecord = z
  .object({
    username: z.string(),
    purpose: z.enum(['invitation', 'password']),
    expires_at: timestamp,
  })
  .meta({ id: 'PasswordLink' });

type Deps = Pick<AppDeps, 'env' | 'keys' | 'mailer'>;

export function passwordLinkEndpoints(deps: Deps): Endpoint[] {
  return [requestEndpoint(deps), ...linkEndpoints(deps)];
}

function requestEndpoint({ mailer: { mailer } }: Deps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/auth/password-requests',
    operationId: 'requestPasswordLink',
    summary: 'Ask for a link by mail, because the password was forgotten',
    description:
      'The answer is the same whether the account exists or not. A mail goes to an active account only; ' +
      'one without a password of its own, or of single sign-on, gets a mail that says so. An account gets ' +
      'at most 3 such mails an hour. After 10 requests for one name, or 100 in all, from one address in 15 ' +
      'minutes the response is 429. 409 `mail_not_set_up` without SMTP_HOST.',
    tags: TAGS,
    role: 'public',
    body: z.object({
      name: text({ min: 1, max: 320 }).meta({ description: 'The username or e-mail address.' }),
    }),
    bodyLimitBytes: MAX_AUTH_BODY_BYTES,
    responses: { 202: null },
    errors: [409, 429],
    idempotent: false,
    handler: async (c) => {
      c.checkSyntax();
      if (mailer === null) throw conflict('mail_not_set_up', 'Mails are not set up: ask an administrator.');
      // Without the name: people type their passwords there.
      c.audit.note({ objectType: 'user', objectId: null });
      await requestPasswordLink(c.em, { name: c.body.name, address: addressKey(c.ctx.ip) });
      return { status: 202, headers: noStore };
    },
  });
}

function linkEndpoints({ env, keys }: Deps): Endpoint[] {
  const links = { keys, baseUrl: env.BASE_URL };
  return [
    endpoint({
      method: 'POST',
      path: '/auth/password-link',
      operationId: 'readPasswordLink',
      // It changes nothing.
      audit: false,
      summary: 'Get for whom a link to choose a password is; changes nothing',
      description: '404 for a token that is not of this platform, 410 `link_void` for a link that is over.',
      tags: TAGS,
      role: 'public',
      body: z.object({ token: secretText }),
      bodyLimitBytes: MAX_AUTH_BODY_BYTES,
      responses: { 200: linkRecord },
      errors: [404, 410],
      idempotent: false,
      handler: async (c) => {
        const { username, purpose, expiresAt } = await openAccountLink(c.em, links, c.body.token);
        const body = { username, purpose, expires_at: expiresAt.toISOString() };
        return { status: 200, body, headers: noStore };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/auth/password',
      operationId: 'choosePassword',
      summary: 'Choose a password by a link, which works once',
      description:
        'All sessions of the account end, and its machine clients and access tokens are deleted; a second ' +
        'factor stays. Log in afterwards.',
      tags: TAGS,
      role: 'public',
      body: z.object({ token: secretText, password: newPassword }),
      bodyLimitBytes: MAX_AUTH_BODY_BYTES,
      responses: { 204: null },
      errors: [404, 410],
      idempotent: false,
      transaction: false,
      handler: async (c) => {
        await choosePassword(c.em, links, c.body, (em, note) => c.audit.write(em, note));
        return { status: 204, headers: noStore };
      },
    }),
  ];
}
