/** What clients discover: the authorization server (RFC 8414) and the resource it protects (RFC 9728). */
import * as z from 'zod';

import { ROLES } from '../../../contracts/roles.ts';
import { MCP_PATH } from '../../../domain/auth/access-token.ts';
import { AUTH_METHODS } from '../../../domain/oauth/clients.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { RESOURCE_METADATA_PATH } from '../../middleware/auth.ts';
import { grantTypes } from '../auth/token.ts';

const authorizationServer = z
  .object({
    issuer: z.string(),
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    device_authorization_endpoint: z.string(),
    registration_endpoint: z.string().optional(),
    revocation_endpoint: z.string(),
    jwks_uri: z.string(),
    scopes_supported: z.array(z.string()),
    response_types_supported: z.array(z.string()),
    response_modes_supported: z.array(z.string()),
    grant_types_supported: z.array(z.string()),
    code_challenge_methods_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    revocation_endpoint_auth_methods_supported: z.array(z.string()),
    authorization_response_iss_parameter_supported: z.boolean(),
    protected_resources: z.array(z.string()),
  })
  .meta({ id: 'AuthorizationServerMetadata' });

const protectedResource = z
  .object({
    resource: z.string(),
    resource_name: z.string(),
    authorization_servers: z.array(z.string()),
    scopes_supported: z.array(z.string()),
    bearer_methods_supported: z.array(z.string()),
  })
  .meta({ id: 'ProtectedResourceMetadata' });

export function oauthMetadataEndpoints({ env }: Pick<AppDeps, 'env'>): Endpoint[] {
  const issuer = env.BASE_URL;
  const headers = { 'Cache-Control': 'public, max-age=300' };
  return [
    endpoint({
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      operationId: 'getAuthorizationServerMetadata',
      summary: 'Get the OAuth server metadata (RFC 8414)',
      tags: ['auth'],
      role: 'public',
      responses: { 200: authorizationServer },
      handler: async () => ({
        status: 200,
        headers,
        body: {
          issuer,
          authorization_endpoint: `${issuer}/auth/authorize`,
          token_endpoint: `${issuer}/auth/token`,
          device_authorization_endpoint: `${issuer}/auth/device`,
          ...(env.OAUTH_MAX_CLIENTS > 0 ? { registration_endpoint: `${issuer}/auth/register` } : {}),
          revocation_endpoint: `${issuer}/auth/revoke`,
          jwks_uri: `${issuer}/.well-known/jwks.json`,
          // Some clients request every scope listed here. Deciding has to be asked for by name.
          scopes_supported: ROLES,
          response_types_supported: ['code'],
          response_modes_supported: ['query'],
          grant_types_supported: grantTypes,
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: AUTH_METHODS,
          revocation_endpoint_auth_methods_supported: AUTH_METHODS,
          authorization_response_iss_parameter_supported: true,
          protected_resources: [issuer, `${issuer}${MCP_PATH}`],
        },
      }),
    }),
    endpoint({
      method: 'GET',
      path: RESOURCE_METADATA_PATH,
      operationId: 'getProtectedResourceMetadata',
      summary: 'Get the metadata of this API as a protected resource (RFC 9728)',
      tags: ['auth'],
      role: 'public',
      responses: { 200: protectedResource },
      handler: async () => ({
        status: 200,
        headers,
        body: {
          resource: issuer,
          resource_name: 'Cadenza',
          authorization_servers: [issuer],
          // Clients request every scope listed here; `admin` must be requested explicitly.
          scopes_supported: ROLES.filter((role) => role !== 'admin'),
          bearer_methods_supported: ['header'],
        },
      }),
    }),
    mcpMetadataEndpoint(issuer, headers),
  ];
}

function mcpMetadataEndpoint(issuer: string, headers: Record<string, string>): Endpoint {
  return endpoint({
    method: 'GET',
    path: `${RESOURCE_METADATA_PATH}${MCP_PATH}`,
    operationId: 'getMcpResourceMetadata',
    summary: 'Get the metadata of the MCP server as a protected resource (RFC 9728)',
    tags: ['auth'],
    role: 'public',
    responses: { 200: protectedResource },
    handler: async () => ({
      status: 200,
      headers,
      body: {
        resource: `${issuer}${MCP_PATH}`,
        resource_name: 'Cadenza: agents and workflows as tools',
        authorization_servers: [issuer],
        // Clients request every scope listed here, so those that a user should grant knowingly are not.
        scopes_supported: ['viewer', 'builder'],
        bearer_methods_supported: ['header'],
      },
    }),
  });
}
