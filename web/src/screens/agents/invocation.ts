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
