import { createHash, randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import proto from '@temporalio/proto';
import {
  createPayloadCodec,
  PayloadKeyError,
  PayloadRefusedError,
  type PayloadCodecOptions,
  type PayloadKey,
  type StoredPayload,
} from '../../../temporal/payload-codec.ts';

const one = { id: 'one', key: randomBytes(32) };
const two = { id: 'two', key: randomBytes(32) };

function setUp(keys: PayloadKey[] = [one], options: Partial<PayloadCodecOptions> = {}) {
  const stored = new Map<string, StoredPayload>();
  const store = {
    put: async (digest: string, value: StoredPayload) => void stored.set(digest, value),
    get: async (digest: string) => stored.get(digest) ?? null,
  };
  return { codec: createPayloadCodec({ keys, store, ...options }), store, stored };
}

const inRun = (id: string) => ({ type: 'workflow' as const, namespace: 'default', workflowId: `run-${id}` });
const inActivity = (id: string) => ({
  type: 'activity' as const,
  namespace: 'default',
  workflowId: `run-${id}`,
  isLocal: false,
});
const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value)!;
const valueOf = (payload: Payload | undefined): unknown => defaultPayloadConverter.fromPayload(payload!);
const everything = ({ metadata, data }: Payload): string =>
  Buffer.concat([...Object.values(metadata ?? {}), data ?? Buffer.alloc(0)]).toString('latin1');

/** Incompressible, and easy to find again. */
const big = (bytes: number): string => `the secret plan ${randomBytes(bytes / 2).toString('hex')}`;

describe('a payload', () => {
  test.each([
    ['small', 'the secret plan'],
    ['null', null],
    ['compressed', 'the secret plan'.repeat(2_000)],
    ['just compressed', big(100_000)],
    ['stored', big(140_000)],
    ['large', big(800_000)],
  ])('comes back as it was: %s', async (_name, value) => {
    const { codec, stored } = setUp();
    const encoded = await codec.encode([payloadOf(value), payloadOf({ nested: [value] })]);
    for (const payload of encoded) {
      expect(Buffer.from(payload.metadata?.['encoding'] ?? []).toString()).toBe('binary/encrypted');
      expect(Buffer.from(payload.metadata?.['encryption-key-id'] ?? []).toString()).toBe('one');
      expect(everything(payload)).not.toContain('secret plan');
      expect(payload.data?.length).toBeLessThanOrEqual(64 * 1024 + 100);
    }
    // By the process that encrypted it, which remembers it for once, and by another one.
    const other = createPayloadCodec({
      keys: [one],
      store: { put: async () => {}, get: async (digest) => stored.get(digest) ?? null },
    });
    for (const reader of [codec, codec, other])
      expect((await reader.decode(encoded)).map(valueOf)).toEqual([value, { nested: [value] }]);
  });

  test('of this process is recognized only as a whole, and in its own workflow', async () => {
    const { codec } = setUp();
    const [payload] = await codec.encode([payloadOf('the secret plan')], inActivity('a'));
    const data = Buffer.from(payload?.data ?? []);
    const changed = Buffer.from(data);
    changed[data.length - 1] = (changed[data.length - 1] ?? 0) ^ 1;
    const other = { ...payload?.metadata, 'workflow-id': Buffer.from('run-b') };
    const refused = [
      codec.decode([{ ...payload, data: changed }], inActivity('a')),
      codec.decode([{ ...payload, data: data.subarray(0, 12) }], inActivity('a')),
      codec.decode([{ ...payload, metadata: other }], inActivity('b')),
      codec.decode([payload!], inActivity('b')),
    ];
    for (const attempt of refused) await expect(attempt).rejects.toThrow(PayloadRefusedError);
    expect((await codec.decode([payload!], inActivity('a'))).map(valueOf)).toEqual(['the secret plan']);
  });

  test('of this process is still readable after many others', async () => {
    const { codec } = setUp();
    const values = Array.from({ length: 1_000 }, (_unused, index) => index);
    const encoded = await codec.encode(values.map(payloadOf));
    expect((await codec.decode(encoded)).map(valueOf)).toEqual(values);
  });

  test('without a value is not encrypted', async () => {
    const nothing = payloadOf(undefined);
    expect(await setUp().codec.encode([nothing])).toEqual([nothing]);
  });

  test('is encrypted differently each time, but a stored one is stored once, encrypted', async () => {
    const { codec, stored } = setUp();
    const [a, b] = await codec.encode([payloadOf(1), payloadOf(1)]);
    expect(a?.data).not.toEqual(b?.data);
    const large = payloadOf(big(800_000));
    await codec.encode([large, large]);
    await codec.encode([large]);
    expect(stored.size).toBe(1);
    for (const { data, keyId } of stored.values())
      expect([keyId, Buffer.from(data).includes('secret plan')]).toEqual(['one', false]);
    await codec.encode([payloadOf(big(800_000))]);
    expect(stored.size).toBe(2);
  });

  test('that was changed or truncated is refused', async () => {
    const [payload] = await setUp().codec.encode([payloadOf('the secret plan')]);
    const changed = Buffer.from(payload?.data ?? []);
    changed[20] = (changed[20] ?? 0) ^ 1;
    await expect(setUp().codec.decode([{ ...payload, data: changed }])).rejects.toThrow(PayloadKeyError);
    await expect(setUp().codec.decode([{ ...payload, data: Buffer.alloc(3) }])).rejects.toThrow(
      PayloadKeyError,
    );
  });
});

