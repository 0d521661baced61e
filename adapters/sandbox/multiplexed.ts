/**
 * The output of a container, as the engine's API frames it: eight bytes (stream, three zeros, length) before
 * each part.
 */

const HEADER_BYTES = 8;

export interface Collected {
  stdout: string;
  stderr: string;
  cut: Stream[];
}

export interface Collecting {
  /** What is kept of each stream. */
  maxBytes: number;
  /** Asked after a stream was cut: whether the rest is not needed. */
  isEnough: (cut: readonly Stream[]) => boolean;
  /** Gets all as it comes. */
  onOutput?: ((stream: Stream, bytes: Uint8Array) => void) | undefined;
}

type Stream = 'stdout' | 'stderr';

/**
 * Collects the output of a container. @throws what the body throws, unless `isLate()` and a stream was cut
 * before: the output is longer than the engine could send in time, and counts as cut
 */
export async function collectOutput(
  body: AsyncIterable<Uint8Array>,
  { maxBytes, isEnough, onOutput }: Collecting,
  isLate: () => boolean = () => false,
): Promise<Collected> {
  const kept: Record<Stream, Uint8Array[]> = { stdout: [], stderr: [] };
  const bytes = { stdout: 0, stderr: 0 };
  const cut: Stream[] = [];
  try {
    for await (const { stream, part } of partsOf(body)) {
      onOutput?.(stream, part);
      const fits = part.subarray(0, maxBytes - bytes[stream]);
      // A copy: the part belongs to a buffer of the connection.
      if (fits.length > 0) kept[stream].push(Buffer.from(fits));
      bytes[stream] += fits.length;
      if (fits.length === part.length || cut.includes(stream)) continue;
      cut.push(stream);
      if (isEnough(cut)) break;
    }
  } catch (error) {
    if (cut.length === 0 || !isLate()) throw error;
    cut.splice(0, cut.length, 'stdout', 'stderr');
  }
  return { ...texts(kept, cut), cut };
}

async function* partsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<{ stream: Stream; part: Buffer }> {
  let header = Buffer.alloc(0);
  let stream: Stream = 'stdout';
  let left = 0;
  for await (const chunk of body) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    while (rest.length > 0) {
      if (left === 0) {
        const needed = HEADER_BYTES - header.length;
        header = Buffer.concat([header, rest.subarray(0, needed)]);
        rest = rest.subarray(needed);
        if (header.length < HEADER_BYTES) break;
        stream = header[0] === 2 ? 'stderr' : 'stdout';
        left = header.readUInt32BE(4);
        header = Buffer.alloc(0);
        continue;
      }
      const part = rest.subarray(0, left);
      rest = rest.subarray(part.length);
      left -= part.length;
      yield { stream, part };
    }
  }
}

function texts(kept: Record<Stream, Uint8Array[]>, cut: readonly Stream[]): Record<Stream, string> {
  // The last character of a cut text may lack bytes; it is left out.
  const text = (stream: Stream): string =>
    new TextDecoder().decode(Buffer.concat(kept[stream]), { stream: cut.includes(stream) });
  return { stdout: text('stdout'), stderr: text('stderr') };
}
