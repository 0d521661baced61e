/** Reads a pattern: Oniguruma's Perl syntax with named groups, as jq uses it. */
import { parseClass } from './parse-class.ts';
import { escapeSet, readEscape } from './parse-escape.ts';
import { fold, foldSet } from './classes.ts';
import { RegexError } from './error.ts';
import { PatternReader } from './reader.ts';
import type { ParsedRegex, RegexNode, RegexOptions } from './ast.ts';

type Flags = Pick<RegexOptions, 'ignoreCase' | 'extended' | 'dotAll' | 'singleLine'>;

const MAX_NESTING = 100;
const MAX_REPEAT = 100_000;
/** Characters: two numbers of six digits, and a comma. */
const MAX_INTERVAL = 13;

export function parseRegex(pattern: string, options: RegexOptions): ParsedRegex {
  return new RegexParser(pattern).parse(options);
}

class RegexParser {
  private readonly reader: PatternReader;
  private groupCount = 0;
  private readonly names = new Map<number, string>();
  /** References and calls by name, resolved when all the groups are known. */
  private readonly pending: (() => void)[] = [];
  private nesting = 0;

  constructor(pattern: string) {
    this.reader = new PatternReader(pattern);
  }

  parse(options: RegexOptions): ParsedRegex {
    const node = this.choice(options);
    if (!this.reader.done) throw new RegexError('unmatched close parenthesis');
    for (const resolve of this.pending) resolve();
    return { node, groupCount: this.groupCount, names: this.names };
  }

  /** The inside of a group: flags that are set in it end with it. */
  private choice(outer: Flags): RegexNode {
    const flags = { ...outer };
    if (++this.nesting > MAX_NESTING) throw new RegexError('parse depth limit over');
    const items = [this.sequence(flags)];
    while (this.reader.accept('|')) items.push(this.sequence(flags));
    this.nesting--;
    const [first] = items;
    return items.length === 1 && first ? first : { k: 'choice', items };
  }

  private sequence(flags: Flags): RegexNode {
    const items: RegexNode[] = [];
    const { reader } = this;
    while (!reader.done && reader.peek() !== '|' && reader.peek() !== ')') {
      if (flags.extended && this.skipBlank()) continue;
      if (reader.accept('\\Q')) {
        while (!reader.done && !reader.accept('\\E')) items.push(this.literal(reader.take(), flags));
        continue;
      }
      const node = this.atom(flags);
      if (node !== null) items.push(this.quantified(node, flags));
    }
    const [first] = items;
    return items.length === 0
      ? { k: 'empty' }
      : items.length === 1 && first
        ? first
        : { k: 'sequence', items };
  }

  private skipBlank(): boolean {
    const { reader } = this;
    if (/^\s$/.test(reader.peek())) {
      reader.take();
      return true;
    }
    if (reader.peek() !== '#') return false;
    if (reader.until('\n') === null) reader.at = reader.points.length;
    return true;
  }

  private literal(char: string, flags: Flags): RegexNode {
    const point = char.codePointAt(0) ?? 0;
    return { k: 'char', point: flags.ignoreCase ? fold(point) : point, fold: flags.ignoreCase };
  }

  private quantified(atom: RegexNode, flags: Flags): RegexNode {
    const { reader } = this;
    let node = atom;
    for (;;) {
      if (flags.extended && this.skipBlank()) continue;
      const char = reader.peek();
      let range: [number, number] | null = null;
      if (char === '*') range = [0, Infinity];
      else if (char === '+') range = [1, Infinity];
      else if (char === '?') range = [0, 1];
      const isInterval = range === null;
      if (range === null) {
        range = char === '{' ? this.interval() : null;
        if (range === null) return node;
      } else reader.take();
      let mode: 'greedy' | 'lazy' | 'possessive' = 'greedy';
      if (reader.accept('?')) mode = 'lazy';
      else if (!isInterval && reader.accept('+')) mode = 'possessive';
      if (range[0] > range[1]) throw new RegexError('upper is smaller than lower in repeat range');
      if (++this.nesting > MAX_NESTING) throw new RegexError('parse depth limit over');
      node = { k: 'repeat', body: node, min: range[0], max: range[1], mode };
    }
  }

