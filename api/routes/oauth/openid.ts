/** OpenID Connect: the provider's metadata (Discovery 1.0), and who the holder of a token is (UserInfo). */
import type { Context } from 'koa';
import * as z from 'zod';

import { ROLES } from '../../../contracts/roles.ts';
import { CODEC_RESOURCE } from '../../../domain/auth/access-token.ts';
import { AUTH_METHODS } from '../../../domain/oauth/clients.ts';
import { OPENID_SCOPES, userInfo } from '../../../domain/oauth/openid.ts';
import { AppError } from '../../../domain/errors.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext, type EndpointResponse } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { grantTypes } from '../auth/token.ts';

const names = z.array(z.string());

const provider = z
  .object({
    issuer: z.string(),
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    userinfo_endpoint: z.string(),
    jwks_uri: z.string(),
    registration_endpoint: z.string().optional(),
    revocation_endpoint: z.string(),
    scopes_supported: names,
    response_types_supported: names,
    response_modes_supported: names,
    grant_types_supported: names,
    subject_types_supported: names,
    id_token_signing_alg_values_supported: names,
    token_endpoint_auth_methods_supported: names,
    revocation_endpoint_auth_methods_supported: names,
    code_challenge_methods_supported: names,
    claims_supported: names,
    claim_types_supported: names,
    prompt_values_supported: names,
    claims_parameter_supported: z.boolean(),
    request_parameter_supported: z.boolean(),
    request_uri_parameter_supported: z.boolean(),
    authorization_response_iss_parameter_supported: z.boolean(),
  })
  .meta({ id: 'OpenIdProviderMetadata' });

const claims = z
  .object({
    sub: z.string(),
    name: z.string().optional(),
    preferred_username: z.string().optional(),
    email: z.string().optional(),
    email_verified: z.boolean().optional().meta({ description: 'False: nobody has checked the address.' }),
  })
  .meta({ id: 'UserInfo' });

/** What both methods of UserInfo share. */
const infoRule = {
  path: '/auth/userinfo',
  tags: ['auth'],
  role: 'viewer' as const,
  scope: 'none' as const,
  resource: CODEC_RESOURCE,
  responses: { 200: claims },
  errors: [403],
};

export function openIdEndpoints({ env }: Pick<AppDeps, 'env'>): Endpoint[] {
  const summary = 'Get who the user of an OpenID Connect session is';
  return [
    endpoint({
      method: 'GET',
      path: '/.well-known/openid-configuration',
      operationId: 'getOpenIdConfiguration',
      summary: 'Get the metadata of the OpenID provider (OpenID Connect Discovery 1.0)',
      description:
        'Requests that come to the host of `OPENID_BACKCHANNEL_URL` get the addresses that programs call ' +
        'below that URL.',
      tags: ['auth'],
      role: 'public',
      responses: { 200: provider },
      handler: async (c) => ({
        status: 200,
        headers: { 'Cache-Control': 'public, max-age=300', Vary: 'Host' },
        body: metadata(env, c.ctx),
      }),
    }),
    endpoint({ ...infoRule, method: 'GET', operationId: 'getUserInfo', summary, handler: answerClaims }),
    endpoint({
      ...infoRule,
      method: 'POST',
      operationId: 'postUserInfo',
      // It only reads; OpenID Connect demands both methods.
      audit: false,
      summary: `${summary}, by POST`,
      idempotent: false,
      transaction: false,
      handler: answerClaims,
    }),
  ];
}

async function answerClaims({ em, ctx, actor }: Pick<EndpointContext, 'em' | 'ctx' | 'actor'>) {
  const body = await userInfo(em, actor.id, claimsOf(ctx).sid);
  if (body === null) throw noOpenId();
  const answer: EndpointResponse = { status: 200, body, headers: { 'Cache-Control': 'no-store' } };
  return answer;
}

function noOpenId(): AppError {
  return new AppError('forbidden', 'insufficient_scope', 'This needs a session with the scope openid.', {
    headers: { 'WWW-Authenticate': 'Bearer realm="cadenza", error="insufficient_scope", scope="openid"' },
  });
}

const CLAIMS = [
  'sub',
  'iss',
  'aud',
  'azp',
  'exp',
  'iat',
  'auth_time',
  'nonce',
  'at_hash',
  'name',
  'preferred_username',
  'email',
  'email_verified',
];

/** What a browser opens is at the base URL; what a program calls may have another address for it. */
function metadata(env: AppDeps['env'], ctx: Context): z.output<typeof provider> {
  const issuer = env.BASE_URL;
  const { OPENID_BACKCHANNEL_URL: other } = env;
  const called = other !== undefined && new URL(other).host === ctx.host ? other : issuer;
  return {
    issuer,
    authorization_endpoint: `${issuer}/auth/authorize`,
    token_endpoint: `${called}/auth/token`,
    userinfo_endpoint: `${called}/auth/userinfo`,
    jwks_uri: `${called}/.well-known/jwks.json`,
    ...(env.OAUTH_MAX_CLIENTS > 0 ? { registration_endpoint: `${called}/auth/register` } : {}),
    revocation_endpoint: `${called}/auth/revoke`,
    scopes_supported: [...OPENID_SCOPES, ...ROLES],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: [...grantTypes],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    token_endpoint_auth_methods_supported: [...AUTH_METHODS],
    revocation_endpoint_auth_methods_supported: [...AUTH_METHODS],
    code_challenge_methods_supported: ['S256'],
    claims_supported: CLAIMS,
    claim_types_supported: ['normal'],
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    authorization_response_iss_parameter_supported: true,
  };
}
