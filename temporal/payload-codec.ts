/**
 * Payloads on their way through Temporal: compressed from 8 KiB on, encrypted (AES-256-GCM), and from 256 KiB on kept in
 * a store (domain/files/payload-store.ts) with only a reference in the history, long before Temporal's limit of 2 MB. Encryption has the form of Temporal's
 * own samples: `binary/encrypted`, the key's id in the metadata, data = nonce, ciphertext, tag. What is not encrypted is read
 * as it is: histories from before.
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomFillSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
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

/** 32 bytes; the first of several encrypts, the others still decrypt. */
export interface PayloadKey {
  id: string;
  key: Buffer;
}

export interface PayloadCodecOptions {
  keys: readonly PayloadKey[];
  store: PayloadStore;
  /** Told of what cannot be read: in Temporal's own logs and histories such failures are encrypted, too. */
  unreadable?: (error: PayloadKeyError) => void;
}

/** A payload that cannot be read with the keys at hand. Passing: it can be once the key is back. */
export class PayloadKeyError extends Error {
  override readonly name = 'PayloadKeyError';
}

const COMPRESS_FROM_BYTES = 8 * 1024;
const STORE_FROM_BYTES = 256 * 1024;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const ENCRYPTED = Buffer.from('binary/encrypted');
const KEY_ID = 'encryption-key-id';
/** What the plain text of an encrypted payload is beyond the payload itself, and where its cipher text is. */
const COMPRESSION = 'compression';
const DEFLATE = Buffer.from('deflate-raw');
const LOCATION = 'location';
const DATABASE = Buffer.from('cadenza-database');
/** As written before there was encryption. */
const OLD_COMPRESSED = 'binary/cadenza-deflate';
const OLD_STORED = 'binary/cadenza-stored';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);
// CommonJS without names that Node can see: everything is in the default export.
const PayloadMessage = proto.temporal.api.common.v1.Payload;

export function createPayloadCodec({ keys, store, unreadable }: PayloadCodecOptions): PayloadCodec {
  const derived = new Map(keys.map(({ id, key }) => [id, deriveKeys(id, key)]));
  const [current] = derived.values();
  if (!current) throw new Error('ENCRYPTION_KEYS names no key');
  return {
    encode: async (payloads) => all(payloads, (payload) => encode(current, store, payload)),
    decode: async (payloads) => {
      try {
        return await all(payloads, (payload) => decode(derived, store, payload));
      } catch (error) {
        if (error instanceof PayloadKeyError) unreadable?.(error);
        throw error;
      }
    },
  };
}

interface Keys {
  id: Buffer;
  /** Key objects: a cipher made with bytes takes four times as long. */
  cipher: KeyObject;
  /** Makes the digest of stored payloads. */
  mac: KeyObject;
}

/** Keys of their own for this use: the same settings also encrypt secrets. */
function deriveKeys(id: string, key: Buffer): Keys {
  const derive = (use: string): KeyObject => createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `cadenza temporal payload ${use}`, 32)));
  return { id: Buffer.from(id), cipher: derive('cipher'), mac: derive('digest') };
}

/** Most payloads are small and done at once: no promise for each. */
function all(payloads: Payload[], work: (payload: Payload) => Payload | Promise<Payload>): Payload[] | Promise<Payload[]> {
  const done = payloads.map(work);
  return done.some((one) => one instanceof Promise) ? Promise.all(done.map(async (one) => one)) : (done as Payload[]);
}

function encode(keys: Keys, store: PayloadStore, payload: Payload): Payload | Promise<Payload> {
  // `undefined`, and nothing to hide.
  if (!payload.data?.length && textOf(payload.metadata?.['encoding']) === 'binary/null') return payload;
  const plain = PayloadMessage.encode(payload).finish();
  if (plain.length < COMPRESS_FROM_BYTES) return sealed(keys, seal(keys, nextNonce(), plain));
  return encodeBig(keys, store, plain);
}

