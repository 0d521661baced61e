/**
 * Signatures of inbound webhooks, as GitHub, Stripe, Slack and Standard Webhooks make them: HMAC-SHA-256 over
 * the body, for all but GitHub together with a time.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

import type { HookRefusal, HookScheme } from '../../contracts/hooks.ts';
import { bytesOfBase64 } from '../base64.ts';

export interface HookRequest {
  /** By lower-case name. */
  header: (name: string) => string;
  body: Buffer;
}

interface Signed {
  /** What is signed. */
  content: Buffer;
  signatures: Buffer[];
  /** Seconds since 1970; null if the scheme signs none. */
  timestamp: number | null;
}

/** A request may carry several signatures, such as during a rotation of the sender's key. */
const MAX_SIGNATURES = 10;

const READERS: Readonly<Record<HookScheme, (request: HookRequest) => Signed | null>> = {
  github({ header, body }) {
    const signature = /^sha256=([0-9a-f]{64})$/i.exec(header('x-hub-signature-256'))?.[1];
    return signature === undefined
      ? null
      : { content: body, signatures: [Buffer.from(signature, 'hex')], timestamp: null };
  },
  stripe({ header, body }) {
    const parts = header('stripe-signature')
      .split(',')
      .map((part) => part.trim().split('='));
    const time = parts.find(([name]) => name === 't')?.[1] ?? '';
    const signatures = parts.flatMap(([name, value = '']) =>
      name === 'v1' && /^[0-9a-f]{64}$/i.test(value) ? [Buffer.from(value, 'hex')] : [],
    );
    return timed(time, signatures, Buffer.concat([Buffer.from(`${time}.`), body]));
  },
  slack({ header, body }) {
    const time = header('x-slack-request-timestamp');
    const signature = /^v0=([0-9a-f]{64})$/i.exec(header('x-slack-signature'))?.[1];
    const signatures = signature === undefined ? [] : [Buffer.from(signature, 'hex')];
    return timed(time, signatures, Buffer.concat([Buffer.from(`v0:${time}:`), body]));
  },
  standard({ header, body }) {
    const time = header('webhook-timestamp');
    const id = header('webhook-id');
    const signatures = header('webhook-signature')
      .split(' ')
      .flatMap((part) => (part.startsWith('v1,') ? (bytesOfBase64(part.slice('v1,'.length)) ?? []) : []));
    if (id === '' || id.length > 255) return null;
    return timed(time, signatures, Buffer.concat([Buffer.from(`${id}.${time}.`), body]));
  },
};

function timed(time: string, signatures: Buffer[], content: Buffer): Signed | null {
  if (!/^\d{1,12}$/.test(time) || signatures.length === 0) return null;
  return { content, signatures: signatures.slice(0, MAX_SIGNATURES), timestamp: Number(time) };
}

/**
 * Null if one of the secrets signed the request, at most `toleranceSeconds` ago or ahead. The time this takes
 * does not depend on the secrets.
 */
export function refusalOf(
  scheme: HookScheme,
  request: HookRequest,
  { secrets, toleranceSeconds, now }: { secrets: readonly string[]; toleranceSeconds: number; now: Date },
): HookRefusal | null {
  const signed = READERS[scheme](request);
  if (signed === null) return 'unsigned';
  let isSigned = false;
  for (const secret of secrets) {
    const expected = createHmac('sha256', keyOf(scheme, secret)).update(signed.content).digest();
    for (const signature of signed.signatures)
      if (signature.length === expected.length && timingSafeEqual(signature, expected)) isSigned = true;
  }
  const { timestamp } = signed;
  const isRecent = timestamp === null || Math.abs(now.getTime() / 1_000 - timestamp) <= toleranceSeconds;
  if (!isSigned) return 'wrong_signature';
  return isRecent ? null : 'old_signature';
}

/** Secrets of Standard Webhooks are base64 after their prefix; those of the others are used as they are. */
function keyOf(scheme: HookScheme, secret: string): Buffer {
  if (scheme !== 'standard') return Buffer.from(secret);
  return Buffer.from(secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret, 'base64');
}

/** Why a secret cannot serve for the scheme; null if it can. */
export function secretProblem(scheme: HookScheme, secret: string): string | null {
  if (keyOf(scheme, secret).length >= MIN_KEY_BYTES) return null;
  return scheme === 'standard'
    ? `must be whsec_ and base64 of at least ${MIN_KEY_BYTES} bytes`
    : `must have at least ${MIN_KEY_BYTES} bytes`;
}

const MIN_KEY_BYTES = 16;

/**
 * What identifies a request, so that a repeated one is not taken twice. Only what is signed counts: GitHub
 * does not sign the id of a delivery, so its id is the digest of the body.
 */
export function requestId(scheme: HookScheme, request: HookRequest, body: unknown): string {
  const named =
    scheme === 'standard'
      ? request.header('webhook-id')
      : scheme === 'stripe'
        ? textOf(body, 'id')
        : scheme === 'slack'
          ? textOf(body, 'event_id')
          : null;
  if (named !== null && named !== '' && named.length <= 255) return named;
  return `sha256:${createHash('sha256').update(request.body).digest('hex')}`;
}

/** A text member of a JSON object; null if it has none. */
export function textOf(value: unknown, key: string): string | null {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return typeof found === 'string' ? found : null;
}
