import * as z from 'zod';

import { createClient, deleteClient, listClients } from '../../../domain/auth/clients.ts';
import { checkMayMakeCredential } from '../../../domain/auth/credential-guard.ts';
import { checkPerson } from '../../../domain/auth/own-sessions.ts';
import { addressKey } from '../../../domain/auth/throttle.ts';
import { changeOwnPassword, getUser } from '../../../domain/auth/users.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, instant, pageQuery, text } from '../../schemas.ts';
import { clientRecord, newClientRecord, presentClient, presentUser, userRecord } from './presenter.ts';
import { newPassword } from './routes.ts';
import { scopeList } from './tokens.ts';

/** Endpoints for users' own accounts. */
export function meEndpoints({ env }: Pick<AppDeps, 'env'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/me',
      operationId: 'getMe',
      summary: 'Get the current user',
      tags: ['users'],
      role: 'viewer',
      responses: { 200: userRecord },
      handler: async (c) => ({ status: 200, body: presentUser(await getUser(c.em, c.actor.id)) }),
    }),
    endpoint({
      method: 'POST',
      path: '/users/me/password',
      operationId: 'changeMyPassword',
      scope: 'person',
      summary: 'Change your password, which ends all your sessions and deletes your machine clients',
      tags: ['users'],
      role: 'viewer',
      body: z.object({ current_password: z.string().min(1).max(4096), new_password: newPassword }),
      responses: { 204: null },
      errors: [429],
      idempotent: false,
      transaction: false,
      handler: async (c) => {
        const passwords = { current: c.body.current_password, next: c.body.new_password };
        await changeOwnPassword(c.em, c.actor, addressKey(c.ctx.ip), passwords, (em, note) =>
          c.audit.write(em, { objectType: 'user', objectId: c.actor.id, ...note }),
        );
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/users/me/clients',
      operationId: 'listMyClients',
      scope: 'person',
      summary: 'List your machine clients, oldest first',
      tags: ['users'],
      role: 'viewer',
      query: z.object(pageQuery),
      responses: { 200: z.array(clientRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page) => listClients(c.em, c.actor.id, page));
        return { status: 200, body: items.map(presentClient), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/users/me/clients',
      operationId: 'createMyClient',
      scope: 'person',
      summary: 'Create a machine client, which acts as you with client credentials',
      description:
        'Requires a log-in at most 5 minutes ago, else 401 `login_too_old`. ' +
        'The client ends at `expires_at` (default: after `CLIENT_MAX_DAYS`), when your password is changed ' +
        'or reset, and when you are disabled. You can have at most 100 clients.',
      tags: ['users'],
      role: 'viewer',
      body: z.object({
        name: text({ min: 1, max: 100 }),
        scopes: scopeList.optional(),
        expires_at: instant.optional(),
      }),
      record: clientRecord,
      responses: { 201: newClientRecord },
      errors: [403, 409],
      idempotent: false,
      handler: async (c) => {
        await checkMayMakeCredential(c.em, claimsOf(c.ctx));
        const { name, scopes, expires_at } = c.body;
        const { client, secret } = await createClient(c.em, c.actor, {
          name,
          scopes,
          expires_at: expires_at === undefined ? undefined : new Date(expires_at),
          maxDays: env.CLIENT_MAX_DAYS,
          limits: env,
          secondFactorRoles: env.SECOND_FACTOR_ROLES,
        });
        return {
          status: 201,
          body: { ...presentClient(client), client_secret: secret },
          headers: { Location: `/users/me/clients/${client.id}`, 'Cache-Control': 'no-store' },
        };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/me/clients/{id}',
      operationId: 'deleteMyClient',
      scope: 'person',
      summary: 'Delete a machine client; its tokens stop working immediately',
      tags: ['users'],
      role: 'viewer',
      params: idParams,
      responses: { 204: null },
      errors: [403],
      handler: async (c) => {
        checkPerson(claimsOf(c.ctx));
        await deleteClient(c.em, c.actor.id, c.params.id);
        return { status: 204 };
      },
    }),
  ];
}
