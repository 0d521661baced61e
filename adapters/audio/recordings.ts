/** A stored recording: what it is, and where it can be cut into parts that a server takes. */
import { fault } from '../../contracts/fault.ts';
import type { CallFiles } from '../../domain/ports.ts';
import type { StreamBody } from '../egress/egress.ts';
import { isMp3, mp3Frames } from './mp3.ts';
import { MAX_WAV_HEAD_BYTES, readWav, wavHead, type Wav } from './wav.ts';

/** OpenAI takes 25 MB. */
const MAX_PART_BYTES = 24 * 1024 * 1024;
const MAX_PARTS = 500;
const SHORT_HEAD_BYTES = 64;
/** Below this, nothing before the samples is missing from the head of a WAV file. */
const MAX_HEADER_BYTES = 4_096;

export type StoredFile = NonNullable<Awaited<ReturnType<CallFiles['open']>>>;

/** A part of a recording as a file of its own. */
export interface Part {
  body: StreamBody;
  /** Where it begins in the recording. */
  startSeconds: number;
  /** Null if its format does not tell. */
  seconds: number | null;
}

export interface Recording {
  /** Extension of its format, by which servers recognise it. */
  extension: string;
  mediaType: string;
  parts: readonly Part[];
}

/** What the content begins with, by extension. MP4 has its word after four bytes. */
const SIGNATURES: readonly [string, string, RegExp][] = [
  ['ogg', 'audio/ogg', /^OggS/],
  ['flac', 'audio/flac', /^fLaC/],
  ['m4a', 'audio/mp4', /^[^]{4}ftyp/],
  ['webm', 'audio/webm', /^.E\xdf\xa3/s],
];

/** Throws `Fault` (validation) if it is no recording, or too long for a format that cannot be cut. */
export async function readRecording(file: StoredFile, maxSeconds: number): Promise<Recording> {
  const head = await headOf(file, SHORT_HEAD_BYTES);
  if (head.toString('latin1', 0, 4) === 'RIFF') {
    const wav = readWav(await headOf(file, MAX_WAV_HEAD_BYTES), file.size);
    if (wav !== null)
      return { extension: 'wav', mediaType: 'audio/wav', parts: wavParts(file, wav, maxSeconds) };
  }
  if (isMp3(head))
    return { extension: 'mp3', mediaType: 'audio/mpeg', parts: await mp3Parts(file, maxSeconds) };
  const text = head.toString('latin1');
  const [extension, mediaType] = SIGNATURES.find(([, , pattern]) => pattern.test(text)) ?? [];
  if (extension === undefined || mediaType === undefined)
    throw fault(
      'validation',
      `${file.name} (${file.media_type}) is no recording in WAV, MP3, M4A, OGG, FLAC or WebM`,
    );
  if (file.size > MAX_PART_BYTES)
    throw fault(
      'validation',
      `${file.name} has ${file.size} bytes of ${extension}; above ${MAX_PART_BYTES} bytes only WAV and MP3 ` +
        'can be sent in parts: convert it to one of them',
    );
  return {
    extension,
    mediaType,
    parts: [{ body: sliceOf(file, 0, file.size), startSeconds: 0, seconds: null }],
  };
}

function wavParts(file: StoredFile, wav: Wav, maxSeconds: number): Part[] {
  const { format, blockBytes, bytesPerSecond, start, end } = wav;
  const wanted = Math.min(MAX_PART_BYTES - MAX_HEADER_BYTES, maxSeconds * bytesPerSecond);
  const partBytes = Math.max(blockBytes, Math.floor(wanted / blockBytes) * blockBytes);
  checkCount(Math.ceil((end - start) / partBytes));
  const parts: Part[] = [];
  for (let from = start; from < end; from += partBytes) {
    const to = Math.min(end, from + partBytes);
    parts.push({
      body: sliceOf(file, from, to, wavHead(format, to - from)),
      startSeconds: (from - start) / bytesPerSecond,
      seconds: (to - from) / bytesPerSecond,
    });
  }
  return parts.length > 0 ? parts : nothingIn(file);
}

async function mp3Parts(file: StoredFile, maxSeconds: number): Promise<Part[]> {
  const parts: Part[] = [];
  let part = { start: 0, end: 0, startSeconds: 0, seconds: 0 };
  const close = (): void => {
    if (part.seconds === 0) return;
    checkCount(parts.length + 1);
    const { start, end, startSeconds, seconds } = part;
    parts.push({ body: sliceOf(file, start, end), startSeconds, seconds });
  };
  for await (const { start, bytes, seconds } of mp3Frames(await file.chunks())) {
    const end = Math.min(file.size, start + bytes);
    if (part.seconds === 0) part = { ...part, start };
    if (part.seconds + seconds > maxSeconds || end - part.start > MAX_PART_BYTES) {
      close();
      part = { start, end, startSeconds: part.startSeconds + part.seconds, seconds };
    } else part = { ...part, end, seconds: part.seconds + seconds };
  }
  close();
  return parts.length > 0 ? parts : nothingIn(file);
}

function checkCount(count: number): void {
  if (count > MAX_PARTS)
    throw fault('validation', `The recording has more than ${MAX_PARTS} parts; "part_seconds" can be larger`);
}

function nothingIn({ name }: StoredFile): never {
  throw fault('validation', `${name} contains no sound`);
}

async function headOf(file: StoredFile, bytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of await file.chunks()) {
    parts.push(chunk);
    size += chunk.length;
    if (size >= bytes) break;
  }
  return Buffer.concat(parts).subarray(0, bytes);
}

/** The bytes from `start` to before `end`, after `head`. */
export function sliceOf(
  file: StoredFile,
  start: number,
  end: number,
  head: Uint8Array = new Uint8Array(0),
): StreamBody {
  return {
    size: head.length + end - start,
    async open() {
      const chunks = await file.chunks();
      return (async function* slice(): AsyncGenerator<Uint8Array> {
        if (head.length > 0) yield head;
        let at = 0;
        for await (const chunk of chunks) {
          const piece = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
          at += chunk.length;
          if (piece.length > 0) yield piece;
          if (at >= end) return;
        }
      })();
    },
  };
}
