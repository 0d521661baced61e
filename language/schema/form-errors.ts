/**
 * Describes errors in a submitted form for the person who filled it in: the field by its title, and what is
 * wrong.
 */
import { counted } from '../../contracts/counted.ts';
import { shortened } from '../../contracts/cut-text.ts';
import { escapeToken, pointerTokens, unescapeToken } from '../../contracts/json-pointer.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { Mismatch, Violation } from './validate-json.ts';

/** `pointer` is a JSON pointer into the decision. */
export interface FormError {
  pointer: string;
  code: 'form_mismatch';
  message: string;
}

type Schema = Record<string, unknown>;

const MAX_CHOICES = 10;
const MAX_CHOICE = 100;

/** Pointers start at `/payload`; a missing field's pointer is the place where it belongs. */
export function formErrors(form: Schema, found: readonly Violation[]): FormError[] {
  return found.map((violation) => {
    const path = pathOf(violation);
    return {
      pointer: `/payload${path.map((key) => `/${escapeToken(key)}`).join('')}`,
      code: 'form_mismatch',
      message: `${nameOf(form, path)} ${faultIn(violation.mismatch, () => exampleOf(form, path))}`,
    };
  });
}

/** What is wrong with a part of an input that a program sends, which knows the field by its pointer. */
export function inputFault({ mismatch, message }: Violation): string {
  switch (mismatch?.keyword) {
    case undefined:
    case 'contains':
      return message;
    case 'anyOf':
    case 'oneOf':
      return 'fits none of the alternatives, or more than one';
    // The pointer is that of the holder.
    case 'required':
      return `${JSON.stringify(mismatch.expected)} is missing`;
    case 'false':
      return 'is not allowed here';
    case 'propertyNames':
      return `has a field that is not allowed: ${choice(mismatch.expected)}`;
    default:
      return faultIn(mismatch, () => undefined);
  }
}

function pathOf({ pointer, mismatch }: Violation): string[] {
  const path = pointerTokens(pointer);
  return mismatch?.keyword === 'required' ? [...path, String(mismatch.expected)] : path;
}