describe('encryption keys', () => {
  test('encrypt with the first key and decrypt with any', async () => {
    const [old] = await setUp([one]).codec.encode([payloadOf('old')]);
    const { codec } = setUp([two, one]);
    const [young] = await codec.encode([payloadOf('young')]);
    expect(Buffer.from(young?.metadata?.['encryption-key-id'] ?? []).toString()).toBe('two');
    expect((await codec.decode([old!, young!])).map(valueOf)).toEqual(['old', 'young']);
  });

  test('that are missing or wrong are named in the error', async () => {
    const [payload] = await setUp([one]).codec.encode([payloadOf('old')]);
    await expect(setUp([two]).codec.decode([payload!])).rejects.toThrow(
      'encrypted with the key "one", which is missing in ENCRYPTION_KEYS (it has: two)',
    );
    await expect(setUp([{ id: 'one', key: two.key }]).codec.decode([payload!])).rejects.toThrow(
      'Cannot decrypt a Temporal payload with the key "one"',
    );
    const messages: string[] = [];
    const codec = createPayloadCodec({
      keys: [two],
      store: setUp().store,
      unreadable: (error) => messages.push(error.message),
    });
    await expect(codec.decode([payload!])).rejects.toThrow(PayloadKeyError);
    expect(messages).toEqual([expect.stringContaining('key "one"')]);
    expect(() => setUp([])).toThrow('ENCRYPTION_KEYS has no key');
  });
});

describe('an unencrypted payload', () => {
  const plain = payloadOf({ from: 'before' });
  const compressed = deflateRawSync(proto.temporal.api.common.v1.Payload.encode(plain).finish());
  const digest = createHash('sha256').update(compressed).digest('hex');
  const foreign = { metadata: { encoding: Buffer.from('binary/encrypted') }, data: Buffer.from('x') };
  const old = [
    plain,
    { metadata: { encoding: Buffer.from('binary/cadenza-deflate') }, data: compressed },
    { metadata: { encoding: Buffer.from('binary/cadenza-stored') }, data: Buffer.from(digest) },
  ];

  test('is refused, be it plain, compressed, stored or of another codec', async () => {
    const { codec, store } = setUp();
    await store.put(digest, { data: compressed, keyId: null });
    for (const payload of [...old, foreign])
      await expect(codec.decode([payload])).rejects.toThrow('ACCEPT_UNENCRYPTED_PAYLOADS');
  });

  test('is read where ACCEPT_UNENCRYPTED_PAYLOADS is set', async () => {
    const { codec, store } = setUp([one], { acceptUnencrypted: true });
    await store.put(digest, { data: compressed, keyId: null });
    expect((await codec.decode(old)).map(valueOf)).toEqual([
      { from: 'before' },
      { from: 'before' },
      { from: 'before' },
    ]);
    expect(await codec.decode([foreign])).toEqual([foreign]);
  });
});

