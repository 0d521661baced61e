/**
 * Codec of Temporal payloads. Payloads are encrypted (AES-256-GCM) and compressed from 8 KiB on. From 64 KiB
 * on they are kept in a store (domain/files/payload-store.ts), with only an encrypted reference in the
 * history, far below Temporal's limit of 2 MB. The format is that of Temporal's samples: `binary/encrypted`,
 * the key's id in the metadata, data = nonce, ciphertext, tag. The metadata is authenticated too and names
 * the payload's workflow. Payloads that none of our keys encrypted are refused, because anybody with access
 * to Temporal could have written them (docs/adr/0011).
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomFillSync,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import proto from '@temporalio/proto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { isBoundWorkflow, REFUSED_ENCODING, type RefusedPayload } from '../contracts/temporal.ts';

export interface StoredPayload {
  data: Uint8Array;
  /** Id of the key that encrypted it; null for old payloads, which use the key of their reference. */
  keyId: string | null;
}

interface PayloadStore {
  /** Stores data under its digest. Existing data is kept, and its timestamp renewed. */
  put(digest: string, stored: StoredPayload): Promise<void>;
  /** The stored payload, or null. */
  get(digest: string): Promise<StoredPayload | null>;
}

/** A key of 32 bytes. The first of several encrypts; the others only decrypt. */
export interface PayloadKey {
  id: string;
  key: Buffer;
}

export interface PayloadCodecOptions {
  keys: readonly PayloadKey[];
  store: PayloadStore;
  /** Whether to accept unencrypted payloads, for histories from before encryption. */
  acceptUnencrypted?: boolean;
  /**
   * What to do with a workflow's payload that is refused. `throw` fails the whole call, so that a workflow
   * task would fail again and again. `mark` replaces the payload with a marker, which the workflow drops
   * (workflows/interceptors.ts). Workers must use it, or one forged signal would block a workflow. Payloads
   * of activities always throw.
   */
  refusals?: 'throw' | 'mark';
  /**
   * Called for unreadable payloads, because Temporal's own logs and histories show such failures only
   * encrypted.
   */
  unreadable?: (error: PayloadRefusedError) => void;
}

/** A payload that none of our keys encrypted, or that belongs to another workflow. */
export class PayloadRefusedError extends Error {
  override readonly name: string = 'PayloadRefusedError';
}

/** A payload whose key is missing or does not decrypt it. It becomes readable once that key is restored. */
export class PayloadKeyError extends PayloadRefusedError {
  override readonly name = 'PayloadKeyError';
}

const COMPRESS_FROM_BYTES = 8 * 1024;
/** Limits the size of histories and of messages with many payloads: larger values become references. */
const STORE_FROM_BYTES = 64 * 1024;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const ENCRYPTED = Buffer.from('binary/encrypted');
const KEY_ID = 'encryption-key-id';
/** Metadata about the plaintext: how it is compressed, and where its ciphertext is stored. */
const COMPRESSION = 'compression';
const DEFLATE = Buffer.from('deflate-raw');
const LOCATION = 'location';
const STORE = Buffer.from('cadenza-store');
/** Id of the workflow that the payload belongs to. */
export const WORKFLOW_METADATA = 'workflow-id';
/** Marks payloads with authenticated metadata; older ones lack this member. */
const FORMAT = 'format';
const AUTHENTICATED = Buffer.from('2');
const AUTHENTICATED_MEMBERS = [FORMAT, KEY_ID, COMPRESSION, LOCATION, WORKFLOW_METADATA];
/** Encodings from before encryption. */
const OLD_COMPRESSED = 'binary/cadenza-deflate';
const OLD_STORED = 'binary/cadenza-stored';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);
// CommonJS without named exports that Node can detect: everything is in the default export.
const PayloadMessage = proto.temporal.api.common.v1.Payload;

type Context = Parameters<PayloadCodec['decode']>[1];
type Metadata = Record<string, Uint8Array>;

/**
 * Creates the codec. `decode` throws PayloadRefusedError, PayloadKeyError, and errors of an unavailable
 * store.
 */