  /** Reads `{n}`, `{n,}` or `{n,m}`; null if the brace is an ordinary character. */
  private interval(): [number, number] | null {
    const { reader } = this;
    const start = reader.at;
    reader.take();
    const text = reader.until('}', MAX_INTERVAL);
    const found = text === null ? null : /^(\d{1,6})(,(\d{1,6})?)?$/.exec(text);
    if (!found) {
      reader.at = start;
      return null;
    }
    const min = Number(found[1]);
    const max = found[2] === undefined ? min : found[3] === undefined ? Infinity : Number(found[3]);
    if (min > MAX_REPEAT || (max !== Infinity && max > MAX_REPEAT))
      throw new RegexError('too big number is specified');
    return [min, max];
  }

  /** One unit, or null for what matches nothing by itself (comments). */
  private atom(flags: Flags): RegexNode | null {
    const { reader } = this;
    const char = reader.take();
    switch (char) {
      case '(':
        return this.parenthesis(flags);
      case '[': {
        const test = parseClass(reader, flags.ignoreCase);
        return { k: 'set', test: flags.ignoreCase ? foldSet(test) : test };
      }
      case '.':
        return { k: 'set', test: flags.dotAll ? () => true : (point) => point !== 10 };
      case '^':
        return { k: 'assert', kind: flags.singleLine ? 'begin' : 'lineBegin' };
      case '$':
        return { k: 'assert', kind: flags.singleLine ? 'semiEnd' : 'lineEnd' };
      case '*':
      case '+':
      case '?':
        throw new RegexError('target of repeat operator is not specified');
      case '\\':
        return this.escape(flags);
      case '{':
        reader.at--;
        if (this.interval() !== null) throw new RegexError('target of repeat operator is not specified');
        reader.at++;
        return this.literal('{', flags);
      default:
        return this.literal(char, flags);
    }
  }

  private parenthesis(flags: Flags): RegexNode | null {
    const { reader } = this;
    if (!reader.accept('?')) return this.capture(null, flags);
    if (reader.accept('#')) {
      for (let char = reader.take(); char !== ')'; char = reader.take())
        if (char === '') throw new RegexError('end pattern in group');
      return null;
    }
    if (reader.accept(':')) return this.close(flags);
    if (reader.accept('>')) return { k: 'atomic', body: this.close(flags) };
    if (reader.accept('=')) return { k: 'look', ahead: true, negative: false, body: this.close(flags) };
    if (reader.accept('!')) return { k: 'look', ahead: true, negative: true, body: this.close(flags) };
    if (reader.accept('<=')) return { k: 'look', ahead: false, negative: false, body: this.close(flags) };
    if (reader.accept('<!')) return { k: 'look', ahead: false, negative: true, body: this.close(flags) };
    if (reader.peek() === '<' || reader.peek() === "'") {
      const name = reader.until(reader.take() === '<' ? '>' : "'");
      if (name === null || !/^[\p{L}_][\p{L}\p{M}\p{Nd}_]*$/u.test(name))
        throw new RegexError(name === '' ? 'group name is empty' : `invalid group name <${name ?? ''}>`);
      return this.capture(name, flags);
    }
    return this.inlineFlags(flags);
  }

  private inlineFlags(flags: Flags): RegexNode | null {
    const { reader } = this;
    const next = { ...flags };
    let on = true;
    for (;;) {
      const char = reader.take();
      if (char === '-') on = false;
      else if (char === 'i') next.ignoreCase = on;
      else if (char === 'x') next.extended = on;
      else if (char === 's') next.dotAll = on;
      else if (char === 'm') next.singleLine = !on;
      else if (char === ':') return this.close(next);
      else if (char === ')') {
        // The flags hold to the end of the group that encloses them, over its alternatives too.
        Object.assign(flags, next);
        return null;
      } else throw new RegexError(char === '' ? 'end pattern in group' : 'undefined group option');
    }
  }

