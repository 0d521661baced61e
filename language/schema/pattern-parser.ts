/**
 * Compiles regular expressions of JSON Schema (ECMA-262 with the flag u) to programs for a matcher that never
 * backtracks. The engine's own RegExp tests single characters, so classes and properties mean exactly the
 * same.
 */

export type LookKind = '(?=' | '(?!' | '(?<=' | '(?<!';
export type AnchorKind = '^' | '$' | '\\b' | '\\B';

export type Instruction =
  | { op: 'char'; test: (point: number) => boolean }
  | { op: 'split'; to: number[] }
  | { op: 'anchor'; kind: AnchorKind }
  | { op: 'look'; kind: LookKind; program: Instruction[] }
  | { op: 'match' };

/** A pattern feature that a linear-time matcher cannot support, or not cheaply. */
export class UnsupportedPattern extends Error {}

/** Counted repetitions are expanded, up to this number of instructions, with those of all look-arounds. */
const MAX_INSTRUCTIONS = 20_000;

type Code = (next: Instruction[]) => void;

/** Escapes longer than two characters. */
const LONG_ESCAPE = new RegExp(
  [
    String.raw`\\u[dD][89abAB][\dA-Fa-f]{2}\\u[dD][c-fC-F][\dA-Fa-f]{2}|`,
    String.raw`\\u\{[\dA-Fa-f]+\}|\\u[\dA-Fa-f]{4}|\\x[\dA-Fa-f]{2}|\\c[A-Za-z]|\\[pP]\{[^}]*\}`,
  ].join(''),
  'y',
);

/**
 * @returns the program, and how many instructions it has with those of its look-arounds
 * @throws UnsupportedPattern. The source must be valid for `new RegExp(source, 'u')`.
 */
export function parsePattern(source: string): { program: Instruction[]; size: number } {
  const parser = new PatternParser(source);
  const program = parser.all();
  program.push({ op: 'match' });
  return { program, size: parser.countWith(program) };
}

class PatternParser {
  readonly #source: string;
  #at = 0;
  #inLooks = 0;

  constructor(source: string) {
    this.#source = source;
  }

  all(): Instruction[] {
    const program: Instruction[] = [];
    this.#disjunction()(program);
    return program;
  }

  /** @throws UnsupportedPattern if they are too many, with those of the look-arounds until here */
  countWith(program: readonly Instruction[]): number {
    const count = this.#inLooks + program.length;
    if (count > MAX_INSTRUCTIONS) throw new UnsupportedPattern('it repeats too much');
    return count;
  }

