/** The input of a run or of a decision, from `-f file` and `-i name=value`, checked as the server does. */
import { isRecord } from '../../contracts/is-record.ts';
import { namesAllMembers } from '../../contracts/object-members.ts';
import { didYouMean } from '../../contracts/suggest.ts';
import type { Cli } from './cli.ts';
import { CliError, usageError } from './errors.ts';
import { readDocument } from './input.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Given {
  pairs: readonly string[] | undefined;
  file: string | undefined;
}

interface Reading {
  /** What the schema describes, in words. */
  what?: 'form' | 'input';
  /** Whether `-i` may name fields that the schema has not. */
  isOpen?: boolean;
}

/** Undefined if the user gave nothing. @throws CliError for a field of `-i` that the schema has not */
export async function readForm(
  cli: Cli,
  { pairs = [], file }: Given,
  schema: unknown,
  { what = 'input', isOpen = false }: Reading = {},
): Promise<unknown> {
  const base = file === undefined ? undefined : await readDocument(cli, file);
  if (pairs.length === 0) return base;
  if (base !== undefined && !isRecord(base)) throw usageError('-i needs an object in the file of -f.');
  const parse = await parserFor(pairs);
  const given = isRecord(schema) ? schema : {};
  if (!isOpen) for (const pair of pairs) refuseUnknown(pair, given, what);
  return pairs.reduce((value, pair) => withPair(value, pair, given, parse), base ?? {});
}

/** JSON, or also YAML such as `[a, b]`. Undefined for anything else. */
type Parse = (text: string) => unknown;

async function parserFor(pairs: readonly string[]): Promise<Parse> {
  if (!pairs.some((pair) => /=\s*[[{]/.test(pair))) return parseJson;
  const { readYaml, YamlError } = await import('../../language/yaml/read-yaml.ts');
  return (text) => {
    const value = parseJson(text);
    if (value !== undefined || !/^\s*[[{]/.test(text)) return value;
    try {
      return readYaml(text).value;
    } catch (error) {
      if (error instanceof YamlError) return undefined;
      throw error;
    }
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** `address.city=Bonn` sets a field of a field. The schema tells texts from numbers. */
function withPair(
  value: Record<string, unknown>,
  pair: string,
  schema: Schema,
  parse: Parse,
): Record<string, unknown> {
  const at = pair.indexOf('=');
  if (at < 1) throw usageError(`-i ${pair} is not name=value.`);
  return withField(value, pathIn(pair.slice(0, at), schema), pair.slice(at + 1), { schema, parse });
}

/** A field's name may contain dots itself. */
const pathIn = (name: string, schema: Schema): string[] =>
  propertyOf(schema, name) === undefined ? name.split('.') : [name];

/** @throws CliError for a name that the schema has not, if it names all that the object may have */
function refuseUnknown(pair: string, schema: Schema, what: string): void {
  const at = pair.indexOf('=');
  if (at < 1) return;
  let inner: Schema | undefined = schema;
  const path = pathIn(pair.slice(0, at), schema);
  for (const [index, name] of path.entries()) {
    const known: string[] = inner === undefined ? [] : fieldNames(inner);
    if (known.length === 0) return;
    if (!known.includes(name))
      throw usageError(
        `-i ${pair}: the ${what} has no field ${path.slice(0, index + 1).join('.')}` +
          (didYouMean(name, known) || `. It has: ${known.join(', ')}`),
      );
    inner = inner && propertyOf(inner, name);
  }
}

/** All names that an object may have; empty if it may have others. */
const fieldNames = (schema: Schema): string[] =>
  isRecord(schema['properties']) && namesAllMembers(schema) ? Object.keys(schema['properties']) : [];

function withField(
  value: Record<string, unknown>,
  [name = '', ...rest]: readonly string[],
  text: string,
  { schema, parse }: { schema: Schema; parse: Parse },
): Record<string, unknown> {
  const property = propertyOf(schema, name);
  const inner = Object.hasOwn(value, name) ? value[name] : undefined;
  const field =
    rest.length === 0
      ? valueOf(text, property, parse)
      : withField(isRecord(inner) ? inner : {}, rest, text, { schema: property ?? {}, parse });
  // A computed key is always an own property, even if it is `__proto__`.
  return { ...value, [name]: field };
}

function propertyOf(schema: Schema, name: string): Schema | undefined {
  const { properties } = schema;
  if (!isRecord(properties) || !Object.hasOwn(properties, name)) return undefined;
  const property = properties[name];
  return isRecord(property) ? property : undefined;
}

/** JSON where the schema allows anything but text, YAML where it wants a list or an object, else the text. */
export function valueOf(text: string, property: Schema | undefined, parse: Parse = parseJson): unknown {
  const types = [property?.['type']].flat();
  if (types.includes('string') && types.length === 1) return text;
  const values = Array.isArray(property?.['enum']) ? property['enum'] : [];
  if (values.includes(text)) return text;
  const isStructure =
    types.some((type) => type === 'array' || type === 'object') && !types.includes('string');
  const parsed = isStructure ? parse(text) : parseJson(text);
  return parsed === undefined ? text : parsed;
}

/** @throws CliError with each field, in the words that the server and the console use */
export async function checkForm(schema: unknown, value: unknown, pointer: string): Promise<void> {
  if (!isRecord(schema)) return;
  const { violations } = await import('../../language/schema/validate-json.ts');
  const { formErrors } = await import('../../language/schema/form-errors.ts');
  const found = violations(schema, value);
  if (found.length === 0) return;
  const errors = formErrors(schema, found).map((error) => ({
    ...error,
    pointer: error.pointer.replace('/payload', pointer),
  }));
  throw new CliError('The input does not fit.', { code: 'form_mismatch', errors });
}
