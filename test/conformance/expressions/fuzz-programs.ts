/** Random jq programs and data from a grammar; the same seed gives the same ones everywhere. */
import type { Json } from '../../../language/expressions/index.ts';

/** mulberry32: a small generator whose numbers do not depend on the host. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Keys that look like array indices come first in JavaScript's objects, so they are left out.
const keys = ['a', 'b', 'c', 'key', 'value', 'x y', 'é'];
const texts = [
  '',
  'a',
  'abc',
  'a,b, c',
  'A1b2',
  'xaxbx',
  '12',
  '-3.5',
  'true',
  'null',
  '[1,2]',
  '{"a":1}',
  'ünï',
  '😀b',
  '  pad ',
  'aaa',
  '2015-03-05T23:51:47Z',
];
const numbers = [0, 1, -1, 2, 3, 5, 10, 1.5, -2.5, 0.1, 100, 1e3];

export class Generator {
  private readonly next: () => number;

  constructor(seed: number) {
    this.next = random(seed);
  }

  private int(n: number): number {
    return Math.floor(this.next() * n);
  }

  private pick<T>(items: readonly T[]): T {
    const item = items[this.int(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  data(depth = 3): Json {
    const kind = this.int(depth > 0 ? 8 : 5);
    if (kind === 0) return null;
    if (kind === 1) return this.next() < 0.5;
    if (kind <= 3) return this.pick(numbers);
    if (kind === 4) return this.pick(texts);
    if (kind <= 6) return Array.from({ length: this.int(4) }, () => this.data(depth - 1));
    return Object.fromEntries(
      Array.from({ length: this.int(4) }, () => [this.pick(keys), this.data(depth - 1)]),
    );
  }

  private constant(): string {
    const kind = this.int(6);
    if (kind === 0) return this.pick(['null', 'true', 'false', '[]', '{}']);
    if (kind <= 3) return String(this.pick(numbers));
    return JSON.stringify(this.pick(texts));
  }

  private key(): string {
    return JSON.stringify(this.pick(keys));
  }

  /** A path expression. */
  path(depth: number): string {
    switch (this.int(depth > 0 ? 14 : 4)) {
      case 0:
        return '.';
      case 1:
        return `.[${this.key()}]`;
      case 2:
        return `.[${this.pick(['0', '1', '-1', '2'])}]`;
      case 3:
        return this.pick(['.[]?', '.a?', '.[0]?', '.b', '.a']);
      case 4:
        return '.[]';
      case 5:
        return `(${this.path(depth - 1)} | ${this.path(depth - 1)})`;
      case 6:
        return `(${this.path(depth - 1)}, ${this.path(depth - 1)})`;
      case 7:
        return `(${this.path(depth - 1)} | select(${this.filter(depth - 1)}))`;
      case 8:
        return `.[${this.pick(['1:', ':2', '0:1', '-2:', '1:3', ':-1'])}]`;
      case 9:
        return `(if ${this.filter(depth - 1)} then ${this.path(depth - 1)} else ${this.path(depth - 1)} end)`;
      case 10:
        return `(${this.path(depth - 1)} // ${this.path(depth - 1)})`;
      case 11:
        return this.pick([
          '..',
          'first',
          'last',
          'first(.[]?)',
          'recurse(.[]?)',
          'limit(2; .[]?)',
          'getpath(["a","b"])',
          'empty',
          'arrays',
          'objects',
          'scalars',
          'values',
        ]);
      case 12:
        return `(${this.path(depth - 1)})?`;
      default:
        return `(. as $v | ${this.path(depth - 1)})`;
    }
  }

  /** Any filter. */
  filter(depth: number): string {
    if (depth <= 0) return this.pick([() => this.constant(), () => this.path(0), () => '.'])();
    const f = (): string => this.filter(depth - 1);
    const p = (): string => this.path(depth - 1);
    switch (this.int(34)) {
      case 0:
        return this.constant();
      case 1:
      case 2:
        return p();
      case 3:
      case 4:
        return `(${f()} | ${f()})`;
      case 5:
        return `(${f()}, ${f()})`;
      case 6:
        return `(${f()} ${this.pick(['+', '-', '*', '/', '%'])} ${f()})`;
      case 7:
        return `(${f()} ${this.pick(['==', '!=', '<', '<=', '>', '>='])} ${f()})`;
      case 8:
        return `(${f()} ${this.pick(['and', 'or'])} ${f()})`;
      case 9:
        return `(${f()} // ${f()})`;
      case 10:
        return `[${f()}]`;
      case 11:
        return `{${this.pick(keys.slice(0, 5).map((key) => JSON.stringify(key)))}: ${f()}, b: ${f()}}`;
      case 12:
        return `{(${f()} | tostring): ${f()}}`;
      case 13:
        return `(if ${f()} then ${f()} ${this.next() < 0.5 ? `else ${f()} ` : ''}end)`;
      case 14:
        return `(try ${this.wrap(f())} catch ${this.pick(['.', '"caught"'])})`.replace(
          'catch .)',
          'catch "caught")',
        );
      case 15:
        return `(${f()})?`;
      case 16:
        return `(reduce ${this.wrap(f())} as $x (first(${f()}); ${this.update(depth)}))`;
      case 17:
        return (
          `(foreach ${this.wrap(f())} as $x (first(${f()}); ${this.pick(['. + $x', '[., $x]', f()])}` +
          `${this.next() < 0.5 ? `; [$x, .]` : ''}))`
        );
      case 18:
        return `(${this.wrap(f())} as $v | ${this.pick(['[$v, .]', '$v', `$v | ${f()}`, f()])})`;
      case 19:
        return `(${this.wrap(f())} as [$p, $q] | [$q, $p])`;
      case 20:
        return `(${this.wrap(f())} as {a: $p, $b} | [$p, $b])`;
      case 21:
        return `(${p()} ${this.pick(['=', '|=', '+=', '-=', '*=', '//='])} ${f()})`;
      case 22:
        return `(def f: ${f()}; ${this.pick(['f', '[f, f]', 'f | f'])})`;
      case 23:
        return `(def g(h): ${this.pick(['[h]', 'h | h', '[.[]? | h]', 'h, h'])}; g(${f()}))`;
      case 24:
        return `"${this.pick(['', 'v='])}\\(${f()})"`;
      case 25:
        return this.call0();
      case 26:
      case 27:
        return `(${f()} | ${this.call0()})`;
      case 28:
      case 29:
        return this.call1(depth);
      case 30:
        return `(${f()} | ${this.call1(depth)})`;
      case 31:
        return `(label $out | ${f()}, break $out, ${f()})`;
      case 32:
        return `[limit(${this.pick(['0', '1', '2', '3'])}; ${f()})]`;
      default:
        return `-(${f()})`;
    }
  }

  /** An update of a `reduce`, mostly of the forms that change the state in place. */
  private update(depth: number): string {
    const f = (): string => this.filter(depth - 2);
    const step = (): string =>
      this.pick([
        '. + $x',
        '[., $x]',
        '. + 1',
        '$x',
        f(),
        '. + [$x]',
        '. + [.]',
        '. + {a: $x}',
        '. + {b: .}',
        '.a += [$x]',
        '.a = .',
        '.b = .a',
        '.a |= [., .]',
        '.a.b += 1',
        '.a.c += [.a]',
        '.b += {c: $x}',
        '.[$x | tostring] = $x',
        '.["k"] += {d: .a}',
        'if .a then .a += [$x] else .a = [] end',
        '.a //= [.b]',
        `.a = ${f()}`,
        `.b += ${f()}`,
        '.c = [.a, .b]',
        '.a[0] = .',
        '.[1] = $x',
        '.[0] = .[1]',
        '.[0:1] = [$x]',
      ]);
    return Array.from({ length: 1 + this.int(3) }, step).join(' | ');
  }

  private wrap(text: string): string {
    return `(${text})`;
  }

  private call0(): string {
    return this.pick([
      'length',
      'keys',
      'keys_unsorted',
      'type',
      'not',
      'tostring',
      'tojson',
      'add',
      'any',
      'all',
      'sort',
      'unique',
      'reverse',
      'min',
      'max',
      'to_entries',
      'from_entries',
      'flatten',
      'first',
      'last',
      'floor',
      'abs',
      'ascii_downcase',
      'ascii_upcase',
      'explode',
      'implode',
      'tonumber',
      '[paths]',
      '[..]',
      'transpose',
      'values',
      'arrays',
      'strings',
      'numbers',
      'scalars',
      '[tostream]',
      'utf8bytelength',
      '[recurse]',
      'combinations',
      '@json',
      '@text',
      '@csv',
      '@tsv',
      '@html',
      '@uri',
      '@sh',
      '@base64',
      'fromjson',
      '(numbers | todate)',
      'fromdate',
      'gmtime',
      'sqrt',
      '(numbers | isnan)',
      'ceil',
      'round',
      'fabs',
      '[.[]?]',
      'fromjson?',
      'tojson | fromjson',
      'isvalid_placeholder',
    ]).replace('isvalid_placeholder', 'empty');
  }

  private call1(depth: number): string {
    const f = this.filter(depth - 1);
    const s = JSON.stringify(this.pick(texts));
    const regex = JSON.stringify(
      this.pick([
        'a',
        '[a-c]+',
        '(?<l>[a-z])(?<d>\\d)?',
        ' *, *',
        '^.',
        'x|b',
        '\\w+',
        '(a)(b)?',
        '',
        '.$',
        '[^a]',
        '\\bb',
        '(?i)A',
      ]),
    );
    const n = this.pick(['0', '1', '2', '-1', '3', '1.5']);
    const p = this.path(depth - 1);
    return this.pick([
      `map(${f})`,
      `map_values(${f})`,
      `select(${f})`,
      `sort_by(${f})`,
      `group_by(${f})`,
      `unique_by(${f})`,
      `min_by(${f})`,
      `max_by(${f})`,
      `with_entries(${f})`,
      `any(${f})`,
      `all(${f})`,
      `has(${this.key()})`,
      `has(${n})`,
      `contains(${f})`,
      `inside(${f})`,
      `index(${s})`,
      `rindex(${s})`,
      `indices(${f})`,
      `join(${s})`,
      `split(${s})`,
      `startswith(${s})`,
      `endswith(${s})`,
      `test(${regex})`,
      `[match(${regex}; "g")]`,
      `[scan(${regex})]`,
      `sub(${regex}; "<\\(.l?)>")`,
      `gsub(${regex}; "-")`,
      `[splits(${regex})]`,
      `capture(${regex})`,
      `[paths(${f})]`,
      `path(${p})`,
      `[path(${p})]`,
      `del(${p})`,
      `getpath([${this.key()}, ${n}])`,
      `setpath([${this.key()}]; ${f})`,
      `delpaths([[${this.key()}], [${n}]])`,
      `to_entries | map(${f})`,
      `[range(${n})]`,
      `[range(${n}; 4)]`,
      `[range(0; 5; ${n})]`,
      `first(${f})`,
      `last(${f}, 1)`,
      `[nth(${n}; ${f})]`,
      `isempty(${f})`,
      `flatten(${this.pick(['0', '1', '2'])})`,
      `[limit(5; repeat(1, ${f}))]`,
      `[limit(4; recurse(${f}))]`,
      `[limit(6; while(${f}; ${this.filter(0)}))]`,
      `walk(${f})`,
      `pick(${p})`,
      `[.[]? | ${f}]`,
      `(arrays | bsearch(${f}))`,
      `IN(${f})`,
      `INDEX("k\\(${f})")`,
      `(${p} |= ${f})`,
      `[foreach .[]? as [$i, $j] (${n}; . + 1; [$i, $j])]`,
      `. as [$i] ?// {a: $i} ?// $i | [$i]`,
      `strptime("%Y-%m-%dT%H:%M:%SZ")`,
      `(${n} | strftime("%Y %j %H:%M:%S"))`,
      `(strings | ltrimstr("a"))`,
      `error(${f})?`,
      `[.[]?] | [.[${n}:]]`,
      `tojson | test(${regex})`,
      `@base64 "\\(${f})"`,
      `[splits(", *"; null)]`,
      `ascii_downcase | ${f}`,
      `reduce .[]? as {a: $q} (0; . + ($q | length))`,
    ]);
  }

  program(): string {
    return this.filter(2 + this.int(3));
  }
}
