/** OAuth clients register themselves (RFC 7591); administrators see and remove them. */
import * as z from 'zod';

import { ROLES } from '../../../contracts/roles.ts';
import { addressKey } from '../../../domain/auth/throttle.ts';
import {
  AUTH_METHODS,
  deleteRegisteredClient,
  listRegisteredClients,
  registerClient,
  type OAuthClient,
} from '../../../domain/oauth/clients.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, pageQuery, timestamp, uuid } from '../../schemas.ts';
import { MAX_AUTH_BODY_BYTES } from '../auth/requests.ts';
import { oauthError } from '../auth/schemas.ts';

/** Small enough that a body with one item too many is below the body's limit, and is answered with 400. */
const redirectUris = z.array(z.string().max(500)).max(20);
const words = z.array(z.string().max(50)).max(10);

/** Unknown metadata is ignored (RFC 7591 section 2). */
const registration = z
  .looseObject({
    redirect_uris: redirectUris.nullish().meta({
      description: 'HTTPS, `http` on loopback (any port will do later), or a scheme of your own.',
    }),
    client_name: z.string().nullish(),
    client_uri: z.string().nullish(),
    token_endpoint_auth_method: z
      .string()
      .nullish()
      .meta({ description: '`none`, `client_secret_basic` (default) or `client_secret_post`.' }),
    grant_types: words.nullish(),
    response_types: words.nullish(),
  })
  .meta({ id: 'ClientRegistration' });

const registered = z
  .object({
    client_id: uuid,
    client_id_issued_at: z.int(),
    client_secret: z.string().optional(),
    client_secret_expires_at: z.int().optional(),
    client_name: z.string(),
    client_uri: z.string().optional(),
    redirect_uris: z.array(z.string()),
    token_endpoint_auth_method: z.enum(AUTH_METHODS),
    grant_types: z.array(z.string()),
    response_types: z.array(z.string()),
  })
  .meta({ id: 'RegisteredClientInformation' });

const registeredClient = z
  .object({
    id: uuid,
    client_id: z.string().meta({ description: 'Its id, or the name that the settings give it.' }),
    name: z.string(),
    from_settings: z.boolean().meta({ description: 'The settings describe it; it cannot be removed here.' }),
    required_role: z
      .enum(ROLES)
      .nullable()
      .meta({ description: 'Only users with this role may log in to it; null: everybody.' }),
    client_uri: z.string().nullable(),
    redirect_uris: z.array(z.string()),
    token_endpoint_auth_method: z.enum(AUTH_METHODS),
    created_at: timestamp,
    approved_at: timestamp.nullable().meta({ description: 'When a user last approved it.' }),
  })
  .meta({ id: 'RegisteredClient' });

export function oauthClientEndpoints({ env }: Pick<AppDeps, 'env'>): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/auth/register',
      operationId: 'registerClient',
      summary: 'Register an OAuth client (RFC 7591)',
      description:
        'A registration gives no rights: each user approves the client for themselves. ' +
        'Clients that nobody approves within a day, and those idle for 90 days, are removed. ' +
        '`OAUTH_MAX_CLIENTS` and `OAUTH_CLIENTS_PER_ADDRESS` limit registrations; 0 clients turns them off.',
      tags: ['auth'],
      role: 'public',
      body: registration,
      bodyLimitBytes: MAX_AUTH_BODY_BYTES,
      responses: { 201: registered, 400: media({ 'application/json': oauthError }) },
      errors: [403],
      idempotent: false,
      handler: async (c) => {
        const limits = {
          maxClients: env.OAUTH_MAX_CLIENTS,
          perAddressAndDay: env.OAUTH_CLIENTS_PER_ADDRESS,
        };
        const { client, secret } = await registerClient(c.em, c.body, addressKey(c.ctx.ip), limits);
        return { status: 201, body: information(client, secret), headers: { 'Cache-Control': 'no-store' } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/auth/clients',
      operationId: 'listRegisteredClients',
      summary: 'List the registered OAuth clients, oldest first',
      tags: ['auth'],
      role: 'admin',
      query: z.object(pageQuery),
      responses: { 200: z.array(registeredClient) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page) => listRegisteredClients(c.em, page));
        return { status: 200, body: items.map(present), headers };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/auth/clients/{id}',
      operationId: 'deleteRegisteredClient',
      summary: 'Remove an OAuth client; all of its sessions end',
      tags: ['auth'],
      role: 'admin',
      params: idParams,
      responses: { 204: null },
      errors: [409],
      handler: async (c) => {
        await deleteRegisteredClient(c.em, c.params.id);
        return { status: 204 };
      },
    }),
  ];
}

/** RFC 7591 section 3.2.1. */
function information(client: OAuthClient, secret: string | null): z.output<typeof registered> {
  return {
    client_id: client.id,
    client_id_issued_at: Math.floor(client.created_at.getTime() / 1_000),
    ...(secret === null ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
    client_name: client.name,
    ...(client.client_uri === null ? {} : { client_uri: client.client_uri }),
    redirect_uris: client.redirect_uris,
    token_endpoint_auth_method: client.auth_method,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
}

function present(client: OAuthClient): z.output<typeof registeredClient> {
  return {
    id: client.id,
    client_id: client.handle ?? client.id,
    name: client.name,
    from_settings: client.from_settings,
    required_role: client.required_role,
    client_uri: client.client_uri,
    redirect_uris: client.redirect_uris,
    token_endpoint_auth_method: client.auth_method,
    created_at: client.created_at.toISOString(),
    approved_at: client.approved_at?.toISOString() ?? null,
  };
}
