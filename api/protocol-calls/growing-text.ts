/** What a client has of a text that grows while a run goes on. Nothing that was sent can be taken back. */
import { isRecord } from '../../contracts/is-record.ts';
import { PARTIAL } from '../../contracts/partial-output.ts';

/** A piece of the output of a call. */
export interface Piece {
  /** JSON pointer. */
  task: string;
  visit: number;
  attempt: number;
  offset: number;
  text: string;
}

/** What is between two texts of one answer, such as those of two turns of a model. */
const BETWEEN = '\n\n';

export class GrowingText {
  /** Of the call that writes now. */
  #sent = '';
  #call = '';
  /** Pieces were lost, or the output began anew: the rest follows at the end. */
  #isBroken = false;
  #isBegun = false;

  /** What to send of a piece; empty if it does not continue what was sent. */
  add({ task, visit, attempt, offset, text }: Piece): string {
    const call = JSON.stringify([task, visit, attempt]);
    let before = '';
    if (call !== this.#call && offset === 0) {
      this.#call = call;
      this.#sent = '';
      this.#isBroken = false;
      before = this.#isBegun ? BETWEEN : '';
    }
    this.#isBroken ||= call !== this.#call || offset !== this.#sent.length;
    if (this.#isBroken) return '';
    this.#isBegun = true;
    this.#sent += text;
    return before + text;
  }

  /** What is missing of the whole text. If that is another text than the one that grew, all of it. */
  rest(whole: string): string {
    if (whole.startsWith(this.#sent)) return whole.slice(this.#sent.length);
    return `${BETWEEN}${whole}`;
  }
}

/** The pieces in blocks of a feed (`api/streams/partial-feeds.ts`). */
export function piecesOf(blocks: readonly string[]): Piece[] {
  return blocks.flatMap((block) => {
    const data = /^data: (.*)$/m.exec(block)?.[1];
    const value: unknown = data === undefined ? null : JSON.parse(data);
    if (!isRecord(value) || value['type'] !== PARTIAL.output) return [];
    const { task, visit, attempt, offset, text } = value;
    return typeof task === 'string' &&
      typeof visit === 'number' &&
      typeof attempt === 'number' &&
      typeof offset === 'number' &&
      typeof text === 'string' &&
      text !== ''
      ? [{ task, visit, attempt, offset, text }]
      : [];
  });
}
