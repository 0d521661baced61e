/** The frames of an MP3 stream (MPEG-1, -2 and -2.5, layer III), found as it is read. */
import { fault } from '../../contracts/fault.ts';

const HEAD_BYTES = 4;
const ID3_HEAD_BYTES = 10;
/** Of the header frame, where encoders write `Xing`, `Info` or `VBRI`. */
const TAG_BYTES = 40;
const SYNC = 0xff;
/** Bytes that look like the beginning of a frame and are none. */
const MAX_FALSE_STARTS = 100_000;
const BITRATES_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const BITRATES_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
/** By version: 2.5, reserved, 2, 1. */
const SAMPLE_RATES = [[11_025, 12_000, 8_000], [], [22_050, 24_000, 16_000], [44_100, 48_000, 32_000]];
const VERSION_1 = 3;
const LAYER_3 = 1;

export interface Mp3Frame {
  /** In the file. */
  start: number;
  bytes: number;
  seconds: number;
  /** Equal for frames that a decoder can play one after the other. */
  kind: string;
}

/** Null: there is no frame here. */
function frameOf(head: Buffer, start: number): Mp3Frame | null {
  const [a = 0, b = 0, c = 0, d = 0] = head;
  const version = (b >> 3) & 3;
  if (a !== SYNC || (b & 0xe0) !== 0xe0 || ((b >> 1) & 3) !== LAYER_3) return null;
  const bitrate = (version === VERSION_1 ? BITRATES_1 : BITRATES_2)[c >> 4] ?? 0;
  const sampleRate = SAMPLE_RATES[version]?.[(c >> 2) & 3] ?? 0;
  if (bitrate === 0 || sampleRate === 0) return null;
  const samples = version === VERSION_1 ? 1152 : 576;
  const bytes = Math.floor((samples * bitrate * 125) / sampleRate) + ((c >> 1) & 1);
  const isMono = d >> 6 === 3;
  return {
    start,
    bytes,
    seconds: samples / sampleRate,
    kind: `${sampleRate} Hz ${isMono ? 'mono' : 'stereo'}`,
  };
}

/** Whether a file that begins like this is MP3. */
export function isMp3(head: Buffer): boolean {
  return head.toString('latin1', 0, 3) === 'ID3' || frameOf(head.subarray(0, HEAD_BYTES), 0) !== null;
}

/** The frames in order, without tags, without the header frame that says how long the file is. */
export async function* mp3Frames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Mp3Frame> {
  // Bytes that were read and not used, and where they begin in the file.
  let held = Buffer.alloc(0);
  let at = 0;
  let skip = 0;
  let isFirst = true;
  let falseStarts = 0;
  for await (const chunk of chunks) {
    held = held.length === 0 ? Buffer.from(chunk) : Buffer.concat([held, chunk]);
    for (;;) {
      const skipped = Math.min(skip, held.length);
      held = held.subarray(skipped);
      at += skipped;
      skip -= skipped;
      if (skip > 0 || held.length < TAG_BYTES + HEAD_BYTES) break;
      const tag = id3Bytes(held);
      const frame = tag > 0 ? null : frameOf(held, at);
      skip = tag > 0 ? tag : (frame?.bytes ?? bytesToSync(held));
      if (frame === null) {
        falseStarts += 1;
        if (falseStarts > MAX_FALSE_STARTS) throw fault('validation', 'The recording is not MP3 throughout');
        continue;
      }
      const isHeader =
        isFirst && /Xing|Info|VBRI/.test(held.toString('latin1', HEAD_BYTES, HEAD_BYTES + TAG_BYTES));
      isFirst = false;
      if (!isHeader) yield frame;
    }
  }
  // The last frames may be shorter than what the search looks at.
  for (
    let frame = frameOf(held, at);
    frame !== null && frame.bytes <= held.length;
    frame = frameOf(held, at)
  ) {
    yield frame;
    held = held.subarray(frame.bytes);
    at += frame.bytes;
  }
}

/** To the next byte that may begin a frame or a tag, at least 1. */
function bytesToSync(held: Buffer): number {
  const next = [held.indexOf(SYNC, 1), held.indexOf('ID3', 1, 'latin1')].filter((index) => index > 0);
  // The last bytes may be the beginning of a tag.
  return next.length > 0 ? Math.min(...next) : Math.max(1, held.length - TAG_BYTES);
}

/** Of a tag that begins here; 0 if none does. */
function id3Bytes(held: Buffer): number {
  if (held.toString('latin1', 0, 3) !== 'ID3') return 0;
  const size = [6, 7, 8, 9].reduce((sum, index) => sum * 128 + ((held[index] ?? 0) & 0x7f), 0);
  return ID3_HEAD_BYTES + size;
}
