/**
 * Decodes encrypted payloads for Temporal's web UI (Temporal's remote codec protocol, decoding only): with
 * the token of the UI's user (docs/adr/0064), or where the UI has no log-in, with a capability in the path
 * (docs/adr/0011).
 */
import type { Payload } from '@temporalio/common';
import * as z from 'zod';

import type { AuditNote } from '../../../domain/audit/write.ts';
import { CODEC_RESOURCE } from '../../../domain/auth/access-token.ts';
import { AppError, invalid, notFound } from '../../../domain/errors.ts';
import { WORKFLOW_METADATA } from '../../../temporal/payload-codec.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointResponse } from '../../endpoint.ts';
import { claimsOf, sameSecret } from '../../middleware/auth.ts';
import { createDecodingTrail } from './decoding-trail.ts';

// Protobuf's JSON, with bytes in base64. Unknown members come from newer servers.
const payload = z
  .looseObject({ metadata: z.record(z.string(), z.string()).optional(), data: z.string().optional() })
  .meta({ id: 'TemporalPayload' });
const payloads = z.strictObject({ payloads: z.array(payload).max(1_000) }).meta({ id: 'TemporalPayloads' });

/** Requests contain few payloads, and those of 64 KiB and more are references. */
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
const MAX_WORKFLOW_ID = 200;
/** Executions that an entry of the audit log names; further ones are in further entries. */
const MAX_NAMED = 20;
/** A page with a long history sends a thousand requests at once, but sustained rates are low. */
const allowance = { burst: 5_000, perSecond: 100 };

/** What both share. Newer versions of the UI send the parameter; we have no such references. */
const decoding = {
  method: 'POST' as const,
  // What people decode, the handler writes itself.
  audit: false as const,
  tags: ['operations'],
  query: z.object({ preserveStorageRefs: z.enum(['true', 'false']).optional() }),
  body: payloads,
  bodyLimitBytes: BODY_LIMIT_BYTES,
  idempotent: false,
  transaction: false,
  responses: { 200: payloads },
  errors: [404, 429],
};

export function temporalCodecEndpoints(deps: AppDeps): Endpoint[] {
  const take = bucket(allowance);
  const trail = createDecodingTrail();
  return [
    endpoint({
      ...decoding,
      path: `${CODEC_RESOURCE}/decode`,
      operationId: 'decodePayloads',
      summary: "Decrypt payloads for Temporal's web UI, with its user's token",
      description:
        "Temporal's remote codec protocol, for admins. Takes the access tokens that the UI gets for its " +
        'users (`TEMPORAL_UI_CLIENT_SECRET`), which open nothing else, and those of this API. In browsers ' +
        'only pages of `TEMPORAL_UI_URL` may call it. The audit log says whose runs were decrypted.',
      role: 'admin',
      resource: CODEC_RESOURCE,
      handler: async (c) => {
        const decoded = await decode(deps.payloadCodec, take, c.body.payloads);
        const { sid } = claimsOf(c.ctx);
        const executions = trail.dueIn(sid, c.body.payloads.map(workflowOf));
        for (let from = 0; from < executions.length; from += MAX_NAMED)
          await c.audit.write(c.em, noteOf(executions.slice(from, from + MAX_NAMED)));
        trail.written(sid, executions);
        return decoded;
      },
    }),
    endpoint({
      ...decoding,
      path: `${CODEC_RESOURCE}/{capability}/decode`,
      operationId: 'decodeTemporalPayloads',
      summary: 'Decrypt payloads for a Temporal web UI that has no log-in',
      description:
        "Temporal's remote codec protocol. Available only if `TEMPORAL_CODEC_TOKEN` is set; its value is " +
        'the capability. In browsers only pages of `TEMPORAL_UI_URL` may call it.',
      role: 'public',
      params: z.object({ capability: z.string() }),
      handler: async (c) => {
        const { TEMPORAL_CODEC_TOKEN: token } = deps.env;
        if (!deps.payloadCodec || !token || !sameSecret(c.params.capability, token)) throw notFound('path');
        return decode(deps.payloadCodec, take, c.body.payloads);
      },
    }),
  ];
}

/** @throws 404 without a codec, 422 for what none of our keys decrypts, 429 */
async function decode(
  codec: AppDeps['payloadCodec'],
  take: () => boolean,
  encoded: readonly PayloadJson[],
): Promise<EndpointResponse> {
  if (!codec) throw notFound('path');
  if (!take())
    throw new AppError('too_many_requests', 'rate_limited', 'Too many payloads were requested at once.', {
      headers: { 'Retry-After': '5' },
    });
  const decoded = await codec.decode(encoded.map(fromJson)).catch((error: unknown) => {
    // The caller may learn the reason, such as a missing key or a value removed by retention.
    const message = error instanceof Error ? error.message : String(error);
    throw invalid([{ pointer: '/payloads', code: 'undecodable', message }]);
  });
  return {
    status: 200,
    body: { payloads: decoded.map(toJson) },
    headers: { 'Cache-Control': 'no-store' },
  };
}

/** The execution that a decoded payload belongs to; null if it is bound to none. */
function workflowOf({ metadata = {} }: PayloadJson): string | null {
  const id = metadata[WORKFLOW_METADATA];
  return id === undefined ? null : Buffer.from(id, 'base64').toString().slice(0, MAX_WORKFLOW_ID);
}

const RUN_ID = /^run-([0-9a-f-]{36})$/;

function noteOf(workflows: readonly string[]): Partial<AuditNote> {
  const [only] = workflows;
  const run = workflows.length === 1 ? (RUN_ID.exec(only ?? '')?.[1] ?? null) : null;
  return {
    ...(run === null
      ? { objectType: 'temporal_codec', objectId: null }
      : { objectType: 'run', objectId: run }),
    data: { workflows, count: workflows.length },
  };
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
