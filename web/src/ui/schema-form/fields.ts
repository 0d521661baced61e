/** Turns a JSON Schema into the fields of a form, and what was entered into the value to send. */
import { isFileListSchema, isFileSchema, MAX_ATTACHED_FILES } from '../../../../contracts/file-reference.ts';
import { isRecord } from '../../../../contracts/is-record.ts';
import { escapeToken } from '../../../../contracts/json-pointer.ts';
import { namesAllMembers } from '../../../../contracts/object-members.ts';

export type Schema = Readonly<Record<string, unknown>>;

interface FieldBase {
  /** Property of the object that it belongs to. */
  name: string;
  label: string;
  help: string | null;
  required: boolean;
  /** The schema's default. */
  initial: unknown;
  /** Instead of the control of its kind. */
  control: DrawnControl | null;
}

/** A component. Its type is that of no library, because tests read this file without a browser's types. */
export type DrawnControl = (props: OwnControl) => unknown;

/** What a control gets that a form does not draw itself. */
export interface OwnControl {
  id: string;
  /** Of the field. */
  label: string;
  required: boolean;
  disabled: boolean;
  'aria-invalid': boolean;
  'aria-describedby': string | undefined;
  /** What was entered: texts of a list one a line. */
  value: string;
  onText: (text: string) => void;
}
export type Field = FieldBase &
  (
    | { kind: 'text' | 'long-text' | 'number' | 'integer' | 'date' | 'date-time' | 'email' | 'url' | 'json' }
    /** `password` is a text that is not shown; `lines` are texts, one a line. */
    | { kind: 'password' | 'lines' }
    | { kind: 'boolean' }
    | { kind: 'choice' | 'choices'; options: readonly { value: unknown; label: string }[] }
    | { kind: 'group'; fields: readonly Field[] }
    | { kind: 'file'; schema: Schema }
    /** `schema` is that of one file, `most` the number of files that may be chosen. */
    | { kind: 'files'; schema: Schema; most: number }
  );
export type Group = Extract<Field, { kind: 'group' }>;
export type FileField = Extract<Field, { kind: 'file' }>;
export type FilesField = Extract<Field, { kind: 'files' }>;

/**
 * What was entered, by the field's name: text of inputs, truth of check boxes, positions of choices. A group,
 * a file or files that began with a value of another kind have JSON text.
 */
export type Entries = Readonly<
  Record<string, string | boolean | readonly number[] | GroupEntry | FileEntry | FilesEntry>
>;

/** The problem of files that are on their way. */
export const STILL_UPLOADING = 'is still being uploaded';

/** A reference to a file that was uploaded; null without one. */
export interface FileEntry {
  file: Schema | null;
  /** Of the file: the schema may allow no name in the reference. */
  name?: string;
  isUploading?: boolean;
}

/** References to files that were uploaded, in the order in which they were chosen. */
export interface FilesEntry {
  files: readonly ChosenFile[];
  isUploading?: boolean;
}

export interface ChosenFile {
  file: Schema;
  /** Of the file: the schema may allow no name in the reference. */
  name?: string;
}

/** What was entered into the fields of an object, and what they began with. */
export interface GroupEntry {
  entries: Entries;
  first: Entries;
  /** The object that they began with, which may have members without a field; null if there was none. */
  given: Schema | null;
}

/** Longer texts get more than one line. */
const ONE_LINE = 200;
/** Objects in objects that have fields. What is deeper is entered as JSON. */
const MAX_DEPTH = 3;
const FORMATS: Readonly<Record<string, Field['kind']>> = {
  date: 'date',
  'date-time': 'date-time',
  email: 'email',
  uri: 'url',
  password: 'password',
};

const CONTROL = Symbol('control');

/** A text, or a list of texts, with a control of its own. What others describe in a schema has no symbols. */
export function drawnBy(control: DrawnControl, schema: Schema): Schema {
  return Object.assign({ ...schema }, { [CONTROL]: control });
}

function controlOf(schema: Schema): DrawnControl | null {
  // Safe: only `drawnBy` has the symbol.
  return (Reflect.get(schema, CONTROL) as DrawnControl | undefined) ?? null;
}

export function fieldsOf(schema: Schema | null | undefined, depth = 0): Field[] {
  const properties = objectOf(schema?.['properties']);
  const required = new Set(listOf(schema?.['required']));
  return Object.entries(properties).map(([name, property]) =>
    fieldOf(name, objectOf(property), required.has(name), depth),
  );
}

