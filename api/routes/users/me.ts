import * as z from 'zod';

import { createClient, deleteClient, listClients } from '../../../domain/auth/clients.ts';
import { addressKey } from '../../../domain/auth/throttle.ts';
import { changeOwnPassword, getUser } from '../../../domain/auth/users.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { decodeCursor, idCursor, page } from '../../paging.ts';
import { idParams, pageQuery, text } from '../../schemas.ts';
import { clientRecord, newClientRecord, presentClient, presentUser, userRecord } from './presenter.ts';
import { newPassword } from './routes.ts';

/** For everybody, about themselves. */
export function meEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/me',
      operationId: 'getMe',
      summary: 'The current user',
      tags: ['users'],
      role: 'viewer',
      responses: { 200: userRecord },
      handler: async (c) => ({ status: 200, body: presentUser(await getUser(c.em, c.actor.id)) }),
    }),
    endpoint({
      method: 'POST',
      path: '/users/me/password',
      operationId: 'changeMyPassword',
      summary: 'Change your password, which ends all your sessions',
      tags: ['users'],
      role: 'viewer',
      body: z.object({ current_password: z.string().min(1).max(4096), new_password: newPassword }),
      responses: { 204: null },
      errors: [429],
      idempotent: false,
      transaction: false,
      handler: async (c) => {
        await changeOwnPassword(c.em, c.actor, addressKey(c.ctx.ip), { current: c.body.current_password, next: c.body.new_password });
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/users/me/clients',
      operationId: 'listMyClients',
      summary: 'List your machine clients, oldest first',
      tags: ['users'],
      role: 'viewer',
      query: z.object(pageQuery),
      responses: { 200: z.array(clientRecord) },
      handler: async (c) => {
        const { limit, cursor } = c.query;
        const clients = await listClients(c.em, c.actor, { limit, after: decodeCursor(cursor, idCursor)?.[0] });
        const { items, headers } = page(c, clients, limit, (client) => [client.id]);
        return { status: 200, body: items.map(presentClient), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/users/me/clients',
      operationId: 'createMyClient',
      summary: 'Create a machine client, which acts as you by client credentials',
      tags: ['users'],
      role: 'viewer',
      body: z.object({ name: text({ min: 1, max: 100 }) }),
      record: clientRecord,
      responses: { 201: newClientRecord },
      errors: [409],
      idempotent: false,
      handler: async (c) => {
        const { client, secret } = await createClient(c.em, c.actor, c.body);
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
      summary: 'Delete a machine client; its tokens stop working at once',
      tags: ['users'],
      role: 'viewer',
      params: idParams,
      responses: { 204: null },
      handler: async (c) => {
        await deleteClient(c.em, c.actor, c.params.id);
        return { status: 204 };
      },
    }),
  ];
}
