/** Prints what calls produce while they run, between the lines of the log. */
import type { PartialOutput } from '../../client/index.ts';
import type { Output } from './output.ts';
import { lastPart, oneLine } from './text.ts';

export class LiveText {
  readonly #out: Output;
  /** How much of each call's output has come. */
  readonly #ends = new Map<string, number>();
  /** The call whose text the last line shows. */
  #open: string | null = null;

  constructor(out: Output) {
    this.#out = out;
  }

  async print(partial: PartialOutput): Promise<void> {
    if (!this.#out.hasLines) return this.#out.event(partial, () => '');
    const { task, visit, attempt, offset, text } = partial;
    const name = `${oneLine(lastPart(task))}: `;
    if (offset === null) {
      this.endLine();
      return this.#out.event(partial, () => this.#out.paint('dim', `${name}${oneLine(text)}`));
    }
    const call = `${task} ${visit} ${attempt}`;
    const isNext = offset === (this.#ends.get(call) ?? 0);
    if (this.#open !== call || !isNext) {
      this.endLine();
      this.#out.raw(name);
    }
    this.#out.raw(isNext || offset === 0 ? text : `…${text}`);
    this.#open = call;
    this.#ends.set(call, offset + text.length);
  }

  /** Before anything else is printed. */
  endLine(): void {
    if (this.#open !== null) this.#out.raw('\n');
    this.#open = null;
  }
}
