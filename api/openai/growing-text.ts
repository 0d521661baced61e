/** What a client has of a text that grows while a run goes on. Nothing that was sent can be taken back. */
import { isRecord } from '../../contracts/is-record.ts';
import { PARTIAL } from '../../contracts/partial-output.ts';

export class GrowingText {
  #sent = '';
  /** Pieces were lost, or the output began anew: the rest follows at the end. */
  #isBroken = false;

  /** The new text in the blocks of a feed (`api/streams/partial-feeds.ts`). */
  take(blocks: readonly string[]): string[] {
    return blocks.flatMap((block) => {
      const piece = pieceOf(block);
      if (piece === null || this.#isBroken) return [];
      if (piece.offset !== this.#sent.length) {
        this.#isBroken = true;
        return [];
      }
      this.#sent += piece.text;
      return [piece.text];
    });
  }

  /** What is missing of the whole text. If that is another text than the one that grew, all of it. */
  rest(whole: string): string {
    if (whole.startsWith(this.#sent)) return whole.slice(this.#sent.length);
    return `\n\n${whole}`;
  }
}

/** The output of a call; null for other blocks. */
function pieceOf(block: string): { offset: number; text: string } | null {
  const data = /^data: (.*)$/m.exec(block)?.[1];
  const value: unknown = data === undefined ? null : JSON.parse(data);
  if (!isRecord(value) || value['type'] !== PARTIAL.output) return null;
  const { offset, text } = value;
  return typeof offset === 'number' && typeof text === 'string' && text !== '' ? { offset, text } : null;
}
