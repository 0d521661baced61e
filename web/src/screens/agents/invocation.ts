/** The input of an invocation, and the same invocation for a shell and for an A2A client. */
import { isRecord } from '../../../../contracts/is-record.ts';
import type { Entries, FieldProblem } from '../../ui/schema-form/fields.ts';
import { formProblems, readForm } from '../../ui/schema-form/form-check.ts';

/** What was entered into the form, or as text. */
export interface Entered {
  byForm: boolean;
  entries: Entries;
  text: string;
}

interface Read {
  body: { input?: unknown };
  problems: FieldProblem[];
}

export function readInput(schema: Record<string, unknown>, { byForm, entries, text }: Entered): Read {
  if (byForm) {
    const { value, problems } = readForm(schema, entries);
    return { body: { input: value }, problems };
  }
  const value = textInput(text);
  return value === undefined
    ? { body: {}, problems: [] }
    : { body: { input: value }, problems: formProblems(schema, value) };
}

/** JSON if it is JSON, else the text itself. */
function textInput(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** A file that was uploaded for an invocation. */
export interface Attached {
  /** Null: it belongs to the list `files`. */
  field: string | null;
  file: { file_id: string; name: string; media_type: string; size: number; sha256: string };
}

/** The fields that a file can go to: objects of which the schema does not say more. */
export function fileFields(schema: Record<string, unknown>): string[] {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  return Object.entries(properties).flatMap(([name, property]) =>
    isRecord(property) && property['type'] === 'object' && property['properties'] === undefined ? [name] : [],
  );
}

/** A text beside files is the `text` of the input. What was said of fields that get a file is no problem. */
export function withAttached({ body, problems }: Read, attached: readonly Attached[]): Read {
  if (attached.length === 0) return { body, problems };
  const { input } = body;
  const value: Record<string, unknown> = isRecord(input)
    ? { ...input }
    : input === undefined
      ? {}
      : { text: input };
  for (const { field, file } of attached) {
    if (field !== null) value[field] = file;
    else value['files'] = [...(Array.isArray(value['files']) ? (value['files'] as unknown[]) : []), file];
  }
  const filled = new Set(attached.map(({ field }) => `/${field ?? 'files'}`));
  return { body: { input: value }, problems: problems.filter(({ pointer }) => !filled.has(pointer)) };
}

/** A command to paste into a shell, which has the token in `TOKEN`. */
export function asCurl(
  origin: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): string {
  const lines = [
    `curl ${quoted(`${origin}${path}`)}`,
    '-H "Authorization: Bearer $TOKEN"',
    ...Object.entries({ 'Content-Type': 'application/json', ...headers }).map(
      ([name, value]) => `-H ${quoted(`${name}: ${value}`)}`,
    ),
    `-d ${quoted(JSON.stringify(body))}`,
  ];
  return lines.join(' \\\n  ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The message as `message:send` of A2A 1.0 takes it. A version cannot be named there. */
export function asA2aMessage(origin: string, agent: { id: string }, body: { input?: unknown }): string {
  const { input } = body;
  const part = typeof input === 'string' ? { text: input } : { data: isRecord(input) ? input : { input } };
  const message = { messageId: 'message-1', role: 'ROLE_USER', parts: [part] };
  return asCurl(origin, `/api/v1/a2a/${agent.id}/message:send`, { message }, { 'A2A-Version': '1.0' });
}
