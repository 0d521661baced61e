/**
 * Reads YAML (1.2, core schema) as the value that JSON could say, with the place of each part. It takes text
 * from anybody, so its effort is bounded: by size, by lexemes before anything is built of them, by depth and
 * by what aliases copy. It stops at the first mistake, because a hostile text could have a million.
 */
import {
  Composer,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  visit,
  type Alias,
  type CST,
  type Document,
  type Node,
  type YAMLMap,
} from 'yaml';

/** Characters of a text. */
export const MAX_YAML_CHARACTERS = 512 * 1024;
/** Words, marks and line ends of a text, as the lexer counts them. */
export const MAX_YAML_LEXEMES = 200_000;
/** As bodies of JSON. */
const MAX_YAML_DEPTH = 64;
const MAX_YAML_ALIASES = 100;
/** Values that aliases copy, in all. */
export const MAX_YAML_COPIES = 10_000;

/** Both count from 1; a column counts UTF-16 units. */
export interface Place {
  line: number;
  column: number;
}

export interface YamlText {
  value: unknown;
  /** Where the name or item that the JSON pointer leads to begins; the nearest part that there is. */
  placeOf: (pointer: string) => Place;
}

/** The text is no YAML, or more than we read. `code` is stable. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
  readonly code: string;
  readonly place: Place;

  constructor(code: string, message: string, place: Place) {
    super(message);
    this.code = code;
    this.place = place;
  }
}

interface YamlLimits {
  characters: number;
  lexemes: number;
}

/** @throws YamlError at the first mistake */
export function readYaml(
  text: string,
  limits: YamlLimits = { characters: MAX_YAML_CHARACTERS, lexemes: MAX_YAML_LEXEMES },
): YamlText {
  if (text.length > limits.characters)
    throw new YamlError('yaml_too_large', `YAML may have at most ${limits.characters} characters`, START);
  // A value may say NUL by its escape; the text itself is kept, and PostgreSQL keeps no NUL.
  if (text.includes('\0') || !text.isWellFormed())
    throw new YamlError('malformed_yaml', 'the text has a NUL character or an unpaired surrogate', START);
  const lines = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(Math.min(offset, text.length));
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const document = compose(text, limits.lexemes, lines, placeAt);
  const { contents } = document;
  if (contents === null) throw new YamlError('malformed_yaml', 'the text is empty', START);
  const copied = copiedBy(document);
  const value = new Reader(copied, placeAt).valueOf(contents, 1);
  return { value, placeOf: (pointer) => placeAt(offsetOf(copied, contents, pointer)) };
}

const STOP = new Error('the text has a mistake');
const START: Place = { line: 1, column: 1 };

function compose(
  text: string,
  maxLexemes: number,
  lines: LineCounter,
  placeAt: (offset: number) => Place,
): Document.Parsed {
  const composer = new Composer({
    version: '1.2',
    schema: 'core',
    // Its own check compares each key with all others; `Reader` uses a set.
    uniqueKeys: false,
    logLevel: 'silent',
  });
  // The composer would collect a problem for each of a million characters. It catches what is thrown here,
  // and reports that again for each part around it. Where the stack has run out, nothing else can be done.
  let mistake: { source: ErrorSource; message: string } | undefined;
  Object.assign(composer, {
    onError: (source: ErrorSource, _code: string, message: string) => {
      mistake ??= { source, message };
      throw STOP;
    },
  });
  const found: Document.Parsed[] = [];
  try {
    for (const token of tokensOf(text, maxLexemes, lines, placeAt)) {
      // What the parser could not place, the composer would leave out.
      if (token.type === 'error') throw errorOf(token.message, placeAt(token.offset));
      found.push(...composer.next(token));
    }
    found.push(...composer.end(true, text.length));
  } catch (error) {
    if (mistake) throw errorOf(mistake.message, placeAt(startOf(mistake.source)));
    throw error instanceof RangeError ? tooDeep(START) : error;
  }
  const [document, second] = found;
  if (document === undefined) throw new YamlError('malformed_yaml', 'the text is empty', START);
  if (second)
    throw new YamlError('malformed_yaml', 'there may be only one document', placeAt(second.range[0]));
  if (document.directives.yaml.version !== '1.2')
    throw new YamlError('yaml_version', 'only YAML 1.2 is read', START);
  return document;
}

