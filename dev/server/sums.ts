/** SHA-256 of what passes by, and of files. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { Transform } from 'node:stream';

/** Hands everything on after a look at it. */
export function passing(look: (chunk: Buffer) => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      look(chunk);
      done(null, chunk);
    },
  });
}

interface Hashing {
  stream: Transform;
  /** In hexadecimal, once all has passed. */
  sha256(): string;
}

export function hashing(): Hashing {
  const hash = createHash('sha256');
  return { stream: passing((chunk) => void hash.update(chunk)), sha256: () => hash.digest('hex') };
}

export interface Sum {
  sha256: string;
  bytes: number;
}

/**
 * Reads a file to its end.
 * @param toDisk makes sure that it is on the disk, and not only in the memory of the operating system
 */
export async function sumOf(path: string, { toDisk = false } = {}): Promise<Sum> {
  const file = await open(path, toDisk ? 'r+' : 'r');
  try {
    if (toDisk) await file.datasync();
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      bytes += chunk.length;
    }
    return { sha256: hash.digest('hex'), bytes };
  } finally {
    await file.close();
  }
}
