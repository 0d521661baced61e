import { createHash, randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import proto from '@temporalio/proto';
import { createPayloadCodec, PayloadKeyError, type PayloadKey } from '../../../temporal/payload-codec.ts';

const one = { id: 'one', key: randomBytes(32) };
const two = { id: 'two', key: randomBytes(32) };

function setUp(keys: PayloadKey[] = [one]) {
  const stored = new Map<string, Uint8Array>();
  const store = { put: async (digest: string, data: Uint8Array) => void stored.set(digest, data), get: async (digest: string) => stored.get(digest) ?? null };
  return { codec: createPayloadCodec({ keys, store }), store, stored };
}

const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value)!;
const valueOf = (payload: Payload | undefined): unknown => defaultPayloadConverter.fromPayload(payload!);
const everything = ({ metadata, data }: Payload): string => Buffer.concat([...Object.values(metadata ?? {}), data ?? Buffer.alloc(0)]).toString('latin1');

/** Incompressible, and easy to find again. */
const big = (bytes: number): string => `the secret plan ${randomBytes(bytes / 2).toString('hex')}`;

describe('a payload', () => {
  test.each([['small', 'the secret plan'], ['null', null], ['compressed', 'the secret plan'.repeat(2_000)], ['stored', big(800_000)]])('comes back as it was: %s', async (_name, value) => {
    const { codec } = setUp();
    const encoded = await codec.encode([payloadOf(value), payloadOf({ nested: [value] })]);
    for (const payload of encoded) {
      expect(Buffer.from(payload.metadata?.['encoding'] ?? []).toString()).toBe('binary/encrypted');
      expect(Buffer.from(payload.metadata?.['encryption-key-id'] ?? []).toString()).toBe('one');
      expect(everything(payload)).not.toContain('secret plan');
      expect(payload.data?.length).toBeLessThan(256 * 1024);
    }
    expect((await codec.decode(encoded)).map(valueOf)).toEqual([value, { nested: [value] }]);
  });

  test('that is nothing stays so', async () => {
    const nothing = payloadOf(undefined);
    expect(await setUp().codec.encode([nothing])).toEqual([nothing]);
  });

  test('is another one each time, but a stored one is stored once, encrypted', async () => {
    const { codec, stored } = setUp();
    const [a, b] = await codec.encode([payloadOf(1), payloadOf(1)]);
    expect(a?.data).not.toEqual(b?.data);
    const large = payloadOf(big(800_000));
    await codec.encode([large, large]);
    await codec.encode([large]);
    expect(stored.size).toBe(1);
    for (const data of stored.values()) expect(Buffer.from(data).includes('secret plan')).toBe(false);
    await codec.encode([payloadOf(big(800_000))]);
    expect(stored.size).toBe(2);
  });

  test('that was changed, or moved under another key, is refused', async () => {
    const [payload] = await setUp().codec.encode([payloadOf('the secret plan')]);
    const changed = Buffer.from(payload?.data ?? []);
    changed[20] = (changed[20] ?? 0) ^ 1;
    await expect(setUp().codec.decode([{ ...payload, data: changed }])).rejects.toThrow(PayloadKeyError);
    await expect(setUp().codec.decode([{ ...payload, data: Buffer.alloc(3) }])).rejects.toThrow(PayloadKeyError);
  });
});

describe('keys', () => {
  test('the first encrypts, any decrypts', async () => {
    const [old] = await setUp([one]).codec.encode([payloadOf('old')]);
    const { codec } = setUp([two, one]);
    const [young] = await codec.encode([payloadOf('young')]);
    expect(Buffer.from(young?.metadata?.['encryption-key-id'] ?? []).toString()).toBe('two');
    expect((await codec.decode([old!, young!])).map(valueOf)).toEqual(['old', 'young']);
  });

  test('one that is missing or wrong is named', async () => {
    const [payload] = await setUp([one]).codec.encode([payloadOf('old')]);
    await expect(setUp([two]).codec.decode([payload!])).rejects.toThrow('encrypted with the key "one", which ENCRYPTION_KEYS does not name (it has: two)');
    await expect(setUp([{ id: 'one', key: two.key }]).codec.decode([payload!])).rejects.toThrow('cannot be decrypted with the key "one"');
    const told: string[] = [];
    const codec = createPayloadCodec({ keys: [two], store: setUp().store, unreadable: (error) => told.push(error.message) });
    await expect(codec.decode([payload!])).rejects.toThrow(PayloadKeyError);
    expect(told).toEqual([expect.stringContaining('key "one"')]);
    expect(() => setUp([])).toThrow('ENCRYPTION_KEYS names no key');
  });
});

test('payloads from before there was encryption are read: plain, compressed, stored', async () => {
  const { codec, store } = setUp();
  const plain = payloadOf({ from: 'before' });
  const compressed = deflateRawSync(proto.temporal.api.common.v1.Payload.encode(plain).finish());
  const digest = createHash('sha256').update(compressed).digest('hex');
  await store.put(digest, compressed);
  const old = [
    plain,
    { metadata: { encoding: Buffer.from('binary/cadenza-deflate') }, data: compressed },
    { metadata: { encoding: Buffer.from('binary/cadenza-stored') }, data: Buffer.from(digest) },
  ];
  expect((await codec.decode(old)).map(valueOf)).toEqual([{ from: 'before' }, { from: 'before' }, { from: 'before' }]);
});

test('what another codec encrypted is left alone', async () => {
  const foreign = { metadata: { encoding: Buffer.from('binary/encrypted') }, data: Buffer.from('x') };
  expect(await setUp().codec.decode([foreign])).toEqual([foreign]);
});
