/** Tokens with which an issuer provisions users and groups (SCIM). */
import * as z from 'zod';

import { checkFreshLogin } from '../../../domain/auth/clients.ts';
import { checkPerson } from '../../../domain/auth/own-sessions.ts';
import { getIssuer } from '../../../domain/identity/issuers.ts';
import {
  createScimToken,
  deleteScimToken,
  listScimTokens,
  type ScimToken,
} from '../../../domain/scim/tokens.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, instant, pageQuery, text, timestamp, uuid } from '../../schemas.ts';
import { TAGS } from './schemas.ts';

const scimToken = z
  .object({
    id: uuid,
    name: z.string(),
    created_at: timestamp,
    expires_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'ScimToken' });
const newScimToken = scimToken
  .extend({ token: z.string().meta({ description: 'Shown only once; it cannot be read again.' }) })
  .meta({ id: 'NewScimToken', variantOf: 'ScimToken' });

export function scimTokenEndpoints(deps: Pick<AppDeps, 'env'>): Endpoint[] {
  return [listEndpoint(), createEndpoint(deps), deleteEndpoint()];
}

function listEndpoint(): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/identity-issuers/{id}/scim-tokens',
    operationId: 'listScimTokens',
    summary: 'List the SCIM tokens of an issuer, oldest first',
    tags: TAGS,
    role: 'admin',
    params: idParams,
    query: z.object(pageQuery),
    responses: { 200: z.array(scimToken) },
    handler: async (c) => {
      const issuer = await getIssuer(c.em, c.params.id);
      const { items, headers } = await readPage(c, byId, (page) => listScimTokens(c.em, issuer.id, page));
      return { status: 200, body: items.map(present), headers };
    },
  });
}

function createEndpoint({ env }: Pick<AppDeps, 'env'>): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/identity-issuers/{id}/scim-tokens',
    operationId: 'createScimToken',
    summary: 'Create a token with which the issuer provisions users and groups at `/scim/v2`',
    description:
      'It needs a log-in at most 5 minutes old, else 401 `login_too_old`. The token ends at `expires_at` ' +
      '(default: after `CLIENT_MAX_DAYS`). An issuer has at most 10.',
    tags: TAGS,
    role: 'admin',
    params: idParams,
    body: z.object({ name: text({ min: 1, max: 100 }), expires_at: instant.optional() }),
    record: scimToken,
    responses: { 201: newScimToken },
    errors: [403, 409],
    idempotent: false,
    handler: async (c) => {
      const issuer = await getIssuer(c.em, c.params.id, true);
      checkFreshLogin(claimsOf(c.ctx));
      const { name, expires_at: until } = c.body;
      const { record, token } = await createScimToken(c.em, {
        issuerId: issuer.id,
        userId: c.actor.id,
        name,
        expiresAt: until === undefined ? undefined : new Date(until),
        maxDays: env.CLIENT_MAX_DAYS,
      });
      return { status: 201, body: { ...present(record), token }, headers: { 'Cache-Control': 'no-store' } };
    },
  });
}

function deleteEndpoint(): Endpoint {
  return endpoint({
    method: 'DELETE',
    path: '/identity-issuers/{id}/scim-tokens/{token_id}',
    operationId: 'deleteScimToken',
    summary: 'Delete a SCIM token; it stops working immediately',
    tags: TAGS,
    role: 'admin',
    params: idParams.extend({ token_id: uuid }),
    responses: { 204: null },
    errors: [403],
    handler: async (c) => {
      const issuer = await getIssuer(c.em, c.params.id);
      checkPerson(claimsOf(c.ctx));
      await deleteScimToken(c.em, issuer.id, c.params.token_id);
      return { status: 204 };
    },
  });
}

function present(token: ScimToken): z.input<typeof scimToken> {
  return {
    ...token,
    created_at: token.created_at.toISOString(),
    expires_at: token.expires_at.toISOString(),
    last_used_at: token.last_used_at?.toISOString() ?? null,
  };
}