  private capture(name: string | null, flags: Flags): RegexNode {
    const index = ++this.groupCount;
    if (name !== null) this.names.set(index, name);
    return { k: 'group', index, body: this.close(flags) };
  }

  private close(flags: Flags): RegexNode {
    const body = this.choice(flags);
    if (!this.reader.accept(')')) throw new RegexError('end pattern with unmatched parenthesis');
    return body;
  }

  private escape(flags: Flags): RegexNode {
    const { reader } = this;
    if (reader.done) throw new RegexError('end pattern at escape');
    const char = reader.peek();
    const set = escapeSet(reader);
    if (set) return { k: 'set', test: set };
    switch (char) {
      case 'b':
      case 'B':
        reader.take();
        return { k: 'assert', kind: char === 'b' ? 'word' : 'notWord' };
      case 'A':
        reader.take();
        return { k: 'assert', kind: 'begin' };
      case 'Z':
        reader.take();
        return { k: 'assert', kind: 'semiEnd' };
      case 'z':
        reader.take();
        return { k: 'assert', kind: 'end' };
      case 'G':
        reader.take();
        return { k: 'assert', kind: 'start' };
      case 'K':
        reader.take();
        return { k: 'keep' };
      case 'R': {
        reader.take();
        const crlf: RegexNode = {
          k: 'sequence',
          items: [
            { k: 'char', point: 13, fold: false },
            { k: 'char', point: 10, fold: false },
          ],
        };
        const one: RegexNode = {
          k: 'set',
          test: (point) =>
            (point >= 10 && point <= 13) || point === 0x85 || point === 0x2028 || point === 0x2029,
        };
        return { k: 'atomic', body: { k: 'choice', items: [crlf, one] } };
      }
      case 'k':
      case 'g':
        if (reader.peek(1) === '<' || reader.peek(1) === "'") return this.named(char, flags);
        break;
      default:
        break;
    }
    if (char >= '1' && char <= '9') return this.numbered(flags);
    return this.literal(String.fromCodePoint(readEscape(reader)), flags);
  }

  private numbered(flags: Flags): RegexNode {
    const { reader } = this;
    let digits = reader.take();
    while (/^\d$/.test(reader.peek()) && Number(digits + reader.peek()) <= this.groupCount)
      digits += reader.take();
    const group = Number(digits);
    const node: RegexNode = { k: 'reference', groups: [group], fold: flags.ignoreCase };
    this.pending.push(() => {
      if (group > this.groupCount) throw new RegexError('invalid backref number/name');
    });
    return node;
  }

  private named(kind: string, flags: Flags): RegexNode {
    const { reader } = this;
    reader.take();
    const name = reader.until(reader.take() === '<' ? '>' : "'");
    if (name === null || name === '') throw new RegexError('group name is empty');
    const relative = /^([+-]?)(\d{1,4})$/.exec(name);
    const base = this.groupCount;
    const find = (): number[] => {
      if (!relative)
        return [...this.names].filter(([, candidate]) => candidate === name).map(([index]) => index);
      const n = Number(relative[2]);
      const index = relative[1] === '-' ? base + 1 - n : relative[1] === '+' ? base + n : n;
      return index >= (kind === 'g' ? 0 : 1) && index <= this.groupCount ? [index] : [];
    };
    if (kind === 'k') {
      const node: RegexNode = { k: 'reference', groups: [], fold: flags.ignoreCase };
      this.pending.push(() => {
        node.groups.push(...find());
        if (node.groups.length === 0)
          throw new RegexError(
            relative ? 'invalid backref number/name' : `undefined name <${name}> reference`,
          );
      });
      return node;
    }
    const node: RegexNode = { k: 'call', group: 0 };
    this.pending.push(() => {
      const [group, ...more] = find();
      if (group === undefined)
        throw new RegexError(relative ? 'undefined group <> reference' : `undefined name <${name}> call`);
      if (more.length > 0) throw new RegexError(`multiplex definition name <${name}> call`);
      node.group = group;
    });
    return node;
  }
}
