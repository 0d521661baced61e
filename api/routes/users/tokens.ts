/** Personal access tokens: of the current user, and for admins those of others. */
import * as z from 'zod';

import { isScopeText, MAX_SCOPES, noScope } from '../../../contracts/scopes.ts';
import {
  createAccessToken,
  deleteAccessToken,
  listAccessTokens,
  type AccessToken,
} from '../../../domain/auth/access-tokens.ts';
import { checkMayMakeCredential } from '../../../domain/auth/credential-guard.ts';
import { getUser } from '../../../domain/auth/users.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, instant, pageQuery, text, timestamp, uuid } from '../../schemas.ts';
import { awaitsSecondFactor } from './presenter.ts';

export const scopeList = z
  .array(
    z
      .string()
      .max(100)
      .refine(isScopeText, { error: ({ input }) => noScope(String(input)) }),
  )
  .min(1)
  .max(MAX_SCOPES)
  .meta({ description: 'Such as `runs:read`, or `workflow:<id>` for one workflow and its runs.' });

const accessTokenRecord = z
  .object({
    id: uuid,
    name: z.string(),
    scopes: z.array(z.string()),
    hint: z.string().meta({ description: 'The last characters of the token.' }),
    created_at: timestamp,
    expires_at: timestamp,
    last_used_at: timestamp.nullable().meta({ description: 'To the minute.' }),
    last_address: z.string().nullable(),
    awaits_second_factor: awaitsSecondFactor,
  })
  .meta({ id: 'AccessToken' });

const newAccessTokenRecord = accessTokenRecord
  .extend({ token: z.string().meta({ description: 'Shown only once; it cannot be read again.' }) })
  .meta({ id: 'NewAccessToken', variantOf: 'AccessToken' });

export function accessTokenEndpoints({ env }: Pick<AppDeps, 'env'>): Endpoint[] {
  return [...ownTokenEndpoints(env), ...adminTokenEndpoints()];
}

function ownTokenEndpoints(env: AppDeps['env']): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/me/tokens',
      operationId: 'listMyTokens',
      summary: 'List your personal access tokens, oldest first',
      tags: ['users'],
      role: 'viewer',
      query: z.object(pageQuery),
      responses: { 200: z.array(accessTokenRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page) =>
          listAccessTokens(c.em, c.actor.id, page),
        );
        return { status: 200, body: items.map(present), headers };
      },
    }),
    createEndpoint(env),
    endpoint({
      method: 'DELETE',
      path: '/users/me/tokens/{id}',
      operationId: 'deleteMyToken',
      summary: 'Delete a personal access token; it stops working immediately',
      tags: ['users'],
      role: 'viewer',
      params: idParams,
      responses: { 204: null },
      errors: [403],
      handler: async (c) => {
        await deleteAccessToken(c.em, c.actor.id, c.params.id);
        return { status: 204 };
      },
    }),
  ];
}

function createEndpoint(env: AppDeps['env']): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/users/me/tokens',
    operationId: 'createMyToken',
    summary: 'Create a personal access token, which acts as you within its scopes',
    description:
      'Send it as `Authorization: Bearer cdz_…`. Requires a log-in at most 5 minutes ago, else 401 ' +
      '`login_too_old`. It ends at `expires_at` (at most `TOKEN_MAX_DAYS` away), when your password is ' +
      'changed or reset, and when you are disabled. You can have at most `USER_MAX_TOKENS`.',
    tags: ['users'],
    role: 'viewer',
    body: z.object({ name: text({ min: 1, max: 100 }), scopes: scopeList, expires_at: instant }),
    record: accessTokenRecord,
    responses: { 201: newAccessTokenRecord },
    errors: [403, 409],
    idempotent: false,
    handler: async (c) => {
      await checkMayMakeCredential(c.em, claimsOf(c.ctx));
      const { name, scopes, expires_at } = c.body;
      const { token, record } = await createAccessToken(c.em, c.actor, {
        limits: env,
        name,
        scopes,
        expiresAt: new Date(expires_at),
        maxDays: env.TOKEN_MAX_DAYS,
        secondFactorRoles: env.SECOND_FACTOR_ROLES,
      });
      return {
        status: 201,
        body: { ...present(record), token },
        headers: { Location: `/users/me/tokens/${record.id}`, 'Cache-Control': 'no-store' },
      };
    },
  });
}

function adminTokenEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/{id}/tokens',
      operationId: 'listUserTokens',
      summary: "List a user's personal access tokens, oldest first",
      tags: ['users'],
      role: 'admin',
      scope: 'admin',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(accessTokenRecord) },
      handler: async (c) => {
        const user = await getUser(c.em, c.params.id);
        const { items, headers } = await readPage(c, byId, (page) => listAccessTokens(c.em, user.id, page));
        return { status: 200, body: items.map(present), headers };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/{id}/tokens/{token_id}',
      operationId: 'deleteUserToken',
      summary: "Delete a user's personal access token; it stops working immediately",
      tags: ['users'],
      role: 'admin',
      scope: 'admin',
      params: idParams.extend({ token_id: uuid }),
      responses: { 204: null },
      handler: async (c) => {
        await deleteAccessToken(c.em, c.params.id, c.params.token_id);
        return { status: 204 };
      },
    }),
  ];
}

function present(token: AccessToken): z.output<typeof accessTokenRecord> {
  return {
    ...token,
    created_at: token.created_at.toISOString(),
    expires_at: token.expires_at.toISOString(),
    last_used_at: token.last_used_at?.toISOString() ?? null,
  };
}