/**
 * What the parser has open: the document, its collections, a scalar. It stops before the composer, which
 * takes time for each level around a part.
 */
const MAX_OPEN = MAX_YAML_DEPTH + 2;

function* tokensOf(
  text: string,
  maxLexemes: number,
  lines: LineCounter,
  placeAt: (offset: number) => Place,
): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    lexemes += 1;
    if (lexemes > maxLexemes)
      throw new YamlError('yaml_too_large', `YAML may have at most ${maxLexemes} words and marks`, START);
    yield* parser.next(lexeme);
    if (parser.stack.length > MAX_OPEN) throw tooDeep(placeAt(parser.offset));
  }
  yield* parser.end();
}

type ErrorSource = number | readonly [number, number?] | { offset: number };
const startOf = (source: ErrorSource): number =>
  typeof source === 'number' ? source : 'offset' in source ? source.offset : source[0];

/** The library's sentences begin with a capital and may end with a period. */
function errorOf(message: string, place: Place): YamlError {
  if (/call stack|stack overflow/i.test(message)) return tooDeep(place);
  const text = message.split('\n', 1)[0]?.replace(/[.:]$/, '') ?? '';
  const sentence = `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`.slice(0, MAX_MESSAGE);
  return new YamlError('malformed_yaml', sentence, place);
}
/** The library repeats words of the text. */
const MAX_MESSAGE = 300;

const tooDeep = (place: Place): YamlError =>
  new YamlError('too_deep', `nested more than ${MAX_YAML_DEPTH} deep`, place);

const CORE_TAGS = new Set(
  ['map', 'seq', 'str', 'int', 'float', 'bool', 'null'].map((name) => `tag:yaml.org,2002:${name}`),
);

/** What an alias copies. */
type Copied = (alias: Alias) => Node | undefined;

/** One walk serves all aliases: that of the library for each of them takes too long for a hostile text. */
function copiedBy(document: Document): Copied {
  let found: Map<Alias, Node | undefined> | null = null;
  const walk = (): Map<Alias, Node | undefined> => {
    const anchors = new Map<string, Node>();
    const copied = new Map<Alias, Node | undefined>();
    visit(document, {
      Node: (_key, node) => {
        if (isAlias(node)) copied.set(node, anchors.get(node.source));
        else if (node.anchor !== undefined) anchors.set(node.anchor, node);
      },
    });
    return copied;
  };
  return (alias) => (found ??= walk()).get(alias);
}

/** Makes the value of a document. */
class Reader {
  readonly #copied: Copied;
  readonly #placeAt: (offset: number) => Place;
  readonly #open = new Set<Node>();
  #aliases = 0;
  #copies = 0;
  #copying = false;

  constructor(copied: Copied, placeAt: (offset: number) => Place) {
    this.#copied = copied;
    this.#placeAt = placeAt;
  }

