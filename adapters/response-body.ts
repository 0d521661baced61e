import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Readable } from 'node:stream';
import { fault } from '../contracts/fault.ts';
import { codeOf } from './error-code.ts';

const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const;

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

  const codings = (answer.headers['content-encoding'] ?? '').toLowerCase().split(',').map((coding) => coding.trim());
  const applied = codings.filter((coding) => coding !== '' && coding !== 'identity').reverse();
  if (applied.length > MAX_CODINGS) throw fault('communication', 'The answer is encoded too many times', { status: 502 });
  for (const coding of applied) {
    if (!isCoding(coding)) throw fault('communication', `The answer has the unknown content encoding ${coding.slice(0, 40)}`, { status: 502 });
    try {
      bytes = await decoders[coding](bytes, { maxOutputLength: answer.maxBytes });
    } catch (error) {
      if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
      throw fault('communication', `The answer is not valid ${coding} data`, { status: 502, cause: error });
    }
  }
  return bytes;
}

function isCoding(coding: string): coding is keyof typeof decoders {
  return Object.hasOwn(decoders, coding);
}
