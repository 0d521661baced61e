/**
 * Decodes encrypted payloads for Temporal's web UI (Temporal's remote codec protocol, decoding only). The UI
 * cannot log in here, so the path contains a capability; see docs/adr/0011.
 */
import type { Payload } from '@temporalio/common';
import * as z from 'zod';

import { AppError, invalid, notFound } from '../../../domain/errors.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { sameSecret } from '../../middleware/auth.ts';

// Protobuf's JSON, with bytes in base64. Unknown members come from newer servers.
const payload = z
  .looseObject({ metadata: z.record(z.string(), z.string()).optional(), data: z.string().optional() })
  .meta({ id: 'TemporalPayload' });
const payloads = z.strictObject({ payloads: z.array(payload).max(1_000) }).meta({ id: 'TemporalPayloads' });

/** Requests contain few payloads, and those of 64 KiB and more are references. */
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
/** A page with a long history sends a thousand requests at once, but sustained rates are low. */
const allowance = { burst: 5_000, perSecond: 100 };

export function temporalCodecEndpoints(deps: AppDeps): Endpoint[] {
  const take = bucket(allowance);
  return [
    endpoint({
      method: 'POST',
      path: '/temporal-codec/{capability}/decode',
      operationId: 'decodeTemporalPayloads',
      // It changes nothing, and the caller is Temporal's page.
      audit: false,
      summary: "Decrypt payloads for Temporal's web UI",
      description:
        "Temporal's remote codec protocol. Available only if `TEMPORAL_CODEC_TOKEN` is set; its value is " +
        'the ' +
        'capability. In browsers only pages of `TEMPORAL_UI_URL` may call it.',
      tags: ['operations'],
      role: 'public',
      params: z.object({ capability: z.string() }),
      body: payloads,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      idempotent: false,
      transaction: false,
      responses: { 200: payloads },
      errors: [429],
      handler: async (c) => {
        const { payloadCodec, env } = deps;
        if (
          !payloadCodec ||
          !env.TEMPORAL_CODEC_TOKEN ||
          !sameSecret(c.params.capability, env.TEMPORAL_CODEC_TOKEN)
        )
          throw notFound('path');
        if (!take())
          throw new AppError(
            'too_many_requests',
            'rate_limited',
            'Too many payloads were requested at once.',
            { headers: { 'Retry-After': '5' } },
          );
        const encoded = c.body.payloads.map(fromJson);
        const decoded = await payloadCodec.decode(encoded).catch((error: unknown) => {
          // A holder of the capability may learn the reason, such as a missing key or a value removed by
          // retention.
          throw invalid([
            {
              pointer: '/payloads',
              code: 'undecodable',
              message: error instanceof Error ? error.message : String(error),
            },
          ]);
        });
        return {
          status: 200,
          body: { payloads: decoded.map(toJson) },
          headers: { 'Cache-Control': 'no-store' },
        };
      },
    }),
  ];
}

type PayloadJson = z.output<typeof payload>;

function fromJson({ metadata = {}, data = '' }: PayloadJson): Payload {
  return {
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([key, value]) => [key, Buffer.from(value, 'base64')]),
    ),
    data: Buffer.from(data, 'base64'),
  };
}

function toJson({ metadata, data }: Payload): PayloadJson {
  return {
    metadata: Object.fromEntries(
      Object.entries(metadata ?? {}).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    ),
    data: Buffer.from(data ?? []).toString('base64'),
  };
}

/** A token bucket per process. It protects the processor and is not a quota. */
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
