/**
 * Sessions: log-ins of browsers, command lines and other programs. Of the current user, and for admins those
 * of others.
 */
import * as z from 'zod';

import { ROLES } from '../../../contracts/roles.ts';
import {
  checkPerson,
  endOtherSessions,
  endSession,
  endSessions,
  listSessions,
  type OwnSession,
} from '../../../domain/auth/own-sessions.ts';
import { getUser } from '../../../domain/auth/users.ts';
import { describeDevice } from '../../describe-device.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, pageQuery, timestamp, uuid } from '../../schemas.ts';

const sessionRecord = z
  .object({
    id: uuid,
    kind: z.enum(['browser', 'token', 'client']).meta({
      description: '`token`: a log-in by `POST /auth/token`. `client`: an OAuth client that you approved.',
    }),
    client_name: z.string().nullable().meta({ description: 'The name that the OAuth client gave itself.' }),
    role_limit: z.enum(ROLES).nullable().meta({ description: 'The highest role that the client may use.' }),
    current: z.boolean().meta({ description: 'Whether this request belongs to it.' }),
    device: z.string().nullable().meta({ description: 'Such as `Firefox on Linux`.' }),
    address: z.string().nullable().meta({ description: 'The address that logged in.' }),
    created_at: timestamp,
    last_used_at: timestamp.meta({ description: 'To the minute; for a token, its last refresh.' }),
    expires_at: timestamp,
    awaits_second_factor: z.boolean().meta({
      description: "It has a viewer's rights until a second factor is shown in it (`SECOND_FACTOR_ROLES`).",
    }),
  })
  .meta({ id: 'Session' });

export function userSessionEndpoints(): Endpoint[] {
  return [...ownSessionEndpoints(), ...adminSessionEndpoints()];
}

function ownSessionEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/me/sessions',
      operationId: 'listMySessions',
      summary: 'List your sessions, oldest first',
      tags: ['users'],
      role: 'viewer',
      query: z.object(pageQuery),
      responses: { 200: z.array(sessionRecord) },
      handler: async (c) => {
        const { sid } = claimsOf(c.ctx);
        const { items, headers } = await readPage(c, byId, (page) => listSessions(c.em, c.actor.id, page));
        return { status: 200, body: items.map((session) => present(session, sid)), headers };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/me/sessions',
      operationId: 'deleteMyOtherSessions',
      summary: 'End all your sessions but this one',
      description: 'Their streams end within 5 seconds. A machine client gets 403 `person_required`.',
      tags: ['users'],
      role: 'viewer',
      responses: { 204: null },
      errors: [403],
      handler: async (c) => {
        checkPerson(claimsOf(c.ctx));
        await endOtherSessions(c.em, claimsOf(c.ctx));
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/me/sessions/{id}',
      operationId: 'deleteMySession',
      summary: 'End one of your sessions',
      description: 'Its streams end within 5 seconds. A machine client gets 403 `person_required`.',
      tags: ['users'],
      role: 'viewer',
      params: idParams,
      responses: { 204: null },
      errors: [403],
      handler: async (c) => {
        checkPerson(claimsOf(c.ctx));
        await endSession(c.em, c.actor.id, c.params.id);
        return { status: 204 };
      },
    }),
  ];
}

function adminSessionEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/{id}/sessions',
      operationId: 'listUserSessions',
      summary: "List a user's sessions, oldest first",
      tags: ['users'],
      role: 'admin',
      scope: 'admin',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(sessionRecord) },
      handler: async (c) => {
        const user = await getUser(c.em, c.params.id);
        const { sid } = claimsOf(c.ctx);
        const { items, headers } = await readPage(c, byId, (page) => listSessions(c.em, user.id, page));
        return { status: 200, body: items.map((session) => present(session, sid)), headers };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/{id}/sessions',
      operationId: 'deleteUserSessions',
      summary: 'End all sessions of a user',
      description: 'Their streams end within 5 seconds. Machine clients and access tokens stay.',
      tags: ['users'],
      role: 'admin',
      scope: 'admin',
      params: idParams,
      responses: { 204: null },
      handler: async (c) => {
        const user = await getUser(c.em, c.params.id);
        await endSessions(c.em, [user.id]);
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/{id}/sessions/{session_id}',
      operationId: 'deleteUserSession',
      summary: 'End a session of a user',
      description: 'Its streams end within 5 seconds.',
      tags: ['users'],
      role: 'admin',
      scope: 'admin',
      params: idParams.extend({ session_id: uuid }),
      responses: { 204: null },
      handler: async (c) => {
        await endSession(c.em, c.params.id, c.params.session_id);
        return { status: 204 };
      },
    }),
  ];
}

function present(session: OwnSession, currentId: string): z.output<typeof sessionRecord> {
  return {
    id: session.id,
    kind: session.browser ? 'browser' : session.client_name === null ? 'token' : 'client',
    client_name: session.client_name,
    role_limit: session.role_limit,
    current: session.id === currentId,
    device: describeDevice(session.user_agent),
    address: session.address,
    created_at: session.created_at.toISOString(),
    last_used_at: session.last_used_at.toISOString(),
    expires_at: session.expires_at.toISOString(),
    awaits_second_factor: session.awaits_second_factor,
  };
}
