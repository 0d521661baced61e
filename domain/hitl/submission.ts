/** What somebody sends as their decision, checked against the task (interface-decisions §6): all mistakes at once. */
import { violations } from '../../contracts/validate-json.ts';
import { AppError, invalid } from '../errors.ts';
import type { FieldError } from '../errors.ts';
import type { HumanTask } from './human-task.ts';

export interface Submission {
  decision: string;
  payload?: unknown;
  comment?: string | null | undefined;
}

export interface CheckedSubmission {
  decision: string;
  payload: unknown;
  comment: string | null;
}

/** A missing payload counts as `{}` where there is a form, so that a form without required fields needs none. */
export function checkSubmission(task: Pick<HumanTask, 'decisions' | 'form_schema'>, { decision, payload, comment }: Submission): CheckedSubmission {
  const option = task.decisions.find(({ id }) => id === decision);
  if (!option) {
    const listed = task.decisions.map(({ id }) => id).join(', ');
    throw invalid([{ pointer: '/decision', code: 'unknown_decision', message: `is none of the task's decisions: ${listed}` }]);
  }
  const errors: FieldError[] = [];
  const formed = decision !== 'reject' && task.form_schema !== null;
  const filled: unknown = payload === undefined ? (formed ? {} : null) : payload;
  if (formed) {
    for (const { pointer, message } of violations(task.form_schema, filled)) {
      errors.push({ pointer: `/payload${pointer}`, code: 'form_mismatch', message });
    }
  }
  const said = comment?.trim() ? comment : null;
  if (option.requires_comment && said === null) errors.push({ pointer: '/comment', code: 'required', message: `is required with ${decision}` });
  if (errors.length > 0) throw invalid(errors);
  return { decision, payload: filled, comment: said };
}

/** Runs a check whose 422 must wait until the state has been looked at; what cannot be read at all is refused at once. */
export function later<T>(check: () => T): () => T {
  try {
    const value = check();
    return () => value;
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== 'invalid') throw error;
    return () => {
      throw error;
    };
  }
}
