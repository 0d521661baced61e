/**
 * Checks that a value is a valid JSON Schema 2020-12: every keyword of the vocabularies has the right type,
 * patterns compile, references resolve within the document. Other keywords are annotations, which the
 * standard allows; one that resembles a keyword gives a warning.
 */
import { fragmentToken } from '../../contracts/json-pointer.ts';
import { closest } from '../../contracts/suggest.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { at, own, quote } from '../definition/problems.ts';
import { compilePattern, MAX_PATTERNS_SIZE, patternProblem } from './pattern.ts';

export interface SchemaProblem {
  pointer: string;
  message: string;
  severity: 'error' | 'warning';
}

type Rule =
  | 'schema'
  | 'schemas'
  | 'schema_map'
  | 'text'
  | 'texts'
  | 'count'
  | 'number'
  | 'positive'
  | 'boolean'
  | 'list'
  | 'any'
  | 'type'
  | 'pattern'
  | 'ref'
  | 'text_lists';

const KEYWORDS: Record<string, Rule> = {
  $id: 'text',
  $schema: 'text',
  $ref: 'ref',
  $dynamicRef: 'ref',
  $anchor: 'text',
  $dynamicAnchor: 'text',
  $comment: 'text',
  $vocabulary: 'any',
  $defs: 'schema_map',
  definitions: 'schema_map',
  type: 'type',
  enum: 'list',
  const: 'any',
  multipleOf: 'positive',
  maximum: 'number',
  exclusiveMaximum: 'number',
  minimum: 'number',
  exclusiveMinimum: 'number',
  maxLength: 'count',
  minLength: 'count',
  pattern: 'pattern',
  maxItems: 'count',
  minItems: 'count',
  uniqueItems: 'boolean',
  maxContains: 'count',
  minContains: 'count',
  maxProperties: 'count',
  minProperties: 'count',
  required: 'texts',
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  dependentRequired: 'text_lists',
  allOf: 'schemas',
  anyOf: 'schemas',
  oneOf: 'schemas',
  not: 'schema',
  if: 'schema',
  then: 'schema',
  else: 'schema',
  dependentSchemas: 'schema_map',
  prefixItems: 'schemas',
  items: 'schema',
  contains: 'schema',
  properties: 'schema_map',
  patternProperties: 'schema_map',
  additionalProperties: 'schema',
  propertyNames: 'schema',
  unevaluatedItems: 'schema',
  unevaluatedProperties: 'schema',
  format: 'text',
  contentEncoding: 'text',
  contentMediaType: 'text',
  contentSchema: 'schema',
  title: 'text',
  description: 'text',
  default: 'any',
  deprecated: 'boolean',
  readOnly: 'boolean',
  writeOnly: 'boolean',
  examples: 'list',
};

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'];
const MAX_DEPTH = 64;
const MAX_PROBLEMS = 20;
const MAX_PATTERN_LENGTH = 1000;

/** Problems of `schema`, with pointers into it; empty if it is valid. `warnings: false` gives errors only. */
export function jsonSchemaProblems(schema: unknown, options: { warnings?: boolean } = {}): SchemaProblem[] {
  const check = new SchemaCheck(schema, options.warnings ?? true);
  check.schema(schema, '', 0);
  return check.problems;
}

class SchemaCheck {
  readonly problems: SchemaProblem[] = [];
  readonly #root: unknown;
  /** What is wrong with each, or null: it may occur again. */
  readonly #patterns = new Map<string, string | null>();
  #patternsSize = 0;

  readonly #warnings: boolean;

  constructor(root: unknown, warnings: boolean) {
    this.#root = root;
    this.#warnings = warnings;
  }

  schema(value: unknown, pointer: string, depth: number): void {
    if (typeof value === 'boolean') return;
    if (!isRecord(value)) return this.#error(pointer, 'a schema is an object, true or false');
    if (depth > MAX_DEPTH) return this.#error(pointer, `nested more than ${MAX_DEPTH} deep`);
    for (const [keyword, content] of Object.entries(value)) {
      const rule = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
      const place = at(pointer, keyword);
      if (rule === undefined) this.#unknown(keyword, place, value);
      else this.#keyword(rule, keyword, content, place, depth);
    }
  }

