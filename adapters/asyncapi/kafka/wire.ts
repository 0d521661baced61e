/** Kafka's types (kafka.apache.org/protocol "Protocol Primitive Types"), without the compact ones. */
import { fault, type Fault } from '../../../contracts/fault.ts';

/** Elements of one list; Kafka's own limits for what we ask are lower. */
const MAX_ELEMENTS = 100_000;
const MAX_VARINT_BYTES = 10;
const MAX_STRING_BYTES = 2 ** 15 - 1;

export function malformed(): Fault {
  return fault('communication', 'The broker did not answer as Kafka does', { status: 502 });
}

export class Writer {
  readonly #parts: Buffer[] = [];

  int8(value: number): this {
    return this.#add(1, (part) => part.writeInt8(value));
  }

  int16(value: number): this {
    return this.#add(2, (part) => part.writeInt16BE(value));
  }

  int32(value: number): this {
    return this.#add(4, (part) => part.writeInt32BE(value));
  }

  uint32(value: number): this {
    return this.#add(4, (part) => part.writeUInt32BE(value));
  }

  int64(value: bigint): this {
    return this.#add(8, (part) => part.writeBigInt64BE(value));
  }

  string(value: string | null): this {
    if (value === null) return this.int16(-1);
    const text = Buffer.from(value);
    if (text.length > MAX_STRING_BYTES)
      throw fault('configuration', `Kafka takes no name of more than ${MAX_STRING_BYTES} bytes`);
    return this.int16(text.length).raw(text);
  }

  bytes(value: Buffer): this {
    return this.int32(value.length).raw(value);
  }

  /** Each element is written by `write`. */
  list<T>(values: readonly T[], write: (value: T) => unknown): this {
    this.int32(values.length);
    for (const value of values) write(value);
    return this;
  }

  /** A list of one topic, with a list of its partitions. */
  topic<T>(name: string, partitions: readonly T[], write: (partition: T) => unknown): this {
    return this.list([name], () => this.string(name).list(partitions, write));
  }

  /** Zigzag and in groups of seven bits, as records have their numbers. */
  varint(value: number): this {
    const bytes: number[] = [];
    let left = ((value << 1) ^ (value >> 31)) >>> 0;
    for (; left > 0x7f; left >>>= 7) bytes.push((left & 0x7f) | 0x80);
    bytes.push(left);
    return this.raw(Buffer.from(bytes));
  }

  raw(value: Buffer): this {
    this.#parts.push(value);
    return this;
  }

  buffer(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #add(size: number, write: (part: Buffer) => void): this {
    const part = Buffer.alloc(size);
    write(part);
    return this.raw(part);
  }
}

/** Throws `Fault` for whatever is not there: a broker chooses every length. */
export class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  int8(): number {
    return this.raw(1).readInt8();
  }

  int16(): number {
    return this.raw(2).readInt16BE();
  }

  int32(): number {
    return this.raw(4).readInt32BE();
  }

  int64(): bigint {
    return this.raw(8).readBigInt64BE();
  }

  string(): string {
    return this.nullableString() ?? '';
  }

  nullableString(): string | null {
    const length = this.int16();
    return length === -1 ? null : this.raw(length).toString();
  }

  /** Empty if there are none. */
  bytes(): Buffer {
    const length = this.int32();
    return length === -1 ? Buffer.alloc(0) : this.raw(length);
  }

  /** Empty if it is null. */
  list<T>(read: (reader: this) => T): T[] {
    const count = this.int32();
    if (count > Math.min(MAX_ELEMENTS, this.left)) throw malformed();
    const values: T[] = [];
    for (let n = 0; n < count; n++) values.push(read(this));
    return values;
  }

  /** A list of topics, each with a list of its partitions; we ask about one. */
  partitions<T>(read: (reader: this) => T): T[] {
    const topics = this.list(() => {
      this.string();
      return this.list(read);
    });
    return topics.flat();
  }

  /** Exact for 32 bits, as every number has that is used. */
  varint(): number {
    let value = 0;
    for (let n = 0; n < MAX_VARINT_BYTES; n++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw malformed();
      value += (byte & 0x7f) * 2 ** (7 * n);
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
    throw malformed();
  }

  /** Bytes after their length as a varint; null for -1. */
  varbytes(): Buffer | null {
    const length = this.varint();
    return length === -1 ? null : this.raw(length);
  }

  raw(length: number): Buffer {
    if (length < 0 || length > this.left) throw malformed();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