export function createPayloadCodec(options: PayloadCodecOptions): PayloadCodec {
  const { keys, store, unreadable, refusals = 'throw' } = options;
  const own = new OwnPayloads();
  const derived = new Map(keys.map(({ id, key }) => [id, deriveKeys(id, key)]));
  const [current] = derived.values();
  if (!current) throw new Error('ENCRYPTION_KEYS has no key');
  const decoder = { keys: derived, store, own, acceptUnencrypted: options.acceptUnencrypted ?? false };
  const refused = (error: unknown, context: Context): Payload => {
    if (!(error instanceof PayloadRefusedError)) throw error;
    unreadable?.(error);
    if (refusals === 'throw' || context?.type !== 'workflow') throw error;
    return marker(error);
  };
  return {
    encode: async (payloads, context) => {
      const workflowId = boundTo(context);
      return all(payloads, (payload) => encode(current, { store, own }, payload, workflowId));
    },
    decode: async (payloads, context) =>
      all(payloads, (payload) => {
        try {
          const decoded = decode(decoder, payload, context);
          return decoded instanceof Promise
            ? decoded.catch((error: unknown) => refused(error, context))
            : decoded;
        } catch (error) {
          return refused(error, context);
        }
      }),
  };
}

/** Re-encrypts a stored value with the current (first) key. @throws PayloadKeyError if no key decrypts it */
export function createResealer(
  keys: readonly PayloadKey[],
): (digest: string, stored: StoredPayload) => StoredPayload {
  const derived = keys.map(({ id, key }) => deriveKeys(id, key));
  const [current] = derived;
  if (!current) throw new Error('ENCRYPTION_KEYS has no key');
  return (digest, { data, keyId }) => {
    const candidates = derived.filter(({ id }) => keyId === null || textOf(id) === keyId);
    for (const key of candidates) {
      try {
        const plain = keyId === null ? open(key, data) : open(key, data, Buffer.from(digest));
        return { data: seal(current, nextNonce(), plain, Buffer.from(digest)), keyId: textOf(current.id) };
      } catch (error) {
        if (!(error instanceof PayloadRefusedError)) throw error;
      }
    }
    throw new PayloadKeyError(`None of the keys can decrypt the stored payload ${digest}`);
  };
}

/** The marker that replaces a refused payload. Its encoding is one that our own payloads never use. */
function marker(error: PayloadRefusedError): Payload {
  const content: RefusedPayload = { reason: error.message, passing: error instanceof PayloadKeyError };
  return {
    metadata: { encoding: Buffer.from(REFUSED_ENCODING) },
    data: Buffer.from(JSON.stringify(content)),
  };
}

function boundTo(context: Context): Uint8Array | null {
  const workflowId = context?.workflowId;
  return workflowId !== undefined && isBoundWorkflow(workflowId) ? Buffer.from(workflowId) : null;
}

interface Keys {
  id: Buffer;
  /** Key objects, because creating a cipher from bytes takes four times as long. */
  cipher: KeyObject;
  /** Key of the digests of stored payloads. */
  mac: KeyObject;
}

/** Derives keys for this use only, since the same settings also encrypt secrets. */
function deriveKeys(id: string, key: Buffer): Keys {
  const derive = (use: string): KeyObject =>
    createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `cadenza temporal payload ${use}`, 32)));
  return { id: Buffer.from(id), cipher: derive('cipher'), mac: derive('digest') };
}

/** Most payloads are small and handled synchronously, so this avoids a promise for each. */
function all(
  payloads: Payload[],
  work: (payload: Payload) => Payload | Promise<Payload>,
): Payload[] | Promise<Payload[]> {
  const done = payloads.map(work);
  return done.some((result) => result instanceof Promise)
    ? Promise.all(done.map(async (result) => result))
    : (done as Payload[]);
}

function encode(
  keys: Keys,
  { store, own }: { store: PayloadStore; own: OwnPayloads },
  payload: Payload,
  workflowId: Uint8Array | null,
): Payload | Promise<Payload> {
  if (isNothing(payload)) return payload;
  const plain = PayloadMessage.encode(payload).finish();
  const metadata: Metadata = { encoding: ENCRYPTED, [KEY_ID]: keys.id, [FORMAT]: AUTHENTICATED };
  if (workflowId !== null) metadata[WORKFLOW_METADATA] = workflowId;
  if (plain.length < COMPRESS_FROM_BYTES) {
    const small = sealed(keys, metadata, plain);
    own.keep(small, payload);
    return small;
  }
  return encodeBig(keys, store, metadata, plain);
}

