/** What a hostile broker can send: whatever it is, reading ends soon, with a fault, in bounded memory. */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { crc32c, murmur2 } from '../../../adapters/asyncapi/kafka/checksums.ts';
import { decompress } from '../../../adapters/asyncapi/kafka/decompress.ts';
import { batchesIn, encodeBatch, recordsIn } from '../../../adapters/asyncapi/kafka/records.ts';
import { Reader, Writer } from '../../../adapters/asyncapi/kafka/wire.ts';
import { ByteQueue } from '../../../adapters/asyncapi/byte-queue.ts';
import { processorClock } from '../../support/machine.ts';

const MIB = 1024 * 1024;
const TOO_LARGE = 'A batch of messages has more than';
const MALFORMED = 'did not answer as Kafka does';

type Batches = ReturnType<typeof batchesIn>;

async function records(batches: Batches, from = 0n, aborted: Parameters<typeof recordsIn>[2] = []) {
  const all: unknown[] = [];
  for await (const record of recordsIn(batches, from, aborted)) all.push(record);
  return all;
}

test('sums are those of their standards', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
  // As org.apache.kafka.common.utils.Utils has them in its own test, made positive.
  expect(murmur2(Buffer.from('21'))).toBe(-973932308 & 0x7fffffff);
  expect(murmur2(Buffer.from('foobar'))).toBe(-790332482 & 0x7fffffff);
  expect(murmur2(Buffer.from('a-little-bit-long-string'))).toBe(-985981536 & 0x7fffffff);
});

test('a record comes back as it was written', async () => {
  const record = {
    key: Buffer.from('k'),
    value: Buffer.from('v'.repeat(300)),
    headers: [['a', Buffer.from('b')]] as [string, Buffer][],
  };
  const batch = encodeBatch(record, 1_700_000_000_000);
  // Brokers cut the last batch.
  const batches = batchesIn(Buffer.concat([batch, batch.subarray(0, batch.length - 1)]));
  expect(await records(batches)).toEqual([{ offset: 0n, ...record }]);
  expect(await records(batches, 1n)).toEqual([]);
});

describe('lengths that lie', () => {
  test.each([
    ['beyond the end', (writer: Writer) => writer.int32(1_000).raw(Buffer.alloc(3))],
    ['backwards', (writer: Writer) => writer.int32(-7).raw(Buffer.alloc(30))],
  ])('%s', (_, write) => {
    expect(() => new Reader(write(new Writer()).buffer()).bytes()).toThrow(MALFORMED);
  });

  test('a list of more elements than bytes', () => {
    const bytes = new Writer()
      .int32(2 ** 31 - 1)
      .raw(Buffer.alloc(50))
      .buffer();
    expect(() => new Reader(bytes).list((each) => each.int8())).toThrow(MALFORMED);
  });

  test('a batch of more records, or with lengths backwards', async () => {
    const batch = encodeBatch({ key: null, value: Buffer.from('x'), headers: [] }, 0);
    const at = 12 + 4 + 1 + 4 + 2 + 4 + 16 + 14;
    const many = Buffer.from(batch);
    many.writeInt32BE(2 ** 31 - 1, at);
    await expect(records(batchesIn(many))).rejects.toThrow(MALFORMED);
    for (let place = at + 4; place < batch.length; place++) {
      const changed = Buffer.from(batch);
      // Zigzag: -60.
      changed.writeUInt8(119, place);
      await records(batchesIn(changed)).catch((error: Error) => expect(error.message).toContain(MALFORMED));
    }
  });
});

test('many transactions that were aborted, and many batches, take little time', async () => {
  const batch = encodeBatch({ key: null, value: Buffer.from('x'), headers: [] }, 0);
  const batches = batchesIn(Buffer.concat(Array<Buffer>(20_000).fill(batch)));
  const aborted = Array.from({ length: 100_000 }, (_, n) => ({
    producerId: BigInt(n),
    firstOffset: BigInt(n),
  }));
  const clock = processorClock();
  expect(await records(batches, 0n, aborted)).toHaveLength(20_000);
  expect(clock()).toBeLessThan(4_000);
});

/** The batch with its records compressed by gzip. */
function zipped(batch: Buffer): Buffer {
  const at = 12 + 4 + 1 + 4 + 2 + 4 + 16 + 14 + 4;
  const bytes = Buffer.concat([batch.subarray(0, at), gzipSync(batch.subarray(at))]);
  bytes.writeInt32BE(bytes.length - 12, 8);
  bytes.writeInt16BE(1, 12 + 4 + 1 + 4);
  return bytes;
}

test('several batches together may have more than one of them, but not without a limit', async () => {
  const large = zipped(encodeBatch({ key: null, value: Buffer.alloc(3 * MIB), headers: [] }, 0));
  expect(await records(batchesIn(Buffer.concat(Array<Buffer>(10).fill(large))))).toHaveLength(10);
  await expect(records(batchesIn(Buffer.concat(Array<Buffer>(11).fill(large))))).rejects.toThrow(TOO_LARGE);
  const larger = zipped(encodeBatch({ key: null, value: Buffer.alloc(9 * MIB), headers: [] }, 0));
  await expect(records(batchesIn(larger))).rejects.toThrow(TOO_LARGE);
});

