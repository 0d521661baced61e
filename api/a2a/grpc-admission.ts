/**
 * Authenticates gRPC calls by their metadata, before any byte of the message is read. Unauthenticated clients
 * therefore hold no more memory than one HTTP/2 window. Authenticated clients must send the message within a
 * time limit, and a user has few messages received at once. What HTTP limits is limited here too: calls under
 * way, bytes in memory, time of the process, answers that nobody reads.
 */
import {
  ServerInterceptingCall,
  Metadata,
  status as grpcCode,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import type { ServerHttp2Stream } from 'node:http2';
import { v7 as uuidv7 } from 'uuid';

import { actorOfClaims, actorsOfClaims } from '../../domain/auth/access-token.ts';
import { accessTokenCaller, isAccessToken } from '../../domain/auth/access-tokens.ts';
import { hasRole, type Actor } from '../../domain/auth/actor.ts';
import type { Caller } from '../../domain/auth/known-callers.ts';
import { verifyAccessToken } from '../../domain/auth/verify-access-token.ts';
import { AppError, forbidden } from '../../domain/errors.ts';
import type { AppDeps } from '../deps.ts';
import { IDENTIFIED_MS } from '../middleware/identify-again.ts';
import { countRequest } from '../middleware/rate-limit.ts';
import { writesPaused } from '../middleware/write-pause.ts';
import type { SessionOpener } from '../streams/live-sessions.ts';
import type { ReceivedMessage } from './grpc-definition.ts';
import { grpcStatus } from './grpc-errors.ts';
import { answerOn, cutIfUnread, onClosed, streamOf } from './grpc-stream.ts';
import { OpenCall } from './open-call.ts';
import { createReceivingSlots, type ReceivingSlots } from './receiving-slots.ts';

/** Admitted calls by their metadata object. Only admission and the call share that object. */
const admitted = new WeakMap<Metadata, OpenCall>();

/** The call that was admitted with this metadata. */
export function admittedCall(metadata: Metadata): OpenCall {
  const call = admitted.get(metadata);
  if (!call) throw new Error('a gRPC call bypassed admission');
  return call;
}

export interface AdmissionLimits {
  /** Ends the call with DEADLINE_EXCEEDED if the message has not arrived by then. */
  receiveMs: number;
  /** Ends the call of a client that reads nothing of its answer for so long. */
  unreadMs: number;
}

/**
 * Checks 401, 429 and 403 in this order before the message is read, and the bounds of the message before it
 * is decoded.
 */
export function grpcAdmission(deps: AppDeps, limits: AdmissionLimits): ServerInterceptor {
  const slots = createReceivingSlots();
  return ({ path }, call) => {
    const admission = new Admission({ deps, limits, slots, path, call });
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => void admission.admit(metadata, proceed),
          onReceiveMessage: (message: ReceivedMessage, proceed) => void admission.decode(message, proceed),
          onReceiveHalfClose(proceed) {
            admission.received();
            proceed();
          },
          onCancel: () => admission.cancel(),
        }),
    });
  };
}

interface Admitting {
  deps: AppDeps;
  limits: AdmissionLimits;
  slots: ReceivingSlots;
  path: string;
  call: ServerInterceptingCallInterface;
}

/** Of one call, until its message has arrived. */
class Admission {
  readonly #about: Admitting;
  readonly #stream: ServerHttp2Stream;
  #metadata = new Metadata();
  #open: OpenCall | undefined;
  #timer: NodeJS.Timeout | undefined;
  #releaseSlot: (() => void) | undefined;
  #isOver = false;

  constructor(about: Admitting) {
    this.#about = about;
    this.#stream = streamOf(about.call);
  }

