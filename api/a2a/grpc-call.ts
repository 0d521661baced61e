/** Turns a gRPC call into an A2A call: caller, agent and version. */
import { VersionNotSupportedError } from '@a2a-js/sdk/errors';
import type { ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';

import { findA2AAgent } from '../../domain/a2a/agent.ts';
import { notFound } from '../../domain/errors.ts';
import { originOfCaller } from '../audit-trail.ts';
import type { AppDeps } from '../deps.ts';
import { extensionsNamed, type A2ACall } from './call.ts';
import { admittedCall, first } from './grpc-admission.ts';
import { checkValues } from './grpc-values.ts';
import { readVersion } from './version.ts';

export interface TenantRequest {
  /** Agent id; empty for the default agent. */
  tenant: string;
}

type ServerCall = ServerUnaryCall<TenantRequest, unknown> | ServerWritableStream<TenantRequest, unknown>;

/**
 * The caller was authenticated by `grpcAdmission`.
 * @throws AppError or A2AError: values that JSON has not, unsupported version, unknown agent, in this order
 */
export async function grpcCall(
  deps: AppDeps,
  { metadata, request }: ServerCall,
  about: { requestId: string; signal: AbortSignal },
): Promise<A2ACall> {
  const call = admittedCall(metadata);
  const { opener } = call;
  const { actor } = opener;
  call.measure(() => checkValues(request));
  if (readVersion(first(metadata, 'a2a-version')) !== '1.0')
    throw new VersionNotSupportedError('gRPC supports A2A 1.0 only: send the metadata a2a-version: 1.0.');
  const agentId = request.tenant || deps.env.A2A_DEFAULT_AGENT;
  if (agentId === undefined) throw notFound('agent: set tenant to its id');
  return {
    deps,
    actor,
    origin: {
      ...originOfCaller(actor, opener.claims, 'a2a'),
      address: opener.ip,
      userAgent: first(metadata, 'user-agent') || null,
      requestId: about.requestId,
    },
    async openSession(kind) {
      if (kind === 'wait') return deps.sessions.openWait(opener);
      const session = await deps.sessions.openStream(opener);
      call.cutAfter(session.signal);
      return session;
    },
    target: await findA2AAgent(deps.orm.em.fork(), actor, agentId),
    version: '1.0',
    extensions: extensionsNamed(metadata.get('a2a-extensions').map(String).join(',')),
    lastEventId: '',
    lastItem: { id: null },
    ...about,
  };
}
