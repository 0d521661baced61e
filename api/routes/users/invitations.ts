/** Invitations: people choose the password of an account that an admin has made for them. */
import * as z from 'zod';

import { checkStepUp } from '../../../domain/auth/clients.ts';
import { inviteUser, withdrawInvitation } from '../../../domain/auth/invitations.ts';
import { getUser } from '../../../domain/auth/users.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { emptyBody, idParams, timestamp } from '../../schemas.ts';

const invitation = z
  .object({
    expires_at: timestamp,
    mailed_to: z.string().nullable().meta({ description: 'Null: mails are not set up.' }),
    link: z.string().nullable().meta({
      description:
        'Only where mails are not set up: hand it over yourself. It is shown once; it cannot be read again.',
    }),
  })
  .meta({ id: 'Invitation' });

export function invitationEndpoints({
  env,
  keys,
  mailer: { mailer },
}: Pick<AppDeps, 'env' | 'keys' | 'mailer'>): Endpoint[] {
  const deps = { keys, baseUrl: env.BASE_URL, hasMail: mailer !== null, days: env.INVITATION_DAYS };
  return [
    endpoint({
      method: 'POST',
      path: '/users/{id}/invitation',
      operationId: 'sendInvitation',
      summary: 'Invite the person of an account without a password to choose one, or invite again',
      description:
        'Mails a link that works once, for `INVITATION_DAYS`; an earlier link ends. It also ends when the ' +
        'account is disabled, or gets a password or another e-mail address. 409 `has_password`, ' +
        '`single_sign_on`, `account_disabled` and `no_mail_address` say why somebody cannot be invited. ' +
        'Needs a log-in at most 5 minutes old.',
      tags: ['users'],
      role: 'admin',
      scope: 'admin',
      params: idParams,
      body: emptyBody,
      responses: { 200: invitation },
      errors: [409],
      idempotent: false,
      handler: async (c) => {
        const user = await getUser(c.em, c.params.id, true);
        c.checkSyntax();
        checkStepUp(claimsOf(c.ctx), c.actor);
        const { expiresAt, mailedTo, link } = await inviteUser(c.em, deps, c.actor, user);
        return {
          status: 200,
          body: { expires_at: expiresAt.toISOString(), mailed_to: mailedTo, link },
          headers: { 'Cache-Control': 'no-store' },
        };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/{id}/invitation',
      operationId: 'withdrawInvitation',
      summary: 'Take an invitation back; its link stops working immediately',
      tags: ['users'],
      role: 'admin',
      scope: 'admin',
      params: idParams,
      responses: { 204: null },
      errors: [409],
      handler: async (c) => {
        await withdrawInvitation(c.em, await getUser(c.em, c.params.id, true));
        return { status: 204 };
      },
    }),
  ];
}
