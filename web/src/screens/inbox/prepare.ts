/** Checks a decision before it is sent, by the server's own rules and in its words. */
import { formErrors } from '../../../../language/schema/form-errors.ts';
import { violations } from '../../../../language/schema/validate-json.ts';
import { fieldsOf, filledValue, type Entries, type Schema } from '../../ui/schema-form/fields.ts';
import { words } from './words.ts';

export interface Prepared {
  body: { decision: string; payload?: unknown; comment?: string };
  /** Pointers are into the body, as those of the server are. */
  problems: { pointer: string; message: string }[];
}

interface Decidable {
  form_schema?: Record<string, unknown> | null;
  decisions?: readonly { id: string; requires_comment: boolean }[];
}

export function prepareDecision(
  task: Decidable,
  decision: string,
  entered: { entries: Entries; comment: string },
): Prepared {
  const schema: Schema | null = task.form_schema ?? null;
  const comment = entered.comment.trim();
  const body: Prepared['body'] = { decision, ...(comment === '' ? {} : { comment }) };
  const problems: Prepared['problems'] = [];
  // A rejection needs no form.
  if (schema !== null && decision !== 'reject') {
    const { value, unreadable } = filledValue(fieldsOf(schema), entered.entries);
    const under = unreadable.map(({ pointer, message }) => ({ pointer: `/payload${pointer}`, message }));
    const found = formErrors(schema, violations(schema, value)).filter(
      ({ pointer }) => !under.some((other) => other.pointer === pointer),
    );
    problems.push(...under, ...found.map(({ pointer, message }) => ({ pointer, message })));
    body.payload = value;
  }
  const option = task.decisions?.find(({ id }) => id === decision);
  if (option?.requires_comment === true && comment === '')
    problems.push({ pointer: '/comment', message: words.commentMissing });
  return { body, problems };
}