  valueOf(node: unknown, depth: number): unknown {
    if (node === null || node === undefined) return null;
    if (this.#copying && ++this.#copies > MAX_YAML_COPIES)
      throw this.#refused(node, 'too_many_aliases', `aliases may copy at most ${MAX_YAML_COPIES} values`);
    if (isAlias(node)) return this.#copyOf(node, depth);
    const { tag } = node as { tag?: string };
    if (tag !== undefined && !CORE_TAGS.has(tag))
      throw this.#refused(node, 'unknown_tag', `the tag ${tag.slice(0, 100)} is not part of the core schema`);
    if (isScalar(node)) return this.#scalar(node.value, node);
    if (depth > MAX_YAML_DEPTH) throw tooDeep(this.#place(node));
    if (isSeq(node)) return this.#inside(node, () => node.items.map((item) => this.valueOf(item, depth + 1)));
    if (isMap(node)) return this.#inside(node, () => this.#object(node, depth));
    throw this.#refused(node, 'malformed_yaml', 'there is no such value in JSON');
  }

  #inside<T>(node: Node, read: () => T): T {
    this.#open.add(node);
    const value = read();
    this.#open.delete(node);
    return value;
  }

  #object(map: YAMLMap, depth: number): Record<string, unknown> {
    const names = new Set<string>();
    const entries = map.items.map(({ key, value }): [string, unknown] => {
      const name = this.#name(key, map);
      if (names.has(name)) {
        const shown = JSON.stringify(name.length > 60 ? `${name.slice(0, 57)}…` : name);
        throw this.#refused(key, 'duplicate_key', `${shown} is there already`);
      }
      names.add(name);
      return [name, this.valueOf(value, depth + 1)];
    });
    // Own properties, also one named `__proto__`.
    return Object.fromEntries(entries);
  }

  #name(key: unknown, map: YAMLMap): string {
    if (!isScalar<string | number | boolean | null>(key) || key.value === null)
      throw this.#refused(key ?? map, 'malformed_yaml', 'a name must be text');
    if (key.value === '<<' && key.type === 'PLAIN')
      throw this.#refused(key, 'merge_key', 'merging with << is not part of YAML 1.2: use an alias alone');
    // `404` is a name as it is written, not as a number is printed.
    return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
  }

  #scalar(value: unknown, node: unknown): unknown {
    if (typeof value === 'number' && !Number.isFinite(value))
      throw this.#refused(node, 'out_of_range', 'is outside the range of a number');
    return value ?? null;
  }

  #copyOf(alias: Alias, depth: number): unknown {
    this.#aliases += 1;
    if (this.#aliases > MAX_YAML_ALIASES)
      throw this.#refused(alias, 'too_many_aliases', `there may be at most ${MAX_YAML_ALIASES} aliases`);
    const node = this.#copied(alias);
    if (node === undefined) throw this.#refused(alias, 'malformed_yaml', 'there is no such anchor before');
    if (this.#open.has(node))
      throw this.#refused(alias, 'malformed_yaml', 'an alias cannot be inside of what it copies');
    const wasCopying = this.#copying;
    this.#copying = true;
    const value = this.valueOf(node, depth);
    this.#copying = wasCopying;
    return value;
  }

  #refused(node: unknown, code: string, message: string): YamlError {
    return new YamlError(code, message, this.#place(node));
  }

  #place(node: unknown): Place {
    return this.#placeAt((node as Node | null)?.range?.[0] ?? 0);
  }
}

function offsetOf(copied: Copied, contents: Node, pointer: string): number {
  let node: Node = contents;
  let offset = 0;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    // The place of a copied part is where it is written.
    const target: unknown = isAlias(node) ? copied(node) : node;
    const [at, inner] = step(target, name);
    if (at === undefined) return offset;
    offset = at;
    if (inner === null) return offset;
    node = inner;
  }
  return pointer === '' ? (contents.range?.[0] ?? 0) : offset;
}

/** Where a member begins, and its value if that has a place. */
function step(node: unknown, name: string): [offset: number | undefined, value: Node | null] {
  if (isSeq(node)) {
    const item = node.items[Number(name)] as Node | null | undefined;
    return [item?.range?.[0], item ?? null];
  }
  if (!isMap(node)) return [undefined, null];
  const pair = node.items.find(
    ({ key }) => isScalar(key) && (typeof key.value === 'string' ? key.value : key.source) === name,
  );
  return [(pair?.key as Node | undefined)?.range?.[0], (pair?.value as Node | null | undefined) ?? null];
}
