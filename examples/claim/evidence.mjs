/** The photo and the voice message of a claim, drawn and sounded: the players look at neither. */
import { crc32, deflateSync } from 'node:zlib';

const SIZE = 96;
const SAMPLES_A_SECOND = 8_000;
const SECONDS = 2;

/** A white ceiling with a brown stain, as PNG. */
export function photo() {
  const rows = Buffer.alloc(SIZE * (SIZE * 3 + 1));
  for (let y = 0; y < SIZE; y++)
    for (let x = 0; x < SIZE; x++) {
      const isStain = Math.hypot(x - SIZE / 2, (y - SIZE / 2) * 1.4) < SIZE / 3;
      rows.set(isStain ? [139, 101, 60] : [240, 240, 236], y * (SIZE * 3 + 1) + 1 + x * 3);
    }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(SIZE, 0);
  head.writeUInt32BE(SIZE, 4);
  // Eight bits for each of three colours.
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([signature, part('IHDR', head), part('IDAT', deflateSync(rows)), part('IEND')]);
}

function part(type, data = Buffer.alloc(0)) {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

/** Two seconds of a tone that comes and goes, as WAV. */
export function message() {
  const bytes = SAMPLES_A_SECOND * SECONDS * 2;
  const file = Buffer.alloc(44 + bytes);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(36 + bytes, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  // PCM, one channel of 16 bits.
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(SAMPLES_A_SECOND, 24);
  file.writeUInt32LE(SAMPLES_A_SECOND * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(bytes, 40);
  for (let i = 0; i < bytes / 2; i++) {
    const seconds = i / SAMPLES_A_SECOND;
    const loudness = Math.sin(Math.PI * 3 * seconds) ** 2 * 6_000;
    file.writeInt16LE(Math.round(loudness * Math.sin(2 * Math.PI * 220 * seconds)), 44 + i * 2);
  }
  return file;
}