function fieldOf(name: string, schema: Schema, required: boolean, depth: number): Field {
  const base = {
    name,
    label: textOf(schema['title']) ?? wordsOf(name),
    help: textOf(schema['description']),
    required,
    initial: schema['default'],
    control: controlOf(schema),
  };
  const options = optionsOf(schema);
  if (options !== null) return { ...base, kind: 'choice', options };
  const ofItems = schema['type'] === 'array' ? optionsOf(objectOf(schema['items'])) : null;
  if (ofItems !== null) return { ...base, kind: 'choices', options: ofItems };
  if (schema['type'] === 'array' && objectOf(schema['items'])['type'] === 'string')
    return { ...base, kind: 'lines' };
  if (isFileListSchema(schema))
    return { ...base, kind: 'files', schema: objectOf(schema['items']), most: mostFiles(schema) };
  switch (schema['type']) {
    case 'string':
      return { ...base, kind: textKind(schema) };
    case 'number':
    case 'integer':
    case 'boolean':
      return { ...base, kind: schema['type'] };
    case 'object': {
      if (isFileSchema(schema)) return { ...base, kind: 'file', schema };
      const fields = depth < MAX_DEPTH && namesAllMembers(schema) ? fieldsOf(schema, depth + 1) : [];
      return fields.length > 0 ? { ...base, kind: 'group', fields } : { ...base, kind: 'json' };
    }
    default:
      return { ...base, kind: 'json' };
  }
}

function mostFiles({ maxItems }: Schema): number {
  return typeof maxItems === 'number' ? Math.min(maxItems, MAX_ATTACHED_FILES) : MAX_ATTACHED_FILES;
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
  return entriesOf(fieldsOf(schema), null);
}

/** @param given what the fields show instead of their defaults */
function entriesOf(fields: readonly Field[], given: Schema | null): Entries {
  const valueOf = ({ name, initial }: Field) =>
    given === null ? initial : Object.hasOwn(given, name) ? given[name] : undefined;
  return Object.fromEntries(fields.map((field) => [field.name, entryOf(field, valueOf(field))]));
}

/** The entry of a group; of one that nobody has touched, what it begins with. */
export function groupEntry(field: Group, entry: Entries[string] | undefined): GroupEntry {
  if (typeof entry === 'object' && 'given' in entry) return entry;
  return firstOf(field, isRecord(field.initial) ? field.initial : null);
}

function firstOf({ fields }: Group, given: Schema | null): GroupEntry {
  const first = entriesOf(fields, given);
  return { entries: first, first, given };
}

/** The file of a field; of one that nobody has touched, what it begins with. */
export function fileEntry(field: FileField, entry: Entries[string] | undefined): FileEntry {
  if (typeof entry === 'object' && 'file' in entry) return entry;
  return { file: isRecord(field.initial) ? field.initial : null };
}

/** The files of a field; of one that nobody has touched, what it begins with. */
export function filesEntry(field: FilesField, entry: Entries[string] | undefined): FilesEntry {
  if (typeof entry === 'object' && 'files' in entry) return entry;
  return filesOf(field.initial) ?? { files: [] };
}

/** Null if not all of them are references. */
function filesOf(value: unknown): FilesEntry | null {
  const given = listOf(value);
  const files = given.filter(isRecord).map((file) => ({ file }));
  return Array.isArray(value) && files.length === given.length ? { files } : null;
}

/** The field as its entry needs it: an object whose entry is JSON text has one field for all of it. */
export function shownField(field: Field, entry: Entries[string] | undefined): Field {
  const isObject = field.kind === 'group' || field.kind === 'file' || field.kind === 'files';
  return isObject && typeof entry === 'string' ? { ...field, kind: 'json' } : field;
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
    case 'group':
      if (value === undefined || value === null) return firstOf(field, null);
      return isRecord(value) ? firstOf(field, value) : JSON.stringify(value, null, 2);
    case 'file':
      if (value === undefined || value === null) return { file: null };
      return isRecord(value) ? { file: value } : JSON.stringify(value, null, 2);
    case 'files':
      if (value === undefined || value === null) return { files: [] };
      return filesOf(value) ?? JSON.stringify(value, null, 2);
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
    const { value, unreadable } = readField(field, entries[field.name]);
    const pointer = pointerOf(field.name);
    filled.unreadable.push(...unreadable.map((one) => ({ ...one, pointer: `${pointer}${one.pointer}` })));
    if (value !== undefined) filled.value[field.name] = value;
  }
  return filled;
}

interface Read {
  value: unknown;
  /** Pointers are into the value. */
  unreadable: FieldProblem[];
}