async function encodeBig(
  keys: Keys,
  store: PayloadStore,
  metadata: Metadata,
  plain: Uint8Array,
): Promise<Payload> {
  const compressed = await deflate(plain, { level: 1 });
  metadata[COMPRESSION] = DEFLATE;
  if (compressed.length < STORE_FROM_BYTES) return sealed(keys, metadata, compressed);
  // The nonce is derived from a keyed digest of the content, so a repeat gives the same ciphertext and stores
  // nothing new.
  const digest = createHmac('sha256', keys.mac).update(compressed).digest();
  const name = digest.toString('hex');
  await store.put(name, {
    data: seal(keys, digest.subarray(0, NONCE_BYTES), compressed, Buffer.from(name)),
    keyId: textOf(keys.id),
  });
  metadata[LOCATION] = STORE;
  return sealed(keys, metadata, Buffer.from(name));
}

interface Decoder {
  keys: ReadonlyMap<string, Keys>;
  store: PayloadStore;
  own: OwnPayloads;
  acceptUnencrypted: boolean;
}

function decode(decoder: Decoder, payload: Payload, context: Context): Payload | Promise<Payload> {
  const metadata = payload.metadata ?? {};
  const encoding = textOf(metadata['encoding']);
  const id = metadata[KEY_ID];
  if (encoding !== 'binary/encrypted' || !id) return unencrypted(decoder, encoding, payload);
  const keys = keyNamed(decoder, textOf(id));
  const data = payload.data ?? new Uint8Array();
  if (!metadata[FORMAT]) return decodeUnbound(decoder, keys, metadata, data);
  const owner = metadata[WORKFLOW_METADATA];
  const workflowId = boundTo(context);
  // Without a context (a call by Temporal's UI) there is no workflow to compare with. A payload without a
  // workflow does not fit a bound one.
  if (workflowId !== null && textOf(owner) !== textOf(workflowId)) {
    const source = owner ? `the workflow "${textOf(owner)}"` : 'no workflow';
    throw new PayloadRefusedError(`A Temporal payload of ${source} was sent to "${textOf(workflowId)}"`);
  }
  const known = decoder.own.take(metadata, data);
  if (known !== undefined) return known;
  const plain = open(keys, data, associated(metadata));
  if (!metadata[LOCATION] && !metadata[COMPRESSION]) return PayloadMessage.decode(plain);
  return metadata[LOCATION] ? decodeStored(decoder, keys, textOf(plain)) : inflated(plain);
}

const MAX_OWN = 256;

/**
 * What this process has encrypted lately, for the first who asks for it. Most inputs and results of
 * activities come back to the worker that sent them, and to decrypt one takes a tenth of a millisecond. Only
 * small payloads are kept: with what they became, 4 MiB at most.
 */
class OwnPayloads {
  readonly #byNonce = new Map<string, { encrypted: Payload; plain: Payload }>();

