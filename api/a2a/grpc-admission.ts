/**
 * Authenticates gRPC calls by their metadata, before any byte of the message is read. Unauthenticated clients
 * therefore hold no more memory than one HTTP/2 window. Authenticated clients must send the message within a
 * time limit, and a user has few messages received at once.
 */
import {
  ServerInterceptingCall,
  status as grpcCode,
  type Metadata,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { v7 as uuidv7 } from 'uuid';

import { actorOfClaims } from '../../domain/auth/access-token.ts';
import { accessTokenCaller, isAccessToken } from '../../domain/auth/access-tokens.ts';
import { hasRole } from '../../domain/auth/actor.ts';
import type { Caller } from '../../domain/auth/known-callers.ts';
import { verifyAccessToken } from '../../domain/auth/verify-access-token.ts';
import { AppError, forbidden } from '../../domain/errors.ts';
import type { AppDeps } from '../deps.ts';
import { countRequest } from '../middleware/rate-limit.ts';
import { writesPaused } from '../middleware/write-pause.ts';
import type { SessionOpener } from '../streams/live-sessions.ts';
import { grpcStatus } from './grpc-errors.ts';
import { createReceivingSlots } from './receiving-slots.ts';

/** Admitted callers by the metadata object of their call. Only admission and the call share that object. */
const admitted = new WeakMap<Metadata, SessionOpener>();

/** The caller that was admitted with this metadata. */
export function admittedCaller(metadata: Metadata): SessionOpener {
  const opener = admitted.get(metadata);
  if (!opener) throw new Error('a gRPC call bypassed admission');
  return opener;
}

/**
 * Checks 401, 429 and 403 in this order before the message is read. Ends the call with DEADLINE_EXCEEDED if
 * the message does not arrive within `receiveMs`.
 */
export function grpcAdmission(deps: AppDeps, receiveMs: number): ServerInterceptor {
  const slots = createReceivingSlots();
  return (method, call) => {
    let timer: NodeJS.Timeout | undefined;
    let releaseSlot: (() => void) | undefined;
    let cancelled = false;
    const received = (): void => {
      clearTimeout(timer);
      releaseSlot?.();
    };
    const refuse = (metadata: Metadata, error: unknown): void => {
      const status = grpcStatus(error);
      const requestId = requestIdOf(metadata);
      if (!(error instanceof AppError))
        deps.logger.error({ err: error, request_id: requestId }, 'gRPC call failed');
      deps.logger.info(
        { request_id: requestId, method: 'gRPC', path: method.path, status: String(status.code) },
        'request',
      );
      const trailers = status.metadata?.clone();
      trailers?.set('x-request-id', requestId);
      call.sendStatus({
        code: status.code ?? grpcCode.UNKNOWN,
        details: status.details ?? '',
        metadata: trailers ?? null,
      });
    };
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata(metadata, proceed) {
            void admit(deps, { metadata, peer: call.getPeer(), path: method.path }).then(
              (opener) => {
                if (cancelled) return;
                admitted.set(metadata, opener);
                timer = setTimeout(() => {
                  releaseSlot?.();
                  call.sendStatus({
                    code: grpcCode.DEADLINE_EXCEEDED,
                    details: `The message did not arrive within ${receiveMs / 1_000} s.`,
                    metadata: null,
                  });
                }, receiveMs).unref();
                releaseSlot = slots.take(opener.actor.id, () => proceed(metadata));
              },
              (error: unknown) => refuse(metadata, error),
            );
          },
          onReceiveHalfClose(proceed) {
            received();
            proceed();
          },
          onCancel() {
            cancelled = true;
            received();
          },
        }),
    });
  };
}

/** Methods that change nothing, which go on while writes are paused. */
const READS = /\/(?:Get|List|Subscribe)\w*$/;

async function admit(
  deps: AppDeps,
  { metadata, peer, path }: { metadata: Metadata; peer: string; path: string },
): Promise<SessionOpener> {
  deps.load.check();
  const pause = READS.test(path) ? null : await deps.writePause.current();
  if (pause !== null) throw writesPaused(pause);
  const ip = clientAddress(deps, metadata, peer);
  const authorization = first(metadata, 'authorization');
  const [, token] = /^Bearer +([^\s]+) *$/i.exec(authorization) ?? [];
  const caller = token === undefined ? null : await callerOf(deps, token, ip);
  if (caller === null) {
    await deps.addressLimit.count(ip);
    if (authorization === '')
      throw new AppError(
        'unauthorized',
        'token_required',
        'An access token is required: send the metadata authorization: Bearer <token>.',
      );
    throw new AppError('unauthorized', 'invalid_token', 'The access token is invalid or has expired.');
  }
  const { actor, claims } = caller;
  await countRequest(() => deps.orm.em.fork(), actor, deps.env.RATE_LIMIT_PER_MINUTE);
  if (!hasRole(actor, 'viewer')) throw forbidden('This requires the role viewer.', 'role_required');
  return { claims, actor, ip };
}

async function callerOf(deps: AppDeps, token: string, ip: string): Promise<Caller | null> {
  if (isAccessToken(token)) return accessTokenCaller(deps.orm.em.fork(), token, ip);
  const claims = await verifyAccessToken(deps.keys, deps.env.BASE_URL, token);
  const actor = claims && (await actorOfClaims(deps.orm.em.fork(), claims));
  return claims && actor && { actor, claims };
}

/** The client's address; behind trusted proxies (TRUST_PROXY) it comes from `x-forwarded-for`. */
function clientAddress({ env }: Pick<AppDeps, 'env'>, metadata: Metadata, peer: string): string {
  const forwarded =
    env.TRUST_PROXY > 0
      ? first(metadata, 'x-forwarded-for').split(',').slice(-env.TRUST_PROXY)[0]?.trim()
      : '';
  return forwarded || peer.replace(/:\d+$/, '').replaceAll(/[[\]]/g, '');
}

/** The caller's `x-request-id` if it is valid, else a new id. */
export function requestIdOf(metadata: Metadata): string {
  const own = first(metadata, 'x-request-id');
  return /^[\x21-\x7e]{1,128}$/.test(own) ? own : uuidv7();
}

/** First value of a metadata key; empty if absent. */
export function first(metadata: Metadata, name: string): string {
  return String(metadata.get(name)[0] ?? '');
}
