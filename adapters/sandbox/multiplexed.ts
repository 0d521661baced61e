/**
 * The output of a container, as the engine's API frames it: eight bytes (stream, three zeros, length) before
 * each part.
 */

const HEADER_BYTES = 8;

export interface Collected {
  stdout: string;
  stderr: string;
  cut: ('stdout' | 'stderr')[];
}

/**
 * Keeps the first `maxBytes` of each stream, and passes on all as it comes. Ends early if `isEnough` says so
 * after a stream was cut.
 */
export async function collectOutput(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  isEnough: (cut: readonly ('stdout' | 'stderr')[]) => boolean,
  onOutput: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void = () => {},
): Promise<Collected> {
  const kept = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  const bytes = { stdout: 0, stderr: 0 };
  const cut: ('stdout' | 'stderr')[] = [];
  let header = Buffer.alloc(0);
  let stream: 'stdout' | 'stderr' = 'stdout';
  let left = 0;
  for await (const chunk of body) {
    let rest = Buffer.from(chunk);
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
      onOutput(stream, part);
      const fits = part.subarray(0, maxBytes - bytes[stream]);
      // A copy: the part belongs to a buffer of the connection.
      if (fits.length > 0) kept[stream].push(Buffer.from(fits));
      bytes[stream] += fits.length;
      if (fits.length < part.length && !cut.includes(stream)) {
        cut.push(stream);
        if (isEnough(cut)) return { ...texts(kept, cut), cut };
      }
    }
  }
  return { ...texts(kept, cut), cut };
}

function texts(
  kept: Record<'stdout' | 'stderr', Uint8Array[]>,
  cut: readonly string[],
): Record<'stdout' | 'stderr', string> {
  // The last character of a cut text may lack bytes; it is left out.
  const text = (stream: 'stdout' | 'stderr'): string =>
    new TextDecoder().decode(Buffer.concat(kept[stream]), { stream: cut.includes(stream) });
  return { stdout: text('stdout'), stderr: text('stderr') };
}
