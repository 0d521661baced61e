/**
 * Search for a text in another one. The time of the host's search grows with the product of both lengths if
 * the text that is looked for is long, so a linear one replaces it there (Knuth, Morris and Pratt).
 */
import { SHIFT, tickSize } from '../runtime.ts';

/** The host searches for longer texts by the end of them only. */
const MAX_HOST_LENGTH = 200;

/** Finds the occurrences of `what` from left to right. */
export class TextSearch {
  private readonly text: string;
  private readonly what: string;
  /** For each prefix of `what`, how long its longest proper prefix is that ends it too. */
  private readonly borders: Int32Array | null;

  constructor(text: string, what: string) {
    tickSize(text.length, SHIFT.scan);
    tickSize(what.length, SHIFT.copy);
    this.text = text;
    this.what = what;
    this.borders = what.length > MAX_HOST_LENGTH ? bordersOf(what) : null;
  }

  /** Where `what` occurs first, at or behind `from`; -1 if nowhere. */
  next(from: number): number {
    const { text, what, borders } = this;
    if (borders === null) return text.indexOf(what, from);
    tickSize(what.length, SHIFT.scan);
    let matched = 0;
    for (let i = from; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      while (matched > 0 && unit !== what.charCodeAt(matched)) matched = borders[matched - 1] ?? 0;
      if (unit === what.charCodeAt(matched)) matched++;
      if (matched === what.length) return i - matched + 1;
    }
    return -1;
  }
}

function bordersOf(what: string): Int32Array {
  const borders = new Int32Array(what.length);
  let border = 0;
  for (let i = 1; i < what.length; i++) {
    const unit = what.charCodeAt(i);
    while (border > 0 && unit !== what.charCodeAt(border)) border = borders[border - 1] ?? 0;
    if (unit === what.charCodeAt(border)) border++;
    borders[i] = border;
  }
  return borders;
}

export function includesText(text: string, what: string): boolean {
  return new TextSearch(text, what).next(0) >= 0;
}

/** The parts of a text between separators that are not empty, at most `max`. */
export function splitText(text: string, separator: string, max: number): string[] {
  const search = new TextSearch(text, separator);
  if (separator.length <= MAX_HOST_LENGTH) return text.split(separator, max);
  const parts: string[] = [];
  let from = 0;
  for (let at = search.next(0); at >= 0 && parts.length < max; at = search.next(from)) {
    parts.push(text.slice(from, at));
    from = at + separator.length;
  }
  if (parts.length < max) parts.push(text.slice(from));
  return parts;
}
