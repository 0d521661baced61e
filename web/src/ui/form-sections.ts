/** What a form of several sections sends, and which section a problem belongs to. */
import { isRecord } from '../../../contracts/is-record.ts';
import {
  fieldsOf,
  firstEntries,
  problemsByField,
  type Entries,
  type FieldProblem,
  type Schema,
} from './schema-form/fields.ts';
import { formProblems, readForm } from './schema-form/form-check.ts';

export interface Section {
  id: string;
  title?: string;
  help?: string;
  /** Member of the body that the values belong to; '' for the body itself. */
  member: string;
  /** Of an object, with one property for each field. */
  schema: Schema;
  /** What the record has now. Values without a field are kept. */
  values?: Readonly<Record<string, unknown>> | null;
}

type Values = Record<string, unknown>;

/** What was entered, or what the form starts with. */
export function sectionEntries(section: Section, entered: Readonly<Record<string, Entries>>): Entries {
  return entered[section.id] ?? firstEntries(withDefaults(section.schema, section.values ?? {}));
}

function withDefaults(schema: Schema, values: Readonly<Values>): Schema {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>);
  return {
    ...schema,
    properties: Object.fromEntries(
      properties.map(([name, property]) => [
        name,
        values[name] === undefined || values[name] === null
          ? property
          : { ...property, default: values[name] },
      ]),
    ),
  };
}

/**
 * The schema without the properties whose present values do not fit it. A form that cannot show a value
 * leaves it as it is. The check of forms has been loaded.
 */
export function showable(schema: Schema, values: Readonly<Values> | null | undefined): Schema {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>);
  const fitting = properties.filter(
    ([name, property]) =>
      values?.[name] === undefined ||
      values[name] === null ||
      formProblems(property, values[name]).length === 0,
  );
  return { ...schema, properties: Object.fromEntries(fitting) };
}

/** The body to send. A field of the record that was emptied is cleared. */
export function readSections(
  sections: readonly Section[],
  entered: Readonly<Record<string, Entries>>,
): { body: Values; problems: FieldProblem[] } {
  const body: Values = {};
  const problems: FieldProblem[] = [];
  for (const section of sections) {
    const { schema, member } = section;
    const base = member === '' ? '' : `/${member}`;
    const fields = fieldsOf(schema);
    const { value, problems: found } = readForm(schema, sectionEntries(section, entered));
    problems.push(...found.map(({ pointer, message }) => ({ pointer: `${base}${pointer}`, message })));
    const names = new Set(fields.map(({ name }) => name));
    if (member === '') Object.assign(body, value, emptied(section.values ?? {}, value, names));
    else body[member] = { ...without(section.values ?? {}, names), ...value };
  }
  return { body, problems };
}

/** What was emptied: a list has no entries then, anything else is null. */
function emptied(before: Readonly<Values>, now: Readonly<Values>, names: ReadonlySet<string>): Values {
  return Object.fromEntries(
    Object.entries(before).flatMap(([name, value]): [string, unknown][] => {
      const wasSet = value !== null && value !== undefined;
      if (!names.has(name) || !wasSet || now[name] !== undefined) return [];
      return [[name, Array.isArray(value) ? [] : null]];
    }),
  );
}

function without(values: Readonly<Values>, names: ReadonlySet<string>): Values {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.has(name)));
}

/** Problems by section and field; those of no field keep their pointer in the message. */
export function problemsOfSection(
  sections: readonly Section[],
  problems: readonly FieldProblem[],
): { ofSections: Map<string, ReadonlyMap<string, string>>; others: string[] } {
  const ofSections = new Map<string, ReadonlyMap<string, string>>();
  const placed = new Set<FieldProblem>();
  for (const { id, member, schema } of sections) {
    const base = member === '' ? '' : `/${member}`;
    const fields = fieldsOf(schema);
    const own = problems
      .filter(({ pointer }) => pointer.startsWith(`${base}/`))
      .map((problem) => ({ problem, within: { ...problem, pointer: problem.pointer.slice(base.length) } }));
    const { ofFields } = problemsByField(
      fields,
      own.map(({ within }) => within),
    );
    ofSections.set(id, ofFields);
    for (const { problem, within } of own)
      if (problemsByField(fields, [within]).others.length === 0) placed.add(problem);
  }
  const others = problems
    .filter((problem) => !placed.has(problem))
    .map(({ pointer, message }) => (pointer === '' ? message : `${pointer}: ${message}`));
  return { ofSections, others };
}

/** A merge patch (RFC 7396) with the members of `body` that differ from the record. */
export function patchOf(body: Readonly<Values>, record: Readonly<Values>): Values {
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]): [string, unknown][] => {
      const before = record[name] ?? null;
      if (canonical(value) === canonical(before)) return [];
      if (!isRecord(value) || !isRecord(before)) return [[name, value]];
      const removed = Object.keys(before).filter((key) => !Object.hasOwn(value, key));
      return [
        [name, { ...patchOf(value, before), ...Object.fromEntries(removed.map((key) => [key, null])) }],
      ];
    }),
  );
}

/** The same text for equal values, whatever the order of their members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isRecord(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : part,
  );
}