describe('a payload of a run', () => {
  test.each([
    ['small', 'the plan'],
    ['compressed', 'the plan'.repeat(2_000)],
    ['stored', big(800_000)],
  ])('is readable only in its own run: %s', async (_name, value) => {
    const { codec } = setUp();
    const encoded = await codec.encode([payloadOf(value)], inRun('1'));
    for (const place of [inRun('1'), inActivity('1'), undefined])
      expect((await codec.decode(encoded, place)).map(valueOf)).toEqual([value]);
    for (const place of [inRun('2'), inActivity('2')])
      await expect(codec.decode(encoded, place)).rejects.toThrow(
        'of the workflow "run-1" was sent to "run-2"',
      );
    await expect(codec.decode(await codec.encode([payloadOf(value)]), inRun('1'))).rejects.toThrow(
      PayloadRefusedError,
    );
  });

  test('cannot be moved to another run by changing its metadata', async () => {
    const { codec } = setUp();
    const [payload] = await codec.encode([payloadOf('the plan'.repeat(2_000))], inRun('1'));
    const { compression: _, ...flat } = payload?.metadata ?? {};
    const { format: _format, ...unbound } = payload?.metadata ?? {};
    const location = Buffer.from('cadenza-store');
    for (const metadata of [
      { ...payload?.metadata, 'workflow-id': Buffer.from('run-2') },
      { ...flat, 'workflow-id': Buffer.from('run-2') },
      unbound,
      { ...payload?.metadata, location },
    ]) {
      await expect(codec.decode([{ ...payload, metadata }], inRun('2'))).rejects.toThrow(PayloadRefusedError);
    }
  });

  test('cannot refer to a stored value without our seal', async () => {
    const { codec, stored } = setUp();
    await codec.encode([payloadOf(big(800_000))], inRun('1'));
    const [digest = ''] = stored.keys();
    const metadata = {
      encoding: Buffer.from('binary/encrypted'),
      'encryption-key-id': Buffer.from('one'),
      compression: Buffer.from('deflate-raw'),
      location: Buffer.from('cadenza-database'),
    };
    await expect(codec.decode([{ metadata, data: Buffer.from(digest) }], inRun('2'))).rejects.toThrow(
      'an unauthenticated reference to a stored value',
    );
  });

  test('becomes a marker for a worker if refused, but fails in an activity', async () => {
    const { codec, store, stored } = setUp([one], { refusals: 'mark' });
    const [own, large] = await codec.encode([payloadOf('mine'), payloadOf(big(800_000))], inRun('1'));
    const [foreignKey] = await setUp([two]).codec.encode([payloadOf('x')], inRun('1'));
    const [mine, forged, unknown] = await codec.decode([own!, payloadOf('forged'), foreignKey!], inRun('1'));
    expect(valueOf(mine)).toBe('mine');
    const marks = [forged, unknown].map(
      (payload) => JSON.parse(Buffer.from(valueOf(payload) as Uint8Array).toString()) as object,
    );
    expect(marks).toEqual([
      { reason: expect.stringContaining('without our encryption'), passing: false },
      { reason: expect.stringContaining('the key "two"'), passing: true },
    ]);
    await expect(codec.decode([payloadOf('forged')], inActivity('1'))).rejects.toThrow(PayloadRefusedError);
    stored.clear();
    await expect(codec.decode([large!], inRun('1'))).rejects.toThrow('no longer exists');
    const away = createPayloadCodec({
      keys: [one],
      refusals: 'mark',
      store: { ...store, get: async () => Promise.reject(new Error('away')) },
    });
    await expect(away.decode([large!], inRun('1'))).rejects.toThrow('away');
  });
});