async function encodeBig(keys: Keys, store: PayloadStore, plain: Uint8Array): Promise<Payload> {
  const compressed = await deflate(plain, { level: 1 });
  if (compressed.length < STORE_FROM_BYTES) return sealed(keys, seal(keys, nextNonce(), compressed), { [COMPRESSION]: DEFLATE });
  // The nonce comes from a keyed digest of the content, so that a repeat has the same cipher text and stores nothing new.
  const digest = createHmac('sha256', keys.mac).update(compressed).digest();
  const name = digest.toString('hex');
  await store.put(name, seal(keys, digest.subarray(0, NONCE_BYTES), compressed));
  return sealed(keys, Buffer.from(name), { [COMPRESSION]: DEFLATE, [LOCATION]: DATABASE });
}

function decode(keys: ReadonlyMap<string, Keys>, store: PayloadStore, payload: Payload): Payload | Promise<Payload> {
  const { metadata } = payload;
  const encoding = textOf(metadata?.['encoding']);
  if (encoding === OLD_COMPRESSED || encoding === OLD_STORED) return decodeOld(store, encoding, payload);
  const id = metadata?.[KEY_ID];
  // Encrypted by somebody else's codec, or not at all.
  if (encoding !== 'binary/encrypted' || !id) return payload;
  const known = keys.get(textOf(id));
  if (!known) {
    throw new PayloadKeyError(`A Temporal payload is encrypted with the key "${textOf(id)}", which ENCRYPTION_KEYS does not name (it has: ${[...keys.keys()].join(', ')}). Put the key back after the current one; nothing is lost.`);
  }
  const data = payload.data ?? new Uint8Array();
  if (!metadata[LOCATION] && !metadata[COMPRESSION]) return PayloadMessage.decode(open(known, data));
  return decodeBig(known, store, metadata, data);
}

async function decodeBig(keys: Keys, store: PayloadStore, metadata: Record<string, Uint8Array>, data: Uint8Array): Promise<Payload> {
  const plain = open(keys, metadata[LOCATION] ? await fetchStored(store, data) : data);
  return PayloadMessage.decode(metadata[COMPRESSION] ? await inflate(plain) : plain);
}

async function decodeOld(store: PayloadStore, encoding: string, payload: Payload): Promise<Payload> {
  const data = payload.data ?? new Uint8Array();
  return PayloadMessage.decode(await inflate(encoding === OLD_STORED ? await fetchStored(store, data) : data));
}

async function fetchStored(store: PayloadStore, name: Uint8Array): Promise<Uint8Array> {
  const digest = textOf(name);
  const stored = await store.get(digest);
  if (!stored) throw new Error(`The stored payload ${digest} is gone`);
  return stored;
}

function sealed(keys: Keys, data: Uint8Array, more?: Record<string, Uint8Array>): Payload {
  return { metadata: { encoding: ENCRYPTED, [KEY_ID]: keys.id, ...more }, data };
}

function seal(keys: Keys, nonce: Uint8Array, plain: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', keys.cipher, nonce);
  const first = cipher.update(plain);
  return Buffer.concat([nonce, first, cipher.final(), cipher.getAuthTag()]);
}

function open(keys: Keys, data: Uint8Array): Buffer {
  try {
    const tagAt = data.length - TAG_BYTES;
    const decipher = createDecipheriv('aes-256-gcm', keys.cipher, data.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(data.subarray(tagAt));
    const first = decipher.update(data.subarray(NONCE_BYTES, tagAt));
    const last = decipher.final();
    return last.length === 0 ? first : Buffer.concat([first, last]);
  } catch (error) {
    throw new PayloadKeyError(`A Temporal payload cannot be decrypted with the key "${textOf(keys.id)}": ENCRYPTION_KEYS has another key under this id, or the payload was changed.`, { cause: error });
  }
}

// One call of the system for many nonces.
const nonces = Buffer.alloc(NONCE_BYTES * 256);
let nonceAt = nonces.length;

function nextNonce(): Buffer {
  if (nonceAt === nonces.length) {
    randomFillSync(nonces);
    nonceAt = 0;
  }
  nonceAt += NONCE_BYTES;
  return Buffer.from(nonces.subarray(nonceAt - NONCE_BYTES, nonceAt));
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString() : '';
}
