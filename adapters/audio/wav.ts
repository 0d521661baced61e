/** WAV files (RIFF, little-endian): their header, read and written. */

const RIFF_BYTES = 12;
const CHUNK_HEAD_BYTES = 8;
const MIN_FORMAT_BYTES = 16;
/** Each part of a recording gets a copy. */
const MAX_FORMAT_BYTES = 1_024;
/** Metadata may stand before the samples. */
export const MAX_WAV_HEAD_BYTES = 1024 * 1024;

export interface Wav {
  /** The content of the chunk `fmt `, which says how samples are coded. */
  format: Buffer;
  /** Bytes that belong together: one sample of each channel, or a block of a codec. */
  blockBytes: number;
  bytesPerSecond: number;
  /** Of the samples, in the file. */
  start: number;
  end: number;
}

/**
 * `head` is the beginning of a file of `fileBytes`. Null: it is no WAV file, or its samples begin later. The
 * size that a header announces is not trusted, because servers that stream do not know it.
 */
export function readWav(head: Buffer, fileBytes: number): Wav | null {
  if (head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') return null;
  let format: Buffer | null = null;
  for (let at = RIFF_BYTES; at + CHUNK_HEAD_BYTES <= head.length;) {
    const id = head.toString('latin1', at, at + 4);
    const size = head.readUInt32LE(at + 4);
    const start = at + CHUNK_HEAD_BYTES;
    if (id === 'fmt ' && start + size <= head.length) format = head.subarray(start, start + size);
    // Servers that stream write 0 or the largest size.
    const end = size === 0 ? fileBytes : Math.min(start + size, fileBytes);
    if (id === 'data') return format === null ? null : wavOf(format, start, end);
    // Chunks have an even length.
    at = start + size + (size % 2);
  }
  return null;
}

function wavOf(format: Buffer, start: number, end: number): Wav | null {
  if (format.length < MIN_FORMAT_BYTES || format.length > MAX_FORMAT_BYTES) return null;
  const bytesPerSecond = format.readUInt32LE(8);
  const blockBytes = format.readUInt16LE(12);
  if (bytesPerSecond === 0 || blockBytes === 0) return null;
  const whole = Math.max(0, end - start);
  return { format, blockBytes, bytesPerSecond, start, end: start + whole - (whole % blockBytes) };
}

/** A header for samples of so many bytes. */
export function wavHead(format: Buffer, sampleBytes: number): Buffer {
  const head = Buffer.alloc(RIFF_BYTES + CHUNK_HEAD_BYTES + format.length + CHUNK_HEAD_BYTES);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(head.length - CHUNK_HEAD_BYTES + sampleBytes, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(format.length, 16);
  format.copy(head, 20);
  head.write('data', 20 + format.length, 'latin1');
  head.writeUInt32LE(sampleBytes, 24 + format.length);
  return head;
}