  #unknown(keyword: string, place: string, owner: Record<string, unknown>): void {
    if (!this.#warnings || this.problems.length >= MAX_PROBLEMS) return;
    const suggestion = closest(
      keyword,
      Object.keys(KEYWORDS).filter((known) => !Object.hasOwn(owner, known)),
    );
    if (suggestion === undefined || keyword.startsWith('x-')) return;
    this.#add({
      pointer: place,
      message:
        `${quote(keyword)} is not a keyword of JSON Schema and has no effect, ` +
        `did you mean "${suggestion}"?`,
      severity: 'warning',
    });
  }

  #keyword(rule: Rule, keyword: string, content: unknown, place: string, depth: number): void {
    const named = quote(keyword);
    if (rule === 'schema') this.schema(content, place, depth + 1);
    else if (rule === 'schemas') this.#schemas(content, keyword, place, depth);
    else if (rule === 'schema_map') this.#schemaMap(content, keyword, place, depth);
    else if (rule === 'type') this.#type(content, place);
    else if (rule === 'pattern') this.#pattern(content, place);
    else if (rule === 'ref') this.#reference(content, place);
    else if (rule === 'texts') this.#texts(content, keyword, place);
    else if (rule === 'text_lists') {
      if (!isRecord(content)) this.#error(place, `${named} must be an object of lists`);
      else for (const [key, list] of Object.entries(content)) this.#texts(list, key, at(place, key));
    } else if (rule === 'text' && typeof content !== 'string') this.#error(place, `${named} must be text`);
    else if (rule === 'boolean' && typeof content !== 'boolean')
      this.#error(place, `${named} must be true or false`);
    else if (rule === 'list' && !Array.isArray(content)) this.#error(place, `${named} must be a list`);
    else if ((rule === 'number' || rule === 'positive') && typeof content !== 'number')
      this.#error(place, `${named} must be a number`);
    else if (rule === 'positive' && typeof content === 'number' && content <= 0)
      this.#error(place, `${named} must be greater than 0`);
    else if (rule === 'count' && !(Number.isInteger(content) && Number(content) >= 0))
      this.#error(place, `${named} must be a whole number of 0 or more`);
  }

  #schemas(content: unknown, keyword: string, place: string, depth: number): void {
    if (!Array.isArray(content) || content.length === 0)
      return this.#error(place, `${quote(keyword)} must be a list of schemas`);
    for (const [index, item] of content.entries()) this.schema(item, at(place, index), depth + 1);
  }

  #schemaMap(content: unknown, keyword: string, place: string, depth: number): void {
    if (!isRecord(content)) return this.#error(place, `${quote(keyword)} must be an object of schemas`);
    for (const [key, item] of Object.entries(content)) {
      if (keyword === 'patternProperties') this.#pattern(key, at(place, key));
      this.schema(item, at(place, key), depth + 1);
    }
  }

  #type(content: unknown, place: string): void {
    const types: unknown[] = Array.isArray(content) ? content : [content];
    if (types.length === 0) this.#error(place, '"type" may not be empty');
    for (const type of types) {
      if (typeof type === 'string' && TYPES.includes(type)) continue;
      const suggestion = typeof type === 'string' ? closest(type, TYPES) : undefined;
      this.#error(
        place,
        '"type" must be one of ' +
          `${TYPES.join(', ')}${suggestion === undefined ? '' : `, did you mean "${suggestion}"?`}`,
      );
    }
  }

  #texts(content: unknown, keyword: string, place: string): void {
    if (!Array.isArray(content) || content.some((item) => typeof item !== 'string'))
      this.#error(place, `${quote(keyword)} must be a list of texts`);
  }

  #pattern(content: unknown, place: string): void {
    if (typeof content !== 'string') return this.#error(place, 'a pattern must be text');
    if (content.length > MAX_PATTERN_LENGTH)
      return this.#error(place, `a pattern may have at most ${MAX_PATTERN_LENGTH} characters`);
    if (this.problems.length >= MAX_PROBLEMS) return;
    let problem = this.#patterns.get(content);
    if (problem === undefined) {
      problem = patternProblem(content) ?? this.#sizeProblem(content);
      this.#patterns.set(content, problem);
    }
    if (problem !== null) this.#error(place, `${quote(content)}: ${problem}`);
  }

  #sizeProblem(pattern: string): string | null {
    this.#patternsSize += compilePattern(pattern).size;
    return this.#patternsSize > MAX_PATTERNS_SIZE
      ? 'the patterns of the schema repeat too much together'
      : null;
  }

  #reference(content: unknown, place: string): void {
    if (typeof content !== 'string') return this.#error(place, 'a reference must be text');
    const id = own(this.#root, '$id');
    const [base = '', fragment = ''] = content.split('#', 2);
    if (base !== '' && base !== id)
      return this.#error(
        place,
        `${quote(content)}: only references inside the document (#/$defs/…) are possible`,
      );
    if (!fragment.startsWith('/')) return;
    let current = this.#root;
    for (const token of fragment.slice(1).split('/')) {
      const key = fragmentToken(token);
      current = Array.isArray(current) ? current[Number(key)] : own(current, key);
    }
    if (current === undefined) this.#error(place, `${quote(content)} leads to nothing`);
  }

  #error(pointer: string, message: string): void {
    this.#add({ pointer, message, severity: 'error' });
  }

  #add(problem: SchemaProblem): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push(problem);
  }
}
