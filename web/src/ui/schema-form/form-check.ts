/**
 * Reads and checks what was entered into a form. The server's own check is loaded when a form is shown: the
 * log-in and most of the inbox do without it.
 */
import { fieldsOf, filledValue, type Entries, type FieldProblem, type Schema } from './fields.ts';

type Check = (schema: Schema, value: unknown) => FieldProblem[];

let check: Check | null = null;

/** Resolves when forms are checked here. If that cannot be loaded, the server alone checks what is sent. */
export async function loadCheck(): Promise<void> {
  if (check !== null) return;
  try {
    check = (await import('./schema-check.ts')).schemaProblems;
  } catch {
    // The server is away, or has a newer console than this page.
  }
}

export function isCheckLoaded(): boolean {
  return check !== null;
}

/** What is wrong with a value; nothing until the check is loaded. */
export function formProblems(schema: Schema, value: unknown): FieldProblem[] {
  return check?.(schema, value) ?? [];
}

/** The value that was entered, and what is wrong with it. @param rest parts that no field shows */
export function readForm(
  schema: Schema,
  entries: Entries,
  rest: object = {},
): { value: Record<string, unknown>; problems: FieldProblem[] } {
  const { value: filled, unreadable } = filledValue(fieldsOf(schema), entries);
  const value = { ...rest, ...filled };
  const found = formProblems(schema, value).filter(
    ({ pointer }) => !unreadable.some((other) => other.pointer === pointer),
  );
  return { value, problems: [...unreadable, ...found] };
}
