/** Parts of speech as one file, without what each part says of its own length. */
import { fault } from '../../contracts/fault.ts';
import type { CallFiles, FileReference } from '../../domain/ports.ts';
import type { StreamBody } from '../egress/egress.ts';
import { openReference, type StoredReference } from '../files/file-references.ts';
import { mp3Frames } from './mp3.ts';
import { sliceOf, type StoredFile } from './recordings.ts';
import { MAX_WAV_HEAD_BYTES, readWav, wavHead, type Wav } from './wav.ts';

/** Throws `Fault` (communication) if the parts do not fit together. */
export async function joinSpeech(
  parts: readonly StoredReference[],
  format: string,
  file: { name: string; media_type: string },
  files: CallFiles,
): Promise<FileReference> {
  const opened: StoredFile[] = [];
  for (const part of parts) opened.push(await openReference(part, files));
  const sound =
    format === 'wav'
      ? await wavSound(opened)
      : format === 'mp3'
        ? await mp3Sound(opened)
        : opened.map(wholeOf);
  return files.store(joined(sound), file);
}

type Sound = Buffer | StreamBody;

function wholeOf(file: StoredFile): Sound {
  return sliceOf(file, 0, file.size);
}

async function wavSound(files: readonly StoredFile[]): Promise<Sound[]> {
  const sounds: Wav[] = [];
  for (const file of files) {
    const wav = readWav(await headOf(file), file.size);
    if (wav === null) throw misfit(`${file.name} is no WAV file`);
    sounds.push(wav);
  }
  const [first] = sounds;
  if (first === undefined || !sounds.every(({ format }) => format.equals(first.format)))
    throw misfit('The parts of the speech have different sample rates');
  const bytes = sounds.reduce((sum, { start, end }) => sum + end - start, 0);
  return [
    wavHead(first.format, bytes),
    ...files.map((file, index) => sliceOf(file, sounds[index]?.start ?? 0, sounds[index]?.end ?? 0)),
  ];
}

async function mp3Sound(files: readonly StoredFile[]): Promise<Sound[]> {
  const sounds: Sound[] = [];
  const kinds = new Set<string>();
  for (const file of files) {
    let start: number | null = null;
    let end = 0;
    for await (const frame of mp3Frames(await file.chunks())) {
      start ??= frame.start;
      end = Math.min(file.size, frame.start + frame.bytes);
      kinds.add(frame.kind);
    }
    if (start === null) throw misfit(`${file.name} is no MP3 file`);
    sounds.push(sliceOf(file, start, end));
  }
  if (kinds.size > 1)
    throw misfit(`The parts of the speech do not fit together: ${[...kinds].slice(0, 4).join(', ')}`);
  return sounds;
}

async function headOf(file: StoredFile): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of await file.chunks()) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_WAV_HEAD_BYTES) break;
  }
  return Buffer.concat(chunks);
}

async function* joined(sounds: readonly Sound[]): AsyncGenerator<Uint8Array> {
  for (const sound of sounds) {
    if (Buffer.isBuffer(sound)) yield sound;
    else yield* await sound.open();
  }
}

function misfit(detail: string): Error {
  return fault('communication', detail, { status: 502 });
}
