import { promisify } from 'node:util';
import { pipeline, type Readable, type Transform } from 'node:stream';
import {
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzip,
  inflate,
} from 'node:zlib';
import { fault } from '../../contracts/fault.ts';
import { reserveAnswer, SMALL_ANSWER_BYTES } from './answer-memory.ts';
import { codeOf } from './error-code.ts';

const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const;

const streams: Record<keyof typeof decoders, () => Transform> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Servers use at most this many encodings; more would only multiply a decompression bomb. */
const MAX_CODINGS = 2;

/**
 * Reads and decodes a body; neither the encoded nor the decoded form may exceed `maxBytes`. A large body
 * first waits for its share of the worker's memory. Throws `Fault` (communication) if it is too large or
 * cannot be decoded.
 */
export async function readBody(
  body: Readable,
  answer: {
    method: string;
    headers: Record<string, string>;
    maxBytes: number;
    signal: AbortSignal;
  },
): Promise<Uint8Array> {
  const tooLarge = () =>
    fault('communication', `The answer is larger than ${answer.maxBytes} bytes`, { status: 502 });
  if (Number(answer.headers['content-length'] ?? 0) > answer.maxBytes && answer.method !== 'HEAD') {
    abandonBody(body);
    throw tooLarge();
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop destroys the stream and with it the connection.
    if (size > answer.maxBytes) throw tooLarge();
    if (size > SMALL_ANSWER_BYTES && size - chunk.length <= SMALL_ANSWER_BYTES)
      await reserveAnswer(expectedBytes(answer), answer.signal);
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

/** The announced length; `maxBytes` for compressed bodies and unknown lengths. */
function expectedBytes({ headers, maxBytes }: { headers: Record<string, string>; maxBytes: number }): number {
  const announced = Number(headers['content-length'] ?? Number.NaN);
  return Number.isInteger(announced) && codingsOf(headers).length === 0 ? announced : maxBytes;
}

/** Decodes the body as it arrives, whatever its size. Reading throws `Fault` if it cannot be decoded. */
export async function* decodedBody(
  body: Readable,
  headers: Record<string, string>,
): AsyncGenerator<Uint8Array> {
  let firstError: unknown = null;
  const noteError = (error: unknown): void => void (firstError ??= error);
  body.once('error', noteError);
  const stream = codingsOf(headers).reduce<Readable>(
    (source, coding) => pipeline(source, streams[coding](), noteError),
    body,
  );
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    // The stream that is read may only know that it was closed; the first error says why.
    const cause = firstError ?? error;
    throw isDecoderError(cause)
      ? fault('communication', 'The answer cannot be decoded', { status: 502, cause })
      : cause;
  }
}

/** zlib's own errors have codes of `Z_`, those of brotli `ERR__ERROR_`. */
function isDecoderError(error: unknown): boolean {
  return /^(Z_|ERR__ERROR)/.test(codeOf(error));
}

/** Passes chunks on, with its errors translated. */
export async function* passOn(
  chunks: AsyncIterable<Uint8Array>,
  failureOf: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of chunks) yield chunk;
  } catch (error) {
    throw failureOf(error);
  }
}

/** Closes the connection of a body that nobody reads; the error of doing so has no listener otherwise. */
export function abandonBody(body: Readable): void {
  body.on('error', () => undefined).destroy();
}

/** In the order in which they have to be decoded. */
function codingsOf(headers: Record<string, string>): (keyof typeof decoders)[] {
  const codings = (headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim());
  const applied = codings.filter((coding) => coding !== '' && coding !== 'identity').reverse();
  if (applied.length > MAX_CODINGS)
    throw fault('communication', 'The answer is encoded too many times', { status: 502 });
  return applied.map((coding) => {
    if (!isCoding(coding))
      throw fault(
        'communication',
        `The answer has an unknown content encoding${coding.length > 40 ? '' : `: ${coding}`}`,
        { status: 502 },
      );
    return coding;
  });
}

function isCoding(coding: string): coding is keyof typeof decoders {
  return Object.hasOwn(decoders, coding);
}
