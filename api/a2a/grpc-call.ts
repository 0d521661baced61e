/** One gRPC call as a call of the protocol: who, which agent, which version. */
import { VersionNotSupportedError } from '@a2a-js/sdk/errors';
import type { Metadata, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';

import { actorOfClaims } from '../../domain/auth/access-token.ts';
import { hasRole, type Actor } from '../../domain/auth/actor.ts';
import { verifyAccessToken } from '../../domain/auth/verify-access-token.ts';
import { findA2AAgent } from '../../domain/a2a/agent.ts';
import { AppError, badRequest, forbidden, notFound } from '../../domain/errors.ts';
import type { AppDeps } from '../app.ts';
import { countRequest } from '../middleware/rate-limit.ts';
import { extensionsNamed, type A2ACall } from './call.ts';
import { MALFORMED } from './grpc-definition.ts';
import { checkValues } from './grpc-values.ts';
import { readVersion } from './version.ts';

export interface TenantRequest {
  /** Id of the agent; empty: the default agent. */
  tenant: string;
}

type ServerCall = ServerUnaryCall<TenantRequest, unknown> | ServerWritableStream<TenantRequest, unknown>;

/** @throws AppError, A2AError: 401, 429, 403, version, 404 in this order */
export async function grpcCall(deps: AppDeps, { metadata, request }: ServerCall, about: { requestId: string; signal: AbortSignal }): Promise<A2ACall> {
  const { actor, actorNow } = await authenticate(deps, first(metadata, 'authorization'));
  await countRequest(() => deps.orm.em.fork(), actor, deps.env.RATE_LIMIT_PER_MINUTE);
  if (!hasRole(actor, 'viewer')) throw forbidden('This needs the role viewer.', 'role_required');
  if (request === MALFORMED) throw badRequest('malformed_body', 'The message is not what the method takes.');
  checkValues(request);
  if (readVersion(first(metadata, 'a2a-version')) !== '1.0') throw new VersionNotSupportedError('gRPC is served in A2A 1.0 only: send the metadata a2a-version: 1.0.');
  const agentId = request.tenant || deps.env.A2A_DEFAULT_AGENT;
  if (agentId === undefined) throw notFound('agent: tenant must be its id');
  return {
    deps,
    actor,
    actorNow,
    target: await findA2AAgent(deps.orm.em.fork(), actor, agentId),
    version: '1.0',
    extensions: extensionsNamed(metadata.get('a2a-extensions').map(String).join(',')),
    lastEventId: '',
    lastItem: { id: null },
    ...about,
  };
}

async function authenticate({ keys, env, orm }: AppDeps, authorization: string): Promise<Pick<A2ACall, 'actor' | 'actorNow'>> {
  const [, token] = /^Bearer +([^\s]+) *$/i.exec(authorization) ?? [];
  const claims = token === undefined ? null : await verifyAccessToken(keys, env.BASE_URL, token);
  const actorNow = async (): Promise<Actor | null> => claims && actorOfClaims(orm.em.fork(), claims);
  const actor = await actorNow();
  if (actor) return { actor, actorNow };
  if (authorization === '') throw new AppError('unauthorized', 'token_required', 'This needs an access token: the metadata authorization: Bearer <token>.');
  throw new AppError('unauthorized', 'invalid_token', 'The access token is not valid, or no longer.');
}

/** Empty if it was not sent. */
export function first(metadata: Metadata, name: string): string {
  return String(metadata.get(name)[0] ?? '');
}
