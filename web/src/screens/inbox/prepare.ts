/** Checks a decision before it is sent, by the server's own rules and in its words. */
import type { Entries, FieldProblem } from '../../ui/schema-form/fields.ts';
import { readForm } from '../../ui/schema-form/form-check.ts';
import { words } from './words.ts';

export interface Prepared {
  body: { decision: string; payload?: unknown; comment?: string };
  /** Pointers are into the body, as those of the server are. */
  problems: FieldProblem[];
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
  const comment = entered.comment.trim();
  const body: Prepared['body'] = { decision, ...(comment === '' ? {} : { comment }) };
  const problems: Prepared['problems'] = [];
  if (asksForm(task, decision)) {
    const read = readForm(task.form_schema ?? {}, entered.entries);
    problems.push(...read.problems.map((problem) => ({ ...problem, pointer: `/payload${problem.pointer}` })));
    body.payload = read.value;
  }
  const option = task.decisions?.find(({ id }) => id === decision);
  if (option?.requires_comment === true && comment === '')
    problems.push({ pointer: '/comment', message: words.commentMissing });
  return { body, problems };
}

/** A rejection needs no form. */
export function asksForm({ form_schema: schema }: Decidable, decision: string): boolean {
  return schema !== null && schema !== undefined && decision !== 'reject';
}
