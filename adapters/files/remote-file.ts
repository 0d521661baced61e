/** Fetches a file from a URL that a user named: GET under the egress policy, streamed. */
import { createHash } from 'node:crypto';
import { fault } from '../../contracts/fault.ts';
import type { FileRequest, RemoteFile } from '../../domain/ports.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { fileNameOf } from './file-answer.ts';
import { limitSilence } from '../egress/limit-silence.ts';

const IDLE_MS = 30_000;

export async function openRemoteFile(
  egress: EgressPolicy,
  { url, timeoutMs, signal, maxBytes }: FileRequest & { maxBytes: number },
): Promise<RemoteFile> {
  const silence = new AbortController();
  // Closes the connection when its response is refused.
  const refuse = (error: Error): Error => {
    silence.abort(error);
    return error;
  };
  const answer = await egress.stream({
    url,
    method: 'GET',
    headers: { accept: '*/*', 'user-agent': 'Cadenza' },
    timeoutMs,
    signal: AbortSignal.any([signal, silence.signal]),
  });
  const { host } = new URL(answer.url);
  const { status, headers } = answer;
  if (status !== 200)
    throw refuse(
      fault('communication', `${host} answered ${status} instead of the file`, {
        status: status < 400 ? 502 : status,
      }),
    );
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding !== 'identity')
    throw refuse(
      fault(
        'communication',
        `${host} sent the file in ${coding.slice(0, 40)} coding, although none was asked for`,
        { status: 502 },
      ),
    );
  if (Number(headers['content-length'] ?? 0) > maxBytes)
    throw refuse(
      fault('communication', `The file at ${host} is larger than ${maxBytes} bytes`, { status: 413 }),
    );
  const chunks = checked(
    limitSilence(answer.chunks, silence, IDLE_MS),
    headers['content-digest'] ?? headers['repr-digest'] ?? '',
    host,
  );
  return {
    media_type: headers['content-type'] ?? null,
    name: fileNameOf(answer),
    chunks,
    close: () => silence.abort(new Error('the reader closed the file')),
  };
}

/**
 * Checks `Content-Digest` or `Repr-Digest` (RFC 9530) with the strongest algorithm given; unknown algorithms
 * are ignored.
 */
async function* checked(
  chunks: AsyncIterable<Uint8Array>,
  digest: string,
  host: string,
): AsyncGenerator<Uint8Array> {
  const [algorithm, expected] = ['sha512', 'sha256'].flatMap((name) => {
    const found = new RegExp(`${name.replace('sha', 'sha-')}=:([A-Za-z0-9+/=]+):`, 'i').exec(digest)?.[1];
    return found === undefined ? [] : [name, found];
  });
  const hash = algorithm === undefined ? null : createHash(algorithm);
  for await (const chunk of chunks) {
    hash?.update(chunk);
    yield chunk;
  }
  if (hash && hash.digest('base64') !== expected)
    throw fault(
      'communication',
      `The file at ${host} does not match the checksum that the server sent with it`,
      { status: 502 },
    );
}
