/** The compressions of Kafka's batches, each with a bound for what comes out. */
import { promisify } from 'node:util';
import { gunzip, zstdDecompress } from 'node:zlib';
import { Fault, fault } from '../../../contracts/fault.ts';
import { codeOf } from '../../egress/error-code.ts';
import { malformed } from './wire.ts';

const gunzipped = promisify(gunzip);
const unzstd = promisify(zstdDecompress);

const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
/** After the mark, two numbers of its versions. */
const XERIAL_HEADER_BYTES = 16;
const LZ4_MAGIC = 0x184d2204;

/** `kind` as in a batch's attributes. Throws `Fault` if there would be more than `maxBytes`. */
export async function decompress(kind: number, data: Buffer, maxBytes: number): Promise<Buffer> {
  if (maxBytes <= 0) throw tooLarge(maxBytes);
  try {
    switch (kind) {
      case 0:
        return data;
      case 1:
        return await gunzipped(data, { maxOutputLength: maxBytes });
      case 2:
        return unsnappy(data, maxBytes);
      case 3:
        return unlz4(data, maxBytes);
      case 4:
        return await unzstd(data, { maxOutputLength: maxBytes });
      default:
        throw malformed();
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw codeOf(error) === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(maxBytes) : malformed();
  }
}

function tooLarge(maxBytes: number): Fault {
  return fault('communication', `A batch of messages has more than ${maxBytes} bytes`, { status: 502 });
}

/** Bytes that grow up to a bound. */
class Output {
  readonly #maxBytes: number;
  #bytes: Buffer;
  #length = 0;

  constructor(expected: number, maxBytes: number) {
    if (expected > maxBytes) throw tooLarge(maxBytes);
    this.#maxBytes = maxBytes;
    this.#bytes = Buffer.allocUnsafe(expected);
  }

  get length(): number {
    return this.#length;
  }

  append(part: Buffer): void {
    this.#reserve(part.length);
    this.#length += part.copy(this.#bytes, this.#length);
  }

  /** Repeats what is `offset` bytes back; it may overlap with what is written. */
  repeat(offset: number, count: number): void {
    if (offset < 1 || offset > this.#length) throw malformed();
    this.#reserve(count);
    // What is written repeats itself, so each step can be twice the one before.
    const from = this.#length - offset;
    for (let left = count; left > 0;) {
      const step = Math.min(left, this.#length - from);
      this.#bytes.copyWithin(this.#length, from, from + step);
      this.#length += step;
      left -= step;
    }
  }

  done(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(count: number): void {
    const wanted = this.#length + count;
    if (wanted > this.#maxBytes) throw tooLarge(this.#maxBytes);
    if (wanted <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.min(this.#maxBytes, Math.max(wanted, 2 * this.#bytes.length)));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** One block, or many with the header that Java's library writes. */
function unsnappy(data: Buffer, maxBytes: number): Buffer {
  if (!data.subarray(0, XERIAL.length).equals(XERIAL)) return unsnappyBlock(data, maxBytes);
  const output = new Output(0, maxBytes);
  for (let at = XERIAL_HEADER_BYTES; at < data.length;) {
    const size = data.readInt32BE(at);
    if (size <= 0 || at + 4 + size > data.length) throw malformed();
    output.append(unsnappyBlock(data.subarray(at + 4, at + 4 + size), maxBytes - output.length));
    at += 4 + size;
  }
  return output.done();
}

/** google/snappy "format_description.txt". Reading beyond the end throws a RangeError. */
function unsnappyBlock(data: Buffer, maxBytes: number): Buffer {
  let at = 0;
  let size = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = data.readUInt8(at++);
    size += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
    if (shift > 28) throw malformed();
  }
  const output = new Output(size, maxBytes);
  while (at < data.length) {
    const tag = data.readUInt8(at++);
    const kind = tag & 3;
    if (kind === 0) {
      let length = tag >> 2;
      const extra = Math.max(0, length - 59);
      if (extra > 0) length = data.readUIntLE(at, extra);
      at += extra;
      if (at + length + 1 > data.length) throw malformed();
      output.append(data.subarray(at, at + length + 1));
      at += length + 1;
    } else if (kind === 1) {
      output.repeat(((tag >> 5) << 8) | data.readUInt8(at), ((tag >> 2) & 7) + 4);
      at += 1;
    } else {
      const bytes = kind === 2 ? 2 : 4;
      output.repeat(data.readUIntLE(at, bytes), (tag >> 2) + 1);
      at += bytes;
    }
  }
  if (output.length !== size) throw malformed();
  return output.done();
}

/** lz4 "LZ4 Frame Format Description"; checksums are not compared. */
function unlz4(data: Buffer, maxBytes: number): Buffer {
  if (data.readUInt32LE(0) !== LZ4_MAGIC) throw malformed();
  const flags = data.readUInt8(4);
  const hasBlockChecksum = (flags & 0x10) !== 0;
  // Flags, sizes of blocks, perhaps the size of the content and a dictionary, a checksum.
  let at = 4 + 2 + (flags & 0x08 ? 8 : 0) + (flags & 0x01 ? 4 : 0) + 1;
  const output = new Output(Math.min(maxBytes, 4 * data.length), maxBytes);
  for (;;) {
    const head = data.readUInt32LE(at);
    at += 4;
    if (head === 0) return output.done();
    const size = head & 0x7fffffff;
    if (at + size > data.length) throw malformed();
    const block = data.subarray(at, at + size);
    if (head >>> 31 === 1) output.append(block);
    else unlz4Block(block, output);
    at += size + (hasBlockChecksum ? 4 : 0);
  }
}

/** lz4 "LZ4 Block Format Description". */
function unlz4Block(data: Buffer, output: Output): void {
  let at = 0;
  const lengthOf = (start: number): number => {
    let length = start;
    for (let byte = start === 15 ? 255 : 0; byte === 255;) length += byte = data.readUInt8(at++);
    return length;
  };
  while (at < data.length) {
    const token = data.readUInt8(at++);
    const literals = lengthOf(token >> 4);
    if (at + literals > data.length) throw malformed();
    output.append(data.subarray(at, at + literals));
    at += literals;
    if (at >= data.length) return;
    const offset = data.readUInt16LE(at);
    at += 2;
    output.repeat(offset, lengthOf(token & 15) + 4);
  }
}
