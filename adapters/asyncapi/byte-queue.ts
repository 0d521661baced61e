import { fault } from '../../contracts/fault.ts';

/** So many pieces become one, lest bytes that come one by one take a hundred times their size. */
const MAX_LOOSE = 1_024;

/** Bytes as they arrive, taken in pieces of the reader's choice. Each byte is copied at most twice. */
export class ByteQueue {
  #chunks: Buffer[] = [];
  /** The last chunks, which are as they came. */
  #loose = 0;
  #length = 0;
  /** So many of the first chunks have no line feed. */
  #searched = 0;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (++this.#loose < MAX_LOOSE) return;
    this.#chunks.push(Buffer.concat(this.#chunks.splice(-this.#loose)));
    this.#searched = Math.min(this.#searched, this.#chunks.length - 1);
    this.#loose = 0;
  }

  /** Exactly so many bytes; null until they are there. */
  take(count: number): Buffer | null {
    if (this.#length < count) return null;
    if (count === 0) return Buffer.alloc(0);
    this.#searched = 0;
    this.#length -= count;
    const taken: Buffer[] = [];
    let missing = count;
    let index = 0;
    for (; missing > 0; index++) {
      const chunk = this.#chunks[index];
      if (chunk === undefined) throw new Error('fewer bytes than counted');
      if (chunk.length > missing) {
        taken.push(chunk.subarray(0, missing));
        this.#chunks[index] = chunk.subarray(missing);
        break;
      }
      taken.push(chunk);
      missing -= chunk.length;
    }
    if (index > 0) this.#chunks = this.#chunks.slice(index);
    this.#loose = Math.min(this.#loose, this.#chunks.length);
    return taken.length === 1 && taken[0] !== undefined ? taken[0] : Buffer.concat(taken, count);
  }

  /** The text before the next line feed, which is taken too; null until it is there. Throws `Fault`. */
  takeLine(maxBytes: number): string | null {
    let before = 0;
    for (const [index, chunk] of this.#chunks.entries()) {
      const at = index < this.#searched ? -1 : chunk.indexOf(0x0a);
      if (at >= 0) {
        if (before + at > maxBytes) break;
        return (
          this.take(before + at + 1)
            ?.toString()
            .trimEnd() ?? null
        );
      }
      before += chunk.length;
    }
    if (before > maxBytes)
      throw fault('communication', `The broker sent a line of more than ${maxBytes} bytes`, { status: 502 });
    this.#searched = this.#chunks.length;
    return null;
  }
}
