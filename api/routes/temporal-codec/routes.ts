/**
 * What Temporal's web UI calls to show the encrypted payloads of a run (Temporal's remote codec protocol, decoding only).
 * The UI cannot log in here, so the path holds a capability; see docs/adr/0011.
 */
import type { Payload } from '@temporalio/common';
import * as z from 'zod';

import { AppError, invalid, notFound } from '../../../domain/errors.ts';
import type { AppDeps } from '../../app.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { sameSecret } from '../../middleware/auth.ts';

// protobuf's JSON: bytes in base64. Members that we do not know belong to newer servers.
const payload = z.looseObject({ metadata: z.record(z.string(), z.string()).optional(), data: z.string().optional() }).meta({ id: 'TemporalPayload' });
const payloads = z.strictObject({ payloads: z.array(payload).max(1_000) }).meta({ id: 'TemporalPayloads' });

/** Payloads come one or a few at once, and those of 256 KiB and more are references. */
const bodyLimitBytes = 4 * 1024 * 1024;
/** A page of a long history asks a thousand times at once; nobody reads on at that pace. */
const allowance = { burst: 5_000, perSecond: 100 };

export function temporalCodecEndpoints(deps: AppDeps): Endpoint[] {
  const take = bucket(allowance);
  return [
    endpoint({
      method: 'POST',
      path: '/temporal-codec/{capability}/decode',
      operationId: 'decodeTemporalPayloads',
      summary: "Decrypt payloads for Temporal's web UI",
      description: 'Temporal\'s remote codec protocol. There only if `TEMPORAL_CODEC_TOKEN` is set, whose value is the capability; only pages of `TEMPORAL_UI_URL` may call it from a browser.',
      tags: ['operations'],
      role: 'public',
      params: z.object({ capability: z.string() }),
      body: payloads,
      bodyLimitBytes,
      idempotent: false,
      transaction: false,
      responses: { 200: payloads },
      errors: [429],
      handler: async (c) => {
        const { payloadCodec, env } = deps;
        if (!payloadCodec || !env.TEMPORAL_CODEC_TOKEN || !sameSecret(c.params.capability, env.TEMPORAL_CODEC_TOKEN)) throw notFound('path');
        if (!take()) throw new AppError('too_many_requests', 'rate_limited', 'Too many payloads are asked for at once.', { headers: { 'Retry-After': '5' } });
        const encoded = c.body.payloads.map(fromJson);
        const decoded = await payloadCodec.decode(encoded).catch((error: unknown) => {
          // Whoever has the capability may know why: a key that is not there, or a value that retention has removed.
          throw invalid([{ pointer: '/payloads', code: 'undecodable', message: error instanceof Error ? error.message : String(error) }]);
        });
        return { status: 200, body: { payloads: decoded.map(toJson) }, headers: { 'Cache-Control': 'no-store' } };
      },
    }),
  ];
}

type PayloadJson = z.output<typeof payload>;

function fromJson({ metadata = {}, data = '' }: PayloadJson): Payload {
  return {
    metadata: Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, Buffer.from(value, 'base64')])),
    data: Buffer.from(data, 'base64'),
  };
}

function toJson({ metadata, data }: Payload): PayloadJson {
  return {
    metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
    data: Buffer.from(data ?? []).toString('base64'),
  };
}

/** Of this process: it guards its processor, not a quota. */
function bucket({ burst, perSecond }: { burst: number; perSecond: number }): () => boolean {
  let left = burst;
  let at = performance.now();
  return () => {
    const now = performance.now();
    left = Math.min(burst, left + ((now - at) / 1000) * perSecond);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
