/** Reads a pattern character by character. */
import { codePoints } from '../values/text.ts';
import { RegexError } from './error.ts';

const MAX_PATTERN_LENGTH = 10_000;

export class PatternReader {
  readonly points: number[];
  at = 0;

  constructor(pattern: string) {
    if (pattern.length > MAX_PATTERN_LENGTH) throw new RegexError('too long pattern');
    this.points = codePoints(pattern);
  }

  get done(): boolean {
    return this.at >= this.points.length;
  }

  peek(offset = 0): string {
    const point = this.points[this.at + offset];
    return point === undefined ? '' : String.fromCodePoint(point);
  }

  take(): string {
    const char = this.peek();
    this.at++;
    return char;
  }

  accept(text: string): boolean {
    for (let i = 0; i < text.length; i++) if (this.peek(i) !== text[i]) return false;
    this.at += text.length;
    return true;
  }

  /**
   * Reads the text up to and including `end`; null if `end` is missing, or not within `most` characters:
   * where the text is read otherwise then, each of many openings would look through all that follows.
   */
  until(end: string, most = MAX_PATTERN_LENGTH): string | null {
    let text = '';
    const last = Math.min(this.points.length, this.at + most + 1);
    for (let i = this.at; i < last; i++) {
      const char = String.fromCodePoint(this.points[i] ?? 0);
      if (char === end) {
        this.at = i + 1;
        return text;
      }
      text += char;
    }
    return null;
  }
}
