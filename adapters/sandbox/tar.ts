/**
 * Archives as the engine's API takes and gives files: POSIX.1-2001 tar ("pax"). Only what a container needs:
 * folders and plain files are written; links and devices are told by their type, and never followed.
 */

const BLOCK = 512;
/** Of an extended header: names have at most 255 bytes for each folder. */
const MAX_EXTENDED_BYTES = 64 * 1024;

export interface TarFolder {
  path: string;
  uid: number;
  gid: number;
}

export interface TarFile {
  path: string;
  size: number;
  chunks(): Promise<AsyncIterable<Uint8Array>>;
}

/** Folders with mode 755, then files that everybody may read and nobody may change, owned by root. */
export async function* writeTar(
  folders: readonly TarFolder[],
  files: readonly TarFile[],
): AsyncGenerator<Uint8Array> {
  for (const { path, uid, gid } of folders)
    yield header({ path: `${path}/`, size: 0, mode: 0o755, uid, gid, type: '5' });
  for (const file of files) {
    const { path, size } = file;
    const record = paxRecord('path', path);
    yield header({ path: 'pax', size: record.length, mode: 0o644, uid: 0, gid: 0, type: 'x' });
    yield padded(record);
    yield header({ path: 'file', size, mode: 0o444, uid: 0, gid: 0, type: '0' });
    let left = size;
    for await (const chunk of await file.chunks()) {
      left -= chunk.length;
      if (left < 0) break;
      yield chunk;
    }
    // The engine would take the next header for content.
    if (left !== 0) throw new Error('a file has another size than its record says');
    yield Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
  }
  yield Buffer.alloc(2 * BLOCK);
}

interface Header {
  path: string;
  size: number;
  mode: number;
  uid: number;
  gid: number;
  type: string;
}

function header({ path, size, mode, uid, gid, type }: Header): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number): void =>
    void block.write(value.toString(8).padStart(digits, '0'), at, 'latin1');
  block.write(path, 0, 100, 'utf8');
  octal(mode, 100, 7);
  octal(uid, 108, 7);
  octal(gid, 116, 7);
  octal(size, 124, 11);
  octal(0, 136, 11);
  block.write(' '.repeat(8), 148, 'latin1');
  block.write(type, 156, 'latin1');
  block.write('ustar\u000000', 257, 'latin1');
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  block[154] = 0;
  return block;
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length = rest + String(length).length;
  return Buffer.from(`${length} ${key}=${value}\n`);
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)]);
}

export interface TarEntry {
  path: string;
  type: 'file' | 'folder' | 'other';
  size: number;
  /** Of a file. What is not read before the next entry is skipped. */
  chunks: AsyncIterable<Uint8Array>;
}

/** @throws Error for what is no archive, and for one that ends early */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const bytes = new Bytes(source);
  let pax = new Map<string, string>();
  for (;;) {
    const block = await bytes.exactly(BLOCK);
    if (block.every((byte) => byte === 0)) return;
    checkSum(block);
    const type = String.fromCharCode(block[156] ?? 0);
    const size = Number(pax.get('size') ?? sizeIn(block));
    if (!Number.isSafeInteger(size) || size < 0) throw new Error('an entry of the archive has no size');
    const padding = (BLOCK - (size % BLOCK)) % BLOCK;
    if (type === 'x' || type === 'g' || type === 'L') {
      if (size > MAX_EXTENDED_BYTES) throw new Error('an extended header of the archive is too long');
      const content = await bytes.exactly(size);
      await bytes.exactly(padding);
      if (type === 'x') pax = paxRecords(content);
      else if (type === 'L') pax.set('path', textIn(content));
      continue;
    }
    const part = bytes.next(size);
    const path =
      pax.get('path') ??
      [textIn(block.subarray(345, 500)), textIn(block.subarray(0, 100))]
        .filter((name) => name !== '')
        .join('/');
    pax = new Map();
    const kind = type === '0' || type === '\u0000' ? 'file' : type === '5' ? 'folder' : 'other';
    yield { path, type: kind, size, chunks: part };
    for await (const _skipped of part);
    await bytes.exactly(padding);
  }
}

function checkSum(block: Buffer): void {
  const stated = Number.parseInt(textIn(block.subarray(148, 156)).trim(), 8);
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (stated !== sum) throw new Error('this is no archive');
}

/** Octal digits, or a binary number if the first bit is set. */
function sizeIn(block: Buffer): number {
  const field = block.subarray(124, 136);
  if (((field[0] ?? 0) & 0x80) !== 0) return Number(field.readBigUInt64BE(4));
  return Number.parseInt(textIn(field).trim() || '0', 8);
}

function textIn(field: Buffer): string {
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? field.length : end).toString('utf8');
}

function paxRecords(content: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const length = Number(content.subarray(at, space).toString('latin1'));
    if (space < 0 || !Number.isInteger(length) || length <= space - at) break;
    const record = content.subarray(space + 1, at + length - 1).toString('utf8');
    const equals = record.indexOf('=');
    if (equals > 0) records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

/** Reads a stream in portions of known sizes. */
class Bytes {
  readonly #source: AsyncIterator<Uint8Array>;
  #left: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async exactly(size: number): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.next(size)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** The next `size` bytes. A second iteration continues the first. */
  next(size: number): AsyncIterable<Uint8Array> {
    let missing = size;
    const more = async (): Promise<IteratorResult<Uint8Array>> => {
      if (missing === 0) return { done: true, value: undefined };
      while (this.#left.length === 0) {
        const { done, value } = await this.#source.next();
        if (done === true) throw new Error('the archive ends early');
        this.#left = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      }
      const chunk = this.#left.subarray(0, missing);
      this.#left = this.#left.subarray(chunk.length);
      missing -= chunk.length;
      return { done: false, value: chunk };
    };
    return { [Symbol.asyncIterator]: () => ({ next: more }) };
  }
}
