import { promisify } from 'node:util';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { brotliDecompress, createBrotliDecompress, createGunzip, createInflate, gunzip, inflate } from 'node:zlib';
import { fault } from '../contracts/fault.ts';
import { codeOf } from './error-code.ts';

const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const;

const streams: Record<keyof typeof decoders, () => Transform> = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress };

/** More codings than any server uses are there to multiply a bomb. */
const MAX_CODINGS = 2;

/**
 * Reads and decodes a body; neither its encoded nor its decoded form may be larger than `maxBytes`.
 * Throws `Fault` (communication) when it is, or cannot be decoded.
 */
export async function readBody(
  body: Readable,
  answer: { method: string; statusCode: number; headers: Record<string, string>; maxBytes: number },
): Promise<Uint8Array> {
  const tooLarge = () => fault('communication', `The answer is larger than ${answer.maxBytes} bytes`, { status: 502 });
  if (Number(answer.headers['content-length'] ?? 0) > answer.maxBytes && answer.method !== 'HEAD') {
    body.on('error', () => undefined).destroy();
    throw tooLarge();
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop destroys the stream and with it the connection.
    if (size > answer.maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  let bytes: Buffer = Buffer.concat(chunks);
  if (bytes.length === 0) return bytes;

  for (const coding of codingsOf(answer.headers)) {
    try {
      bytes = await decoders[coding](bytes, { maxOutputLength: answer.maxBytes });
    } catch (error) {
      if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
      throw fault('communication', `The answer is not valid ${coding} data`, { status: 502, cause: error });
    }
  }
  return bytes;
}

/** The body decoded while it comes, of whatever size; reading it throws `Fault` where it cannot be decoded. */
export async function* decoded(body: Readable, headers: Record<string, string>): AsyncGenerator<Uint8Array> {
  let broken: unknown = null;
  const fail = (error: unknown): void => void (broken ??= error);
  body.once('error', fail);
  const stream = codingsOf(headers).reduce<Readable>((source, coding) => pipeline(source, streams[coding](), fail), body);
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    const cause = broken ?? error;
    throw codeOf(cause).startsWith('Z_') || codeOf(cause).startsWith('ERR__ERROR') ? fault('communication', 'The answer cannot be decoded', { status: 502, cause }) : cause;
  }
}

/** In the order in which they are to be undone. */
function codingsOf(headers: Record<string, string>): (keyof typeof decoders)[] {
  const codings = (headers['content-encoding'] ?? '').toLowerCase().split(',').map((coding) => coding.trim());
  const applied = codings.filter((coding) => coding !== '' && coding !== 'identity').reverse();
  if (applied.length > MAX_CODINGS) throw fault('communication', 'The answer is encoded too many times', { status: 502 });
  return applied.map((coding) => {
    if (!isCoding(coding)) throw fault('communication', `The answer has the unknown content encoding ${coding.slice(0, 40)}`, { status: 502 });
    return coding;
  });
}

function isCoding(coding: string): coding is keyof typeof decoders {
  return Object.hasOwn(decoders, coding);
}
