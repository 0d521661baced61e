/**
 * A local server with OpenAI's `/audio/transcriptions` and `/audio/speech`. It reads the sound that it gets,
 * and says in its transcript what it has found.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { keepIdle } from './http-server.ts';

export const SAMPLE_RATE = 100;
/** Browsers play it. */
const SPEECH_RATE = 8_000;

interface AudioRequest {
  path: string;
  headers: IncomingHttpHeaders;
  /** Of a form, without its file; of JSON, all. */
  fields: Record<string, unknown>;
  file: { name: string; type: string; bytes: Buffer } | null;
}

export interface AudioServer {
  url: string;
  seen: AudioRequest[];
  /** Requests whose connection was closed before their answer. */
  left(): number;
  /** From the nth request on, from 1, answers wait until `release`. */
  holdFrom(request: number): void;
  release(): void;
  /** Answers so instead, until null. */
  answers(answer: ((response: ServerResponse) => void) | null): void;
  close(): Promise<void>;
}

export async function startAudioServer(): Promise<AudioServer> {
  const seen: AudioRequest[] = [];
  const held = new Set<() => void>();
  let holdFrom = Infinity;
  let left = 0;
  let instead: ((response: ServerResponse) => void) | null = null;
  const server = createServer(keepIdle, async (raw, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of raw) chunks.push(chunk);
    const request = await requestOf(raw.url ?? '', raw.headers, Buffer.concat(chunks));
    seen.push(request);
    response.on('close', () => {
      if (!response.writableFinished) left += 1;
    });
    if (seen.length >= holdFrom) await new Promise<void>((resolve) => held.add(resolve));
    if (instead !== null) return instead(response);
    if (request.path.endsWith('/speech')) return sendSpeech(request, response);
    const { response_format: format } = request.fields;
    const transcript = transcriptOf(request);
    response.writeHead(200, { 'content-type': format === 'text' ? 'text/plain' : 'application/json' });
    response.end(format === 'text' ? transcript.text : JSON.stringify(transcript));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    seen,
    left: () => left,
    holdFrom: (request) => (holdFrom = request),
    release() {
      holdFrom = Infinity;
      for (const go of held) go();
      held.clear();
    },
    answers: (answer) => (instead = answer),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function requestOf(path: string, headers: IncomingHttpHeaders, body: Buffer): Promise<AudioRequest> {
  const type = headers['content-type'] ?? '';
  if (!type.startsWith('multipart/'))
    return { path, headers, fields: JSON.parse(body.toString()) as Record<string, unknown>, file: null };
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  const file = form.get('file');
  if (!(file instanceof Blob)) throw new Error('the form has no file');
  return {
    path,
    headers,
    fields: Object.fromEntries([...form].filter(([name]) => name !== 'file')),
    file: { name: file.name, type: file.type, bytes: Buffer.from(await file.arrayBuffer()) },
  };
}

/** `first-last` of the sound's marks, with two segments. */
function transcriptOf({ file, fields }: AudioRequest) {
  const { bytes, name } = file ?? { bytes: Buffer.alloc(0), name: '' };
  const marks = name.endsWith('.wav')
    ? wavMarks(bytes)
    : name.endsWith('.mp3')
      ? mp3Marks(bytes)
      : [bytes.length];
  const text = `${marks[0]}-${marks.at(-1)}`;
  if (fields['response_format'] !== 'verbose_json')
    return { text, usage: { type: 'tokens', input_tokens: 10, output_tokens: 3, total_tokens: 13 } };
  const segments = [
    { id: 0, start: 0, end: 1.5, text: ` ${marks[0]}`, tokens: [1] },
    { id: 1, start: 1.5, end: 3, text: ` ${marks.at(-1)}`, tokens: [2] },
  ];
  return { text, language: 'english', duration: 3, segments, usage: { type: 'duration', seconds: 3 } };
}

/** The samples, and an error for a header that does not fit them. */
function wavMarks(bytes: Buffer): number[] {
  const size = bytes.readUInt32LE(40);
  if (bytes.readUInt32LE(4) !== bytes.length - 8 || size !== bytes.length - 44)
    throw new Error('not this long');
  return Array.from({ length: size / 2 }, (_, index) => bytes.readInt16LE(44 + index * 2));
}

function mp3Marks(bytes: Buffer): number[] {
  if (bytes.length % MP3_FRAME_BYTES !== 0) throw new Error('a frame is cut');
  return Array.from({ length: bytes.length / MP3_FRAME_BYTES }, (_, index) =>
    bytes.readUInt32BE(index * MP3_FRAME_BYTES + 4),
  );
}

/** 16 bit, mono, each sample its own number. `announced`: what the header says of its size. */
export function wavOf(
  from: number,
  samples: number,
  announced = samples * 2,
  sampleRate = SAMPLE_RATE,
): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(Math.min(0xffff_ffff, announced + 36), 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(sampleRate, 24);
  head.writeUInt32LE(sampleRate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(announced, 40);
  const body = Buffer.alloc(samples * 2);
  for (let index = 0; index < samples; index++) body.writeInt16LE((from + index) % 32_768, index * 2);
  return Buffer.concat([head, body]);
}

/** Of MPEG-1 layer III with 128 kbit/s and 44.1 kHz; a frame lasts 26.122 ms. */
const MP3_FRAME_BYTES = 417;

export function mp3Of(from: number, frames: number): Buffer {
  return Buffer.concat(
    Array.from({ length: frames }, (_, index) => {
      const frame = Buffer.alloc(MP3_FRAME_BYTES);
      frame.set([0xff, 0xfb, 0x90, 0x00]);
      frame.writeUInt32BE(from + index, 4);
      return frame;
    }),
  );
}

/** A tag before, the frame that encoders put first, and a tag after the frames. */
export function taggedMp3(frames: Buffer): Buffer {
  const tag = Buffer.from([
    0x49,
    0x44,
    0x33,
    4,
    0,
    0,
    0,
    0,
    0,
    20,
    ...Array.from({ length: 20 }, () => 0xff),
  ]);
  const header = mp3Of(0, 1);
  header.write('Info', 36, 'latin1');
  const end = Buffer.alloc(128);
  end.write('TAG', 0, 'latin1');
  return Buffer.concat([tag, header, frames, end]);
}

function sendSpeech({ fields }: AudioRequest, response: ServerResponse): void {
  const { input, response_format: format } = fields;
  const length = typeof input === 'string' ? input.length : 0;
  const types: Record<string, string> = { wav: 'audio/wav', pcm: 'audio/pcm', opus: 'audio/ogg' };
  response.writeHead(200, { 'content-type': types[String(format)] ?? 'audio/mpeg' });
  // A server that streams does not know the size when it writes the header.
  if (format === 'wav') response.end(wavOf(length, length, 0xffff_ffff, SPEECH_RATE));
  else if (format === 'pcm') response.end(wavOf(length, length).subarray(44));
  else if (format === 'opus') response.end('OggS');
  else response.end(taggedMp3(mp3Of(length, 3)));
}
