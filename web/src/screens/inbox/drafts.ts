/** What somebody has entered for a task but not sent. It stays while they look at other tasks. */
import { signal } from '@preact/signals';

import { whenUserLeaves } from '../../data/session.ts';
import { firstEntries, type Entries, type FieldProblem, type Schema } from '../../ui/schema-form/fields.ts';

interface Draft {
  entries: Entries;
  comment: string;
  /** Decision that Enter would send. */
  armed: string | null;
  problems: readonly FieldProblem[];
}

const drafts = signal<ReadonlyMap<string, Draft>>(new Map());

whenUserLeaves(() => (drafts.value = new Map()));

interface Drafted {
  id: string;
  form_schema?: Schema | null;
}

export function draftOf(task: Drafted): Draft {
  return (
    drafts.value.get(task.id) ?? {
      entries: firstEntries(task.form_schema),
      comment: '',
      armed: null,
      problems: [],
    }
  );
}

export function changeDraft(task: Drafted, change: Partial<Draft>): void {
  drafts.value = new Map(drafts.value).set(task.id, { ...draftOf(task), ...change });
}

/** Whoever comes back to a task later has to prepare the decision anew. */
export function disarm(id: string): void {
  const draft = drafts.peek().get(id);
  if (draft !== undefined && draft.armed !== null)
    drafts.value = new Map(drafts.peek()).set(id, { ...draft, armed: null });
}

/** Adds what the server has found wrong; the task may not be on the screen. */
export function setProblems(id: string, problems: readonly FieldProblem[]): void {
  const draft = drafts.value.get(id);
  if (draft !== undefined) drafts.value = new Map(drafts.value).set(id, { ...draft, problems });
}

export function dropDraft(id: string): void {
  const rest = new Map(drafts.value);
  rest.delete(id);
  drafts.value = rest;
}
