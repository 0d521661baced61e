/** The input of an invocation, and the same invocation for a shell and for an A2A client. */
import { isRecord } from '../../../../contracts/is-record.ts';
import { formErrors } from '../../../../language/schema/form-errors.ts';
import { violations } from '../../../../language/schema/validate-json.ts';
import { fieldsOf, filledValue, type Entries } from '../../ui/schema-form/fields.ts';

/** What was entered into the form, or as text. */
export interface Entered {
  byForm: boolean;
  entries: Entries;
  text: string;
}

interface Read {
  body: { input?: unknown };
  problems: { pointer: string; message: string }[];
}

export function readInput(schema: Record<string, unknown>, { byForm, entries, text }: Entered): Read {
  const { value, unreadable } = byForm
    ? filledValue(fieldsOf(schema), entries)
    : { value: textInput(text), unreadable: [] };
  const checked = value === undefined ? [] : formErrors(schema, violations(schema, value));
  const mismatches = checked.map(({ pointer, message }) => ({
    pointer: pointer.slice('/payload'.length),
    message,
  }));
  const others = mismatches.filter(({ pointer }) => !unreadable.some((one) => one.pointer === pointer));
  return { body: value === undefined ? {} : { input: value }, problems: [...unreadable, ...others] };
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