  async admit(metadata: Metadata, proceed: (metadata: Metadata) => void): Promise<void> {
    const { deps, limits, slots, path, call } = this.#about;
    this.#metadata = metadata;
    cutIfUnread(this.#stream, limits.unreadMs);
    try {
      const { opener, leave } = await admit(deps, { metadata, peer: call.getPeer(), path });
      const open = new OpenCall({ load: deps.load, stream: this.#stream, opener, leave });
      if (this.#isOver) return;
      this.#open = open;
      onClosed(this.#stream, deps.unread.add(opener.actor.id, answerOn(this.#stream)));
      open.receive((error) => this.#refuse(error));
      admitted.set(metadata, open);
      this.#timer = setTimeout(() => this.#endLate(), limits.receiveMs).unref();
      this.#releaseSlot = slots.take(opener.actor.id, () => proceed(metadata));
    } catch (error) {
      this.#refuse(error);
    }
  }

  async decode(message: ReceivedMessage, proceed: (decoded: object) => void): Promise<void> {
    const open = this.#open;
    if (!open) return;
    try {
      await open.turnFor(message);
      await identifyAgain(this.#about.deps, open);
      if (!this.#isOver) proceed(open.measure(() => message.decode()));
    } catch (error) {
      this.#refuse(error);
    }
  }

  received(): void {
    clearTimeout(this.#timer);
    this.#releaseSlot?.();
  }

  cancel(): void {
    this.#isOver = true;
    this.received();
  }

  #endLate(): void {
    const { limits, call } = this.#about;
    this.cancel();
    call.sendStatus({
      code: grpcCode.DEADLINE_EXCEEDED,
      details: `The message did not arrive within ${limits.receiveMs / 1_000} s.`,
      metadata: null,
    });
  }

  #refuse(error: unknown): void {
    if (this.#isOver) return;
    this.cancel();
    const { deps, path, call } = this.#about;
    const status = grpcStatus(error);
    const requestId = requestIdOf(this.#metadata);
    if (!(error instanceof AppError))
      deps.logger.error({ err: error, request_id: requestId }, 'gRPC call failed');
    deps.logger.info({ request_id: requestId, method: 'gRPC', path, status: String(status.code) }, 'request');
    const trailers = status.metadata?.clone();
    trailers?.set('x-request-id', requestId);
    call.sendStatus({
      code: status.code ?? grpcCode.UNKNOWN,
      details: status.details ?? '',
      metadata: trailers ?? null,
    });
  }
}

/** Reads the rights of a caller whose message was slow as they are now. @throws 401, 403 */
async function identifyAgain(deps: AppDeps, { opener, admittedMs }: OpenCall): Promise<void> {
  if (performance.now() - admittedMs < IDENTIFIED_MS) return;
  const [actor = null] = await actorsOfClaims(deps.orm.em.fork(), [opener.claims]);
  if (actor === null) throw invalidToken();
  checkRole(actor);
  opener.actor = actor;
}

function invalidToken(): AppError {
  return new AppError('unauthorized', 'invalid_token', 'The access token is invalid or has expired.');
}

/** @throws 403 */
function checkRole(actor: Actor): void {
  if (!hasRole(actor, 'viewer')) throw forbidden('This requires the role viewer.', 'role_required');
}

/** Methods that change nothing, which go on while writes are paused. */
const READS = /\/(?:Get|List|Subscribe)\w*$/;

async function admit(
  deps: AppDeps,
  { metadata, peer, path }: { metadata: Metadata; peer: string; path: string },
): Promise<{ opener: SessionOpener; leave: () => void }> {
  deps.load.check();
  const pause = READS.test(path) ? null : await deps.writePause.current();
  if (pause !== null) throw writesPaused(pause);
  const ip = clientAddress(deps, metadata, peer);
  const authorization = first(metadata, 'authorization');
  const [, token] = /^Bearer +([^\s]+) *$/i.exec(authorization) ?? [];
  if (token !== undefined) deps.addressLimit.admit(ip, token);
  const caller = token === undefined ? null : await callerOf(deps, token, ip);
  if (token !== undefined) deps.addressLimit[caller === null ? 'disproved' : 'proved'](token);
  if (caller === null) {
    await deps.addressLimit.count(ip);
    if (authorization === '')
      throw new AppError(
        'unauthorized',
        'token_required',
        'An access token is required: send the metadata authorization: Bearer <token>.',
      );
    throw invalidToken();
  }
  const { actor, claims } = caller;
  const leave = deps.requestsAtOnce.enter(actor.id);
  try {
    await countRequest(() => deps.orm.em.fork(), actor, deps.env.RATE_LIMIT_PER_MINUTE);
    checkRole(actor);
    return { opener: { claims, actor, ip }, leave };
  } catch (error) {
    leave();
    throw error;
  }
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