function readField(given: Field, entry: Entries[string] | undefined): Read {
  const field = shownField(given, entry);
  if (field.kind === 'group') return readGroup(field, entry);
  if (field.kind === 'file') return readFile(field, entry);
  if (field.kind === 'files') return readFiles(field, entry);
  const read = readEntry(field, entry);
  return 'problem' in read
    ? { value: undefined, unreadable: [{ pointer: '', message: read.problem }] }
    : { value: read.value, unreadable: [] };
}

function readFile(field: FileField, entry: Entries[string] | undefined): Read {
  const { file, isUploading = false } = fileEntry(field, entry);
  return { value: file ?? undefined, unreadable: uploadProblems(isUploading) };
}

/** Like a choice of several, a list that has to be there may be empty; `minItems` says otherwise. */
function readFiles(field: FilesField, entry: Entries[string] | undefined): Read {
  const { files, isUploading = false } = filesEntry(field, entry);
  const value = files.map(({ file }) => file);
  return {
    value: value.length > 0 || field.required ? value : undefined,
    unreadable: uploadProblems(isUploading),
  };
}

function uploadProblems(isUploading: boolean): FieldProblem[] {
  return isUploading ? [{ pointer: '', message: STILL_UPLOADING }] : [];
}

/**
 * The object. Members that nobody has changed stay as they were, also where the form cannot show them well.
 * An optional object that was left empty is left out.
 */
function readGroup(field: Group, entry: Entries[string] | undefined): Read {
  const { entries, first, given } = groupEntry(field, entry);
  const isKept = ({ name, required }: Field) =>
    given !== null && isSame(entries[name], first[name]) && (Object.hasOwn(given, name) || !required);
  const read = field.fields.filter((one) => !isKept(one));
  const { value: filled, unreadable } = filledValue(read, entries);
  const value = { ...without(given ?? {}, read), ...filled };
  const isWanted = isSame(entries, first)
    ? given !== null || startsWhole(field, filled)
    : Object.keys(value).length > 0 || unreadable.length > 0;
  return { value: field.required || isWanted ? value : undefined, unreadable };
}

function without(value: Schema, fields: readonly Field[]): Schema {
  const names = new Set(fields.map(({ name }) => name));
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.has(name)));
}

/** Whether the defaults of its fields make an object that lacks nothing. */
function startsWhole({ fields }: Group, value: Schema): boolean {
  return fields.some(hasDefault) && fields.every(({ name, required }) => !required || name in value);
}

function hasDefault(field: Field): boolean {
  return field.initial !== undefined || (field.kind === 'group' && field.fields.some(hasDefault));
}

function readEntry(
  field: Exclude<Field, Group | FileField | FilesField>,
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
      return { value: textLines(text) };
    case 'json':
      try {
        return { value: JSON.parse(text) as unknown };
      } catch (error) {
        return { problem: `must be JSON: ${error instanceof Error ? error.message : ''}` };
      }
    default:
      return { value: text };
  }
}

export function textLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

export function pointerOf(name: string): string {
  return `/${escapeToken(name)}`;
}

/**
 * Id of the control of a field in a form or group with the id `parent`. It names the whole way to the field,
 * without spaces, and without `-`, so that it and a suffix such as `-help` are the id of no other field.
 */
export function controlId(parent: string, name: string): string {
  const escaped = pointerOf(name).replaceAll(/[^\w/]/g, (unit) => `:${unit.charCodeAt(0).toString(16)}:`);
  return `${parent}${escaped}`;
}

/** The problem of a value, else the first of its parts. */
export function problemWithin(problems: ReadonlyMap<string, string>, pointer: string): string | undefined {
  return problems.get(pointer) ?? [...problems].find(([part]) => part.startsWith(`${pointer}/`))?.[1];
}

/** The first problem of each field, by the field's pointer: of its value, or of anything inside it. */
export function problemsByField(
  fields: readonly Field[],
  problems: readonly FieldProblem[],
): { ofFields: Map<string, string>; others: string[] } {
  const ofFields = new Map<string, string>();
  const others: string[] = [];
  for (const { pointer, message } of problems) {
    const field = fieldAt(fields, pointer);
    if (field === '') others.push(message);
    else if (!ofFields.has(field)) ofFields.set(field, message);
  }
  return { ofFields, others };
}

/** Pointer of the innermost field that a value belongs to; '' if it belongs to none. */
function fieldAt(fields: readonly Field[], pointer: string): string {
  const field = fields.find(({ name }) => `${pointer}/`.startsWith(`${pointerOf(name)}/`));
  if (field === undefined) return '';
  const own = pointerOf(field.name);
  return field.kind === 'group' ? `${own}${fieldAt(field.fields, pointer.slice(own.length))}` : own;
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