test('records that nobody gets leave the process to others', async () => {
  const one = encodeBatch({ key: null, value: null, headers: [] }, 0);
  const at = 12 + 4 + 1 + 4 + 2 + 4 + 16 + 14;
  const many = Buffer.concat([one.subarray(0, at + 4), ...Array<Buffer>(200_000).fill(one.subarray(at + 4))]);
  many.writeInt32BE(many.length - 12, 8);
  many.writeInt32BE(200_000, at);
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  expect(await records(batchesIn(many), 1n)).toEqual([]);
  isOver = true;
  expect(turns).toBeGreaterThan(100);
});

describe('compressions', () => {
  const text = Buffer.from('otters hold hands '.repeat(20_000));
  test('gzip and zstd end at the bound', async () => {
    for (const [kind, bytes, bomb] of [
      [1, gzipSync(text), gzipSync(Buffer.alloc(64 * MIB))],
      [4, zstdCompressSync(text), zstdCompressSync(Buffer.alloc(64 * MIB))],
    ] as const) {
      expect((await decompress(kind, bytes, MIB)).equals(text)).toBe(true);
      await expect(decompress(kind, bomb, MIB)).rejects.toThrow(TOO_LARGE);
      await expect(decompress(kind, Buffer.from('not compressed'), MIB)).rejects.toThrow(MALFORMED);
    }
  });

  test('snappy: literals and copies that overlap, and no more than it says', async () => {
    // 20 bytes: "ab" as a literal, then 18 more by a copy from two bytes back.
    const block = Buffer.from([20, (2 - 1) << 2, 0x61, 0x62, ((18 - 1) << 2) | 2, 2, 0]);
    expect((await decompress(2, block, MIB)).toString()).toBe('ab'.repeat(10));
    const framed = Buffer.concat([
      Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]),
      ...[block, block].flatMap((part) => [new Writer().int32(part.length).buffer(), part]),
    ]);
    expect((await decompress(2, framed, MIB)).toString()).toBe('ab'.repeat(20));
    await expect(decompress(2, framed, 30)).rejects.toThrow(TOO_LARGE);
    const large = Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0]);
    await expect(decompress(2, large, MIB)).rejects.toThrow(TOO_LARGE);
    for (const broken of [block.subarray(0, 4), Buffer.from([20, 2, 9, 0]), Buffer.from([0x80])])
      await expect(decompress(2, broken, MIB)).rejects.toThrow(MALFORMED);
  });

  test('lz4: blocks that grow without a limit end at the bound', async () => {
    const frame = (...blocks: Buffer[]): Buffer =>
      Buffer.concat([
        Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0]),
        ...blocks.flatMap((block) => {
          const size = Buffer.alloc(4);
          size.writeUInt32LE(block.length);
          return [size, block];
        }),
        Buffer.alloc(4),
      ]);
    // "ab", then 20 bytes from two bytes back, then "c".
    const block = Buffer.from([0x2f, 0x61, 0x62, 2, 0, 1, 0x10, 0x63]);
    expect((await decompress(3, frame(block), MIB)).toString()).toBe(`${'ab'.repeat(11)}c`);
    const bomb = Buffer.concat([
      Buffer.from([0x1f, 0x61, 1, 0]),
      Buffer.alloc(200_000, 255),
      Buffer.from([0]),
    ]);
    const clock = processorClock();
    const run = Buffer.concat([
      Buffer.from([0x1f, 0x61, 1, 0]),
      Buffer.alloc(32_800, 255),
      Buffer.from([0, 0x10, 0x62]),
    ]);
    expect((await decompress(3, frame(run), 8 * MIB)).length).toBe(1 + 15 + 255 * 32_800 + 4 + 1);
    await expect(decompress(3, frame(bomb), MIB)).rejects.toThrow(TOO_LARGE);
    expect(clock()).toBeLessThan(2_000);
    for (const broken of [block, frame(block).subarray(0, 12), frame(Buffer.from([0x10, 0x61, 9, 0]))])
      await expect(decompress(3, broken, MIB)).rejects.toThrow(MALFORMED);
  });
});

test('bytes that come one by one are read in a time that grows with their number', () => {
  const clock = processorClock();
  const queue = new ByteQueue();
  for (let n = 0; n < 300_000; n++) {
    queue.push(Buffer.from('x'));
    if (queue.take(400_000) !== null) throw new Error('too early');
  }
  expect(queue.take(300_000)).toHaveLength(300_000);
  for (let n = 0; n < 2_000; n++) {
    queue.push(Buffer.from('y'));
    expect(queue.takeLine(10_000)).toBeNull();
  }
  queue.push(Buffer.from('z\r\nrest'));
  expect(queue.takeLine(10_000)).toHaveLength(2_001);
  expect(queue.take(4)?.toString()).toBe('rest');
  queue.push(Buffer.alloc(20, 0x78));
  expect(() => queue.takeLine(10)).toThrow('a line of more than 10 bytes');
  expect(clock()).toBeLessThan(2_000);
});
