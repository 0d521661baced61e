/**
 * Big values on their way through Temporal: compressed from 8 KiB on, and from 256 KiB on kept in PostgreSQL with only a
 * reference in the history, long before Temporal's limit of 2 MB. The reference is the content's digest, so a repeat stores nothing new.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import proto from '@temporalio/proto';
import type { Payload, PayloadCodec } from '@temporalio/common';

export interface PayloadStore {
  /** Keeps data under its digest; what is there already stays, its time renewed. */
  put(digest: string, data: Uint8Array): Promise<void>;
  /** Null if there is none. */
  get(digest: string): Promise<Uint8Array | null>;
}

const COMPRESS_FROM_BYTES = 8 * 1024;
const STORE_FROM_BYTES = 256 * 1024;
const COMPRESSED = 'binary/cadenza-deflate';
const STORED = 'binary/cadenza-stored';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);
// CommonJS without names that Node can see: everything is in the default export.
const PayloadMessage = proto.temporal.api.common.v1.Payload;

export function createClaimCheckCodec(store: PayloadStore): PayloadCodec {
  return {
    encode: (payloads) => Promise.all(payloads.map((payload) => encode(store, payload))),
    decode: (payloads) => Promise.all(payloads.map((payload) => decode(store, payload))),
  };
}

async function encode(store: PayloadStore, payload: Payload): Promise<Payload> {
  if ((payload.data?.length ?? 0) < COMPRESS_FROM_BYTES) return payload;
  const data = await deflate(PayloadMessage.encode(payload).finish(), { level: 1 });
  if (data.length < STORE_FROM_BYTES) return wrap(COMPRESSED, data);
  const digest = createHash('sha256').update(data).digest('hex');
  await store.put(digest, data);
  return wrap(STORED, Buffer.from(digest));
}

async function decode(store: PayloadStore, payload: Payload): Promise<Payload> {
  const encoding = Buffer.from(payload.metadata?.['encoding'] ?? []).toString();
  if (encoding !== COMPRESSED && encoding !== STORED) return payload;
  let data = payload.data ?? new Uint8Array();
  if (encoding === STORED) {
    const digest = Buffer.from(data).toString();
    const stored = await store.get(digest);
    if (!stored) throw new Error(`The stored payload ${digest} is gone`);
    data = stored;
  }
  return PayloadMessage.decode(await inflate(data));
}

function wrap(encoding: string, data: Uint8Array): Payload {
  return { metadata: { encoding: Buffer.from(encoding) }, data };
}