/** `Price in entry 2 of Items`; the form's title for the whole form. */
function nameOf(form: Schema, path: readonly string[]): string {
  let schemas = alternatives(form, form);
  if (path.length === 0) return titleIn(schemas) ?? 'The form';
  const names: { text: string; isEntry: boolean }[] = [];
  for (const key of path) {
    const isEntry =
      schemas.some((schema) => 'items' in schema || 'prefixItems' in schema) && /^\d+$/.test(key);
    schemas = schemas.flatMap((schema) => partsOf(schema, key)).flatMap((part) => alternatives(form, part));
    names.push({ isEntry, text: isEntry ? `entry ${Number(key) + 1}` : (titleIn(schemas) ?? readable(key)) });
  }
  const text = names.reduceRight(
    (name, { text: holder }, index) =>
      index === names.length - 1 ? holder : `${name} ${names[index + 1]?.isEntry ? 'of' : 'in'} ${holder}`,
    '',
  );
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/**
 * The schema, together with all schemas that apply to the same value: its references within the form, and the
 * parts of `allOf`.
 */
function alternatives(form: Schema, schema: Schema, depth = 0): Schema[] {
  if (depth > 10) return [schema];
  const { $ref: reference, allOf } = schema;
  const all: unknown[] = Array.isArray(allOf) ? allOf : [];
  const parts = [typeof reference === 'string' ? referred(form, reference) : undefined, ...all];
  return [schema, ...parts.filter(isRecord).flatMap((part) => alternatives(form, part, depth + 1))];
}

function referred(form: Schema, reference: string): unknown {
  if (!reference.startsWith('#/')) return reference === '#' ? form : undefined;
  const keys = reference.slice(2).split('/').map(unescapeToken);
  return keys.reduce<unknown>(
    (holder, key) => (isRecord(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined),
    form,
  );
}

function partsOf({ properties, items, prefixItems }: Schema, key: string): Schema[] {
  const property = isRecord(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
  const first: unknown[] = Array.isArray(prefixItems) ? prefixItems : [];
  const entry = /^\d+$/.test(key) ? (first[Number(key)] ?? items) : undefined;
  return [property, entry].filter(isRecord);
}

/** The first text of `examples` at the path. */
function exampleOf(form: Schema, path: readonly string[]): string | undefined {
  const schemas = path.reduce(
    (holders, key) =>
      holders.flatMap((schema) => partsOf(schema, key)).flatMap((part) => alternatives(form, part)),
    alternatives(form, form),
  );
  return schemas
    .flatMap(({ examples }): unknown[] => (Array.isArray(examples) ? examples : []))
    .find((example): example is string => typeof example === 'string');
}

function titleIn(schemas: readonly Schema[]): string | undefined {
  return schemas
    .map(({ title }) => title)
    .find((title): title is string => typeof title === 'string' && title.trim() !== '');
}

/** `unit_price` and `unitPrice` become `Unit price`. */
function readable(key: string): string {
  const apart = key.replaceAll(
    /([a-z0-9])([A-Z])/g,
    (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
  );
  const words = apart.replaceAll(/[_-]+/g, ' ').trim();
  return words === '' ? JSON.stringify(key) : `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

const TYPES: Record<string, string> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a set of fields',
  null: 'empty',
};

const FORMATS: Record<string, string> = {
  date: 'a date such as 2026-05-31',
  time: 'a time such as 13:30:00Z',
  'date-time': 'a date and time such as 2026-05-31T13:30:00Z',
  duration: 'a duration such as P3D',
  email: 'an e-mail address such as ada@example.com',
  uri: 'a web address such as https://example.com',
  uuid: 'a UUID such as 0198c0de-1f2a-7b3c-8d4e-5f60718293a4',
};

/** @param exampleOf the author's example of the value */
function faultIn(mismatch: Mismatch | undefined, exampleOf: () => string | undefined): string {
  const expected = mismatch?.expected;
  switch (mismatch?.keyword) {
    case 'required':
      return 'is missing';
    case 'false':
      return 'is not part of the form';
    case 'type':
      return `must be ${(Array.isArray(expected) ? (expected as unknown[]) : [])
        .map((type) => TYPES[String(type)] ?? String(type))
        .join(' or ')}`;
    case 'enum':
      return `must be ${choices(Array.isArray(expected) ? expected : [])}`;
    case 'const':
      return `must be ${choice(expected)}`;
    case 'minLength':
      return expected === 1
        ? 'must not be empty'
        : `must have at least ${counted(Number(expected), 'character')}`;
    case 'maxLength':
      return `must have at most ${counted(Number(expected), 'character')}`;
    case 'pattern':
      return patternFault(exampleOf());
    case 'format':
      return `must be ${FORMATS[String(expected)] ?? `a valid ${String(expected)}`}`;
    case 'minimum':
      return `must be at least ${String(expected)}`;
    case 'maximum':
      return `must be at most ${String(expected)}`;
    case 'exclusiveMinimum':
      return `must be more than ${String(expected)}`;
    case 'exclusiveMaximum':
      return `must be less than ${String(expected)}`;
    case 'multipleOf':
      return `must be a multiple of ${String(expected)}`;
    case 'minItems':
      return expected === 1
        ? 'must have an entry'
        : `must have at least ${counted(Number(expected), 'entry', 'entries')}`;
    case 'maxItems':
      return `must have at most ${counted(Number(expected), 'entry', 'entries')}`;
    case 'uniqueItems':
      return 'has the same entry twice';
    case 'minProperties':
      return `must have at least ${counted(Number(expected), 'field')}`;
    case 'maxProperties':
      return `must have at most ${counted(Number(expected), 'field')}`;
    case 'propertyNames':
      return `has a field that is not part of the form: ${choice(expected)}`;
    case 'anyOf':
    case 'oneOf':
      return 'matches none of the allowed answers, or more than one';
    case 'not':
      return 'has a value that is not allowed';
    default:
      return "cannot be checked: the form's rules are recursive or take too long";
  }
}

function patternFault(example: string | undefined): string {
  return example === undefined
    ? 'does not have the required format'
    : `must have a format such as ${choice(example)}`;
}

function choices(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_CHOICES).map(choice);
  return values.length === 1
    ? (shown[0] ?? '')
    : `one of ${shown.join(', ')}${values.length > MAX_CHOICES ? ', …' : ''}`;
}

function choice(value: unknown): string {
  const text = typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
  return shortened(text, MAX_CHOICE);
}