  keep(encrypted: Payload, plain: Payload): void {
    this.#byNonce.set(nonceOf(encrypted.data), { encrypted, plain });
    if (this.#byNonce.size <= MAX_OWN) return;
    for (const oldest of this.#byNonce.keys()) {
      this.#byNonce.delete(oldest);
      break;
    }
  }

  /** @returns undefined unless all of it is, bit by bit, what was encrypted here */
  take(metadata: Metadata, data: Uint8Array): Payload | undefined {
    const nonce = nonceOf(data);
    const kept = this.#byNonce.get(nonce);
    if (kept === undefined || !isSame(kept.encrypted.data, data)) return undefined;
    const expected = kept.encrypted.metadata ?? {};
    if (!AUTHENTICATED_MEMBERS.every((name) => isSame(expected[name], metadata[name]))) return undefined;
    this.#byNonce.delete(nonce);
    return kept.plain;
  }
}

function nonceOf(data: Uint8Array | null | undefined): string {
  if (!data) return '';
  return Buffer.from(data.buffer, data.byteOffset, Math.min(data.length, NONCE_BYTES)).toString('latin1');
}

function isSame(one: Uint8Array | null | undefined, other: Uint8Array | null | undefined): boolean {
  return one && other ? Buffer.compare(one, other) === 0 : !one && !other;
}

function keyNamed({ keys }: Decoder, id: string): Keys {
  const known = keys.get(id);
  if (known) return known;
  throw new PayloadKeyError(
    `A Temporal payload is encrypted with the key "${id}", which is missing in ENCRYPTION_KEYS ` +
      `(it has: ${[...keys.keys()].join(', ')}). Add the key after the current one; nothing is lost.`,
  );
}

/**
 * Whether the payload is empty: `undefined`, also from Temporal's UI. It carries no data that could be
 * forged.
 */
function isNothing({ metadata, data }: Payload): boolean {
  return !data?.length && textOf(metadata?.['encoding']) === 'binary/null';
}

function unencrypted(
  { store, acceptUnencrypted }: Decoder,
  encoding: string,
  payload: Payload,
): Payload | Promise<Payload> {
  if (isNothing(payload)) return payload;
  if (!acceptUnencrypted)
    throw new PayloadRefusedError(
      `A Temporal payload without our encryption ("${encoding}") is refused ` +
        '(see the setting ACCEPT_UNENCRYPTED_PAYLOADS)',
    );
  if (encoding === OLD_COMPRESSED) return inflated(payload.data ?? new Uint8Array());
  if (encoding === OLD_STORED)
    return fetchStored(store, textOf(payload.data)).then(({ data }) => inflated(data));
  return payload;
}

/**
 * Decodes a payload from before metadata was authenticated. Its reference to a stored value is not protected,
 * so anybody may have written it.
 */
async function decodeUnbound(
  decoder: Decoder,
  keys: Keys,
  metadata: Metadata,
  data: Uint8Array,
): Promise<Payload> {
  if (metadata[LOCATION] && !decoder.acceptUnencrypted) {
    throw new PayloadRefusedError(
      'A Temporal payload has an unauthenticated reference to a stored value ' +
        '(see the setting ACCEPT_UNENCRYPTED_PAYLOADS)',
    );
  }
  if (metadata[LOCATION]) return decodeStored(decoder, keys, textOf(data));
  const plain = open(keys, data);
  return metadata[COMPRESSION] ? inflated(plain) : PayloadMessage.decode(plain);
}

/** A missing stored value is not a refusal: the payload is authentic, and the failure may be temporary. */
async function decodeStored(decoder: Decoder, keys: Keys, digest: string): Promise<Payload> {
  const { data, keyId } = await fetchStored(decoder.store, digest);
  return inflated(
    keyId === null ? open(keys, data) : open(keyNamed(decoder, keyId), data, Buffer.from(digest)),
  );
}

async function inflated(compressed: Uint8Array): Promise<Payload> {
  return PayloadMessage.decode(await inflate(compressed));
}

async function fetchStored(store: PayloadStore, digest: string): Promise<StoredPayload> {
  const stored = await store.get(digest);
  if (!stored) throw new Error(`The stored payload ${digest} no longer exists`);
  return stored;
}

function sealed(keys: Keys, metadata: Metadata, plain: Uint8Array): Payload {
  return { metadata, data: seal(keys, nextNonce(), plain, associated(metadata)) };
}

/** Associated data of the cipher: all metadata that determines how to read the data and whose it is. */
function associated(metadata: Metadata): Buffer {
  return Buffer.from(AUTHENTICATED_MEMBERS.map((name) => `${name}=${textOf(metadata[name])}`).join('\n'));
}

/** Encrypts. @returns nonce, ciphertext, tag */
function seal(keys: Keys, nonce: Uint8Array, plain: Uint8Array, associatedData: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', keys.cipher, nonce);
  cipher.setAAD(associatedData);
  const first = cipher.update(plain);
  return Buffer.concat([nonce, first, cipher.final(), cipher.getAuthTag()]);
}

function open(keys: Keys, data: Uint8Array, associatedData?: Uint8Array): Buffer {
  try {
    const tagAt = data.length - TAG_BYTES;
    const decipher = createDecipheriv('aes-256-gcm', keys.cipher, data.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    if (associatedData) decipher.setAAD(associatedData);
    decipher.setAuthTag(data.subarray(tagAt));
    const first = decipher.update(data.subarray(NONCE_BYTES, tagAt));
    const last = decipher.final();
    return last.length === 0 ? first : Buffer.concat([first, last]);
  } catch (error) {
    throw new PayloadKeyError(
      `Cannot decrypt a Temporal payload with the key "${textOf(keys.id)}": ` +
        'ENCRYPTION_KEYS has another key under this id, or the payload was modified.',
      { cause: error },
    );
  }
}

// Random bytes for many nonces at once, which saves system calls.
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
