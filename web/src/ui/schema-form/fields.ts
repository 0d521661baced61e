/** Turns a JSON Schema into the fields of a form, and what was entered into the value to send. */
import { escapeToken } from '../../../../contracts/json-pointer.ts';

export type Schema = Readonly<Record<string, unknown>>;

interface FieldBase {
  /** Property of the payload. */
  name: string;
  label: string;
  help: string | null;
  required: boolean;
}
export type Field = FieldBase &
  (
    | { kind: 'text' | 'long-text' | 'number' | 'integer' | 'date' | 'date-time' | 'email' | 'url' | 'json' }
    /** `password` is a text that is not shown; `lines` are texts, one a line. */
    | { kind: 'password' | 'lines' }
    | { kind: 'boolean' }
    | { kind: 'choice' | 'choices'; options: readonly { value: unknown; label: string }[] }
  );

/** What was entered, by the field's name: text of inputs, truth of check boxes, positions of choices. */
export type Entries = Readonly<Record<string, string | boolean | readonly number[]>>;

/** Longer texts get more than one line. */
const ONE_LINE = 200;
const FORMATS: Readonly<Record<string, Field['kind']>> = {
  date: 'date',
  'date-time': 'date-time',
  email: 'email',
  uri: 'url',
  password: 'password',
};

export function fieldsOf(schema: Schema | null | undefined): Field[] {
  const properties = objectOf(schema?.['properties']);
  const required = new Set(listOf(schema?.['required']));
  return Object.entries(properties).map(([name, property]) =>
    fieldOf(name, objectOf(property), required.has(name)),
  );
}

function fieldOf(name: string, schema: Schema, required: boolean): Field {
  const base = {
    name,
    label: textOf(schema['title']) ?? wordsOf(name),
    help: textOf(schema['description']),
    required,
  };
  const options = optionsOf(schema);
  if (options !== null) return { ...base, kind: 'choice', options };
  const ofItems = schema['type'] === 'array' ? optionsOf(objectOf(schema['items'])) : null;
  if (ofItems !== null) return { ...base, kind: 'choices', options: ofItems };
  if (schema['type'] === 'array' && objectOf(schema['items'])['type'] === 'string')
    return { ...base, kind: 'lines' };
  switch (schema['type']) {
    case 'string':
      return { ...base, kind: textKind(schema) };
    case 'number':
    case 'integer':
    case 'boolean':
      return { ...base, kind: schema['type'] };
    default:
      return { ...base, kind: 'json' };
  }
}

function textKind(schema: Schema): 'text' {
  const format = FORMATS[textOf(schema['format']) ?? ''];
  const isLong = typeof schema['maxLength'] === 'number' && schema['maxLength'] > ONE_LINE;
  // All of these kinds are entered as text.
  return (format ?? (isLong ? 'long-text' : 'text')) as 'text';
}

function optionsOf(schema: Schema): { value: unknown; label: string }[] | null {
  if (Array.isArray(schema['enum']))
    return schema['enum'].map((value: unknown) => ({ value, label: labelOf(value) }));
  if (!Array.isArray(schema['oneOf'])) return null;
  const options = schema['oneOf'].map(objectOf);
  if (!options.every((option) => 'const' in option)) return null;
  return options.map((option) => ({
    value: option['const'],
    label: textOf(option['title']) ?? labelOf(option['const']),
  }));
}

/** The entries that a form starts with: the defaults of its schema. */
export function firstEntries(schema: Schema | null | undefined): Entries {
  const properties = objectOf(schema?.['properties']);
  return Object.fromEntries(
    fieldsOf(schema).map((field) => [
      field.name,
      entryOf(field, objectOf(properties[field.name])['default']),
    ]),
  );
}

/** The entry that stands for a value. */
function entryOf(field: Field, value: unknown): Entries[string] {
  switch (field.kind) {
    case 'boolean':
      return value === true;
    case 'choice': {
      const at = field.options.findIndex((option) => isSame(option.value, value));
      return at < 0 ? '' : String(at);
    }
    case 'choices':
      return field.options.flatMap((option, index) =>
        listOf(value).some((one) => isSame(option.value, one)) ? [index] : [],
      );
    case 'lines':
      return listOf(value).map(String).join('\n');
    case 'json':
      return value === undefined ? '' : JSON.stringify(value, null, 2);
    default:
      return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  }
}

export interface FieldProblem {
  pointer: string;
  message: string;
}

export interface Filled {
  value: Record<string, unknown>;
  /** Fields whose text is no value of their kind. */
  unreadable: FieldProblem[];
}

/** The payload. Fields that were left empty are left out, so that `required` says what is missing. */
export function filledValue(fields: readonly Field[], entries: Entries): Filled {
  const filled: Filled = { value: {}, unreadable: [] };
  for (const field of fields) {
    const read = readEntry(field, entries[field.name]);
    if ('problem' in read) filled.unreadable.push({ pointer: pointerOf(field.name), message: read.problem });
    else if (read.value !== undefined) filled.value[field.name] = read.value;
  }
  return filled;
}

function readEntry(
  field: Field,
  entry: Entries[string] | undefined,
): { value: unknown } | { problem: string } {
  if (field.kind === 'boolean') return { value: entry === true };
  if (field.kind === 'choices') {
    const chosen = Array.isArray(entry) ? entry : [];
    return {
      value: field.options.flatMap((option, index) => (chosen.includes(index) ? [option.value] : [])),
    };
  }
  const text = typeof entry === 'string' ? entry : '';
  if (text.trim() === '') return { value: undefined };
  switch (field.kind) {
    case 'choice':
      return { value: field.options[Number(text)]?.value };
    case 'number':
    case 'integer':
      return Number.isFinite(Number(text)) ? { value: Number(text) } : { problem: 'must be a number' };
    case 'date-time': {
      const at = new Date(text);
      return Number.isNaN(at.getTime()) ? { problem: 'must be a time' } : { value: at.toISOString() };
    }
    case 'lines':
      return {
        value: text
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== ''),
      };
    case 'json':
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return { problem: 'must be JSON' };
      }
    default:
      return { value: text };
  }
}

function pointerOf(name: string): string {
  return `/${escapeToken(name)}`;
}

/** The first problem of each field: of its value, or of anything inside it. */
export function problemsByField(
  fields: readonly Field[],
  problems: readonly FieldProblem[],
): { ofFields: Map<string, string>; others: string[] } {
  const ofFields = new Map<string, string>();
  const others: string[] = [];
  for (const { pointer, message } of problems) {
    const field = fields.find(
      ({ name }) => pointer === pointerOf(name) || pointer.startsWith(`${pointerOf(name)}/`),
    );
    if (field === undefined) others.push(message);
    else if (!ofFields.has(field.name)) ofFields.set(field.name, message);
  }
  return { ofFields, others };
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function objectOf(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function labelOf(value: unknown): string {
  return typeof value === 'string' ? wordsOf(value) : JSON.stringify(value);
}

/** `not_delivered` is shown as `Not delivered`. */
function wordsOf(name: string): string {
  const words = name.replaceAll(/[_-]+/g, ' ').trim();
  return words === '' ? name : words.slice(0, 1).toUpperCase() + words.slice(1);
}
