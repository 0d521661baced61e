/**
 * Checks a submitted decision against its task (docs/interface.md#human-tasks) and reports all mistakes at
 * once.
 */
import { formErrors } from '../../language/schema/form-errors.ts';
import { invalid, keepRefusal, type Checked, type FieldError } from '../errors.ts';
import { schemaViolations } from '../schema-check.ts';
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

/** Keeps the 422 of what is wrong, for after the checks of the state. */
export async function checkSubmission(
  userId: string,
  task: Pick<HumanTask, 'decisions' | 'form_schema'>,
  submission: Checked<Submission>,
): Promise<Checked<CheckedSubmission>> {
  if ('refusal' in submission) return submission;
  try {
    return { value: await readSubmission(userId, task, submission.value) };
  } catch (error) {
    return keepRefusal(error);
  }
}

/** With a form, a missing payload counts as `{}`: a form without required fields needs no payload. */
async function readSubmission(
  userId: string,
  task: Pick<HumanTask, 'decisions' | 'form_schema'>,
  { decision, payload, comment }: Submission,
): Promise<CheckedSubmission> {
  const option = task.decisions.find(({ id }) => id === decision);
  if (!option) {
    const listed = task.decisions.map(({ id }) => id).join(', ');
    throw invalid([
      {
        pointer: '/decision',
        code: 'unknown_decision',
        message: `must be one of the task's decisions: ${listed}`,
      },
    ]);
  }
  const errors: FieldError[] = [];
  const formed = decision !== 'reject' && task.form_schema !== null;
  const filled: unknown = payload === undefined ? (formed ? {} : null) : payload;
  if (formed)
    errors.push(
      ...formErrors(task.form_schema ?? {}, await schemaViolations(userId, task.form_schema, filled)),
    );
  const commentText = comment?.trim() ? comment : null;
  if (option.requires_comment && commentText === null) {
    errors.push({
      pointer: '/comment',
      code: 'required',
      message: `Comment is missing: ${option.label} requires one`,
    });
  }
  if (errors.length > 0) throw invalid(errors, inWords(errors));
  return { decision, payload: filled, comment: commentText };
}

const MAX_SUMMARIZED = 5;

/** A one-line summary: the first mistakes, and how many more there are. */
function inWords(errors: readonly FieldError[]): string {
  const more = errors.length - MAX_SUMMARIZED;
  return `${errors
    .slice(0, MAX_SUMMARIZED)
    .map(({ message }) => message)
    .join('. ')}.${more > 0 ? ` And ${more} more.` : ''}`;
}
