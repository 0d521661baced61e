/** The input of a new run: which form asks for it, and whether it fits the workflow's schema. */
import { namesNeededMembers } from '../../../../contracts/object-members.ts';
import {
  fieldsOf,
  firstEntries,
  type Entries,
  type FieldProblem,
  type Schema,
} from '../schema-form/fields.ts';
import { formProblems, readForm } from '../schema-form/form-check.ts';
import { words } from './words.ts';

const MARKS = ['key', 'tags', 'labels'] as const;

export type InputSchema = Record<string, unknown> | boolean | null;
export type Prepared = { input: Record<string, unknown>; problems: FieldProblem[] };

/** The schema, if it has fields for all that it requires; else the input is entered as JSON. */
export function formOf(schema: InputSchema | undefined): Schema | null {
  return isObject(schema) && fieldsOf(schema).length > 0 && namesNeededMembers(schema) ? schema : null;
}

export interface FirstInput {
  entries: Entries;
  text: string;
  /** Parts of the earlier input that no field shows. */
  rest: Readonly<Record<string, unknown>>;
}

/** What a form shows first: the input of an earlier run, or the defaults of the schema. */
export function firstInput(schema: Schema | null, earlier: unknown): FirstInput {
  if (!isObject(earlier)) return { entries: firstEntries(schema), text: '', rest: {} };
  const properties = isObject(schema?.['properties']) ? schema['properties'] : {};
  const given = Object.entries(properties).map(([name, property]) => {
    const fills = isObject(property) && Object.hasOwn(earlier, name);
    return [name, fills ? { ...property, default: earlier[name] } : property] as const;
  });
  const rest = Object.entries(earlier).filter(([name]) => !Object.hasOwn(properties, name));
  return {
    entries: firstEntries({ ...schema, properties: Object.fromEntries(given) }),
    text: JSON.stringify(earlier, null, 2),
    rest: Object.fromEntries(rest),
  };
}

/** The input that was entered into the fields, with what is wrong in the words of human tasks' forms. */
export function prepareFields(schema: Schema, entries: Entries, rest: object = {}): Prepared {
  const { value: input, problems } = readForm(schema, entries, rest);
  return { input, problems };
}

/** The input that was entered as JSON. Nothing entered is an empty object. */
export function prepareJson(schema: InputSchema | undefined, text: string): Prepared {
  const refused = (message: string): Prepared => ({ input: {}, problems: [{ pointer: '', message }] });
  let value: unknown;
  try {
    value = text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    return refused(words.notJson);
  }
  if (!isObject(value)) return refused(words.notObject);
  return { input: value, problems: isObject(schema) ? formProblems(schema, value) : [] };
}

/** Problems of a refused start; its pointers are into the request. */
export function refusedFields(errors: readonly FieldProblem[]): FieldProblem[] {
  return errors.map(({ pointer, message }) => {
    const mark = MARKS.find((name) => pointer.split('/')[1] === name);
    return mark === undefined
      ? { pointer: pointer.replace(/^\/input_params(?=\/|$)/, ''), message }
      : { pointer: '', message: `${words.marks[mark]}: ${message}` };
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
