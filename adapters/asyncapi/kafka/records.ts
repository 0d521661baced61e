/** Batches of records (kafka.apache.org/documentation "Record Batch", version 2). */
import { setImmediate } from 'node:timers/promises';
import { fault } from '../../../contracts/fault.ts';
import { MAX_MESSAGE_BYTES, MAX_RECEIVED_BYTES } from '../message-queue.ts';
import { crc32c } from './checksums.ts';
import { decompress } from './decompress.ts';
import { malformed, Reader, Writer } from './wire.ts';

const MAGIC = 2;
/** Offset and length, which come before what the length counts. */
const PREFIX_BYTES = 12;
const COMPRESSION_MASK = 0x07;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;
const ABORT = 0;
const MAX_HEADERS = 1_000;
/** Records and batches that are read in one go, also those that nobody gets. */
const IN_ONE_GO = 1_000;

export interface KafkaRecord {
  key: Buffer | null;
  value: Buffer | null;
  headers: [name: string, value: Buffer | null][];
}

export interface ReadRecord extends KafkaRecord {
  offset: bigint;
}

export interface Aborted {
  producerId: bigint;
  firstOffset: bigint;
}

/** A batch of one record. */
export function encodeBatch({ key, value, headers }: KafkaRecord, timeMs: number): Buffer {
  const record = new Writer().int8(0).varint(0).varint(0);
  const bytes = (part: Buffer | null): unknown =>
    part === null ? record.varint(-1) : record.varint(part.length).raw(part);
  bytes(key);
  bytes(value);
  record.varint(headers.length);
  for (const [name, content] of headers) {
    bytes(Buffer.from(name));
    bytes(content);
  }
  const body = record.buffer();
  const counted = new Writer()
    .int16(0)
    .int32(0)
    .int64(BigInt(timeMs))
    .int64(BigInt(timeMs))
    // No transaction, no producer that is known.
    .int64(-1n)
    .int16(-1)
    .int32(-1)
    .int32(1)
    .varint(body.length)
    .raw(body)
    .buffer();
  const after = new Writer().int32(-1).int8(MAGIC).uint32(crc32c(counted)).raw(counted).buffer();
  return new Writer().int64(0n).int32(after.length).raw(after).buffer();
}

interface BatchHead {
  firstOffset: bigint;
  lastOffset: bigint;
  attributes: number;
  producerId: bigint;
  count: number;
  /** Perhaps compressed. */
  records: Buffer;
}

/** The whole batches; brokers cut the last one where their limit is. */
export function batchesIn(bytes: Buffer): BatchHead[] {
  const reader = new Reader(bytes);
  const batches: BatchHead[] = [];
  while (reader.left > PREFIX_BYTES) {
    const firstOffset = reader.int64();
    const length = reader.int32();
    if (length > reader.left) break;
    batches.push(batchHead(firstOffset, new Reader(reader.raw(length))));
  }
  return batches;
}

function batchHead(firstOffset: bigint, reader: Reader): BatchHead {
  reader.int32();
  if (reader.int8() !== MAGIC)
    throw fault('communication', 'The topic has messages of a format from before Kafka 0.11', {
      status: 502,
    });
  reader.int32();
  const attributes = reader.int16();
  const lastOffset = firstOffset + BigInt(reader.int32());
  reader.raw(16);
  const producerId = reader.int64();
  reader.raw(6);
  const count = reader.int32();
  if (lastOffset < firstOffset || count < 0) throw malformed();
  return { firstOffset, lastOffset, attributes, producerId, count, records: reader.raw(reader.left) };
}

/** The records from an offset on, without those of transactions that were aborted. */
export async function* recordsIn(
  batches: readonly BatchHead[],
  from: bigint,
  aborted: readonly Aborted[],
): AsyncGenerator<ReadRecord> {
  const open = new Set<bigint>();
  const begun = aborted.toSorted((one, other) => (one.firstOffset < other.firstOffset ? -1 : 1));
  let next = 0;
  // Many small batches that are well compressed have more than one may have.
  let room = MAX_RECEIVED_BYTES;
  let steps = 0;
  for (const batch of batches) {
    if (++steps % IN_ONE_GO === 0) await setImmediate();
    for (; next < begun.length; next++) {
      const transaction = begun[next];
      if (transaction === undefined || transaction.firstOffset > batch.lastOffset) break;
      open.add(transaction.producerId);
    }
    const isControl = (batch.attributes & CONTROL) !== 0;
    if (!isControl && (batch.attributes & TRANSACTIONAL) !== 0 && open.has(batch.producerId)) continue;
    const compression = batch.attributes & COMPRESSION_MASK;
    const bytes = await decompress(compression, batch.records, Math.min(room, MAX_MESSAGE_BYTES));
    room -= bytes.length;
    if (compression !== 0) await setImmediate();
    for (const record of decoded(batch, bytes)) {
      if (++steps % IN_ONE_GO === 0) await setImmediate();
      if (!isControl && record.offset >= from) yield record;
      if (isControl && isAbort(record)) open.delete(batch.producerId);
    }
  }
}

/** The key of a control record: its version and its kind. */
function isAbort({ key }: ReadRecord): boolean {
  return key !== null && key.length >= 4 && key.readInt16BE(2) === ABORT;
}

function* decoded({ count, firstOffset, lastOffset }: BatchHead, bytes: Buffer): Generator<ReadRecord> {
  const reader = new Reader(bytes);
  for (let n = 0; n < count; n++) {
    const record = new Reader(reader.raw(reader.varint()));
    record.int8();
    record.varint();
    const offset = firstOffset + BigInt(record.varint());
    if (offset < firstOffset || offset > lastOffset) throw malformed();
    const [key, value] = [record.varbytes(), record.varbytes()];
    const headers: KafkaRecord['headers'] = [];
    const headerCount = record.varint();
    if (headerCount < 0 || headerCount > MAX_HEADERS) throw malformed();
    for (let h = 0; h < headerCount; h++) {
      const name = record.varbytes();
      headers.push([name?.toString() ?? '', record.varbytes()]);
    }
    yield { offset, key, value, headers };
  }
}