  #disjunction(): Code {
    const alternatives = [this.#alternative()];
    while (this.#take('|')) alternatives.push(this.#alternative());
    const [only] = alternatives;
    if (alternatives.length === 1 && only) return only;
    return (out) => {
      const split: Instruction = { op: 'split', to: [] };
      emit(out, split);
      const ends = alternatives.map((alternative) => {
        split.to.push(out.length);
        alternative(out);
        const end: Instruction = { op: 'split', to: [] };
        emit(out, end);
        return end;
      });
      for (const end of ends) if (end.op === 'split') end.to.push(out.length);
    };
  }

  #alternative(): Code {
    const terms: Code[] = [];
    while (this.#at < this.#source.length && !this.#sees('|') && !this.#sees(')')) terms.push(this.#term());
    return (out) => terms.forEach((term) => term(out));
  }

  #term(): Code {
    for (const kind of ['^', '$', '\\b', '\\B'] as const)
      if (this.#take(kind)) return (out) => emit(out, { op: 'anchor', kind });
    for (const kind of ['(?=', '(?!', '(?<=', '(?<!'] as const) {
      if (!this.#take(kind)) continue;
      const program: Instruction[] = [];
      this.#disjunction()(program);
      program.push({ op: 'match' });
      this.#inLooks = this.countWith(program);
      this.#at++;
      return (out) => emit(out, { op: 'look', kind, program });
    }
    return this.#quantified(this.#atom());
  }

  #atom(): Code {
    if (this.#take('(')) {
      if (!this.#take('?:') && this.#take('?') && !this.#takeMatch(/<[^>]*>/y))
        throw new UnsupportedPattern('flags inside of a pattern are not available');
      const inner = this.#disjunction();
      this.#at++;
      return inner;
    }
    const source =
      this.#takeMatch(/\[(?:[^\]\\]|\\[^])*\]/y) ??
      this.#takeMatch(LONG_ESCAPE) ??
      this.#escape() ??
      this.#takeMatch(/[^]/uy) ??
      '';
    const test = characterTest(source);
    return (out) => emit(out, { op: 'char', test });
  }

  #escape(): string | null {
    const escape = this.#takeMatch(/\\[^]/uy);
    if (escape !== null && /[1-9k]/.test(escape))
      throw new UnsupportedPattern('references back to a group are not available');
    return escape;
  }

  #quantified(atom: Code): Code {
    const quantifier = this.#takeMatch(/[*+?]|\{\d+(?:,\d*)?\}/y);
    if (quantifier === null) return atom;
    this.#take('?');
    const [least, most] = bounds(quantifier);
    return (out) => {
      // An atom without instructions adds none, however often it is repeated.
      for (let i = 0, before = -1; i < least && out.length !== before; i++) {
        before = out.length;
        atom(out);
      }
      if (most === Number.POSITIVE_INFINITY) {
        const loop = out.length;
        const split: Instruction = { op: 'split', to: [loop + 1] };
        emit(out, split);
        atom(out);
        emit(out, { op: 'split', to: [loop] });
        split.to.push(out.length);
        return;
      }
      const splits: { op: 'split'; to: number[] }[] = [];
      for (let i = least; i < most; i++) {
        const split: Instruction & { op: 'split' } = { op: 'split', to: [out.length + 1] };
        splits.push(split);
        emit(out, split);
        atom(out);
      }
      for (const split of splits) split.to.push(out.length);
    };
  }

  #sees(text: string): boolean {
    return this.#source.startsWith(text, this.#at);
  }

  #take(text: string): boolean {
    const found = this.#sees(text);
    if (found) this.#at += text.length;
    return found;
  }

  #takeMatch(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source)?.[0] ?? null;
    this.#at += found?.length ?? 0;
    return found;
  }
}

function emit(out: Instruction[], instruction: Instruction): void {
  if (out.length >= MAX_INSTRUCTIONS) throw new UnsupportedPattern('it repeats too much');
  out.push(instruction);
}

function bounds(quantifier: string): [least: number, most: number] {
  if (quantifier === '*') return [0, Number.POSITIVE_INFINITY];
  if (quantifier === '+') return [1, Number.POSITIVE_INFINITY];
  if (quantifier === '?') return [0, 1];
  const [least = '', most] = quantifier.slice(1, -1).split(',');
  const from = Math.min(Number(least), MAX_INSTRUCTIONS + 1);
  if (most === undefined) return [from, from];
  return [from, most === '' ? Number.POSITIVE_INFINITY : Math.min(Number(most), from + MAX_INSTRUCTIONS + 1)];
}

/** Test of one character against a class, escape, dot or literal; results for ASCII are cached. */
function characterTest(source: string): (point: number) => boolean {
  const literal = [...source].length === 1 && source !== '.' ? (source.codePointAt(0) ?? 0) : null;
  if (literal !== null) return (point) => point === literal;
  const native = new RegExp(`^(?:${source})$`, 'u');
  const ascii = new Int8Array(128);
  return (point) => {
    if (point >= 128) return native.test(String.fromCodePoint(point));
    const known = ascii[point];
    if (known !== 0) return known === 1;
    const fits = native.test(String.fromCodePoint(point));
    ascii[point] = fits ? 1 : -1;
    return fits;
  };
}
