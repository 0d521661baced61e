/** What the list of runs shows of a run. */
import type { Run, RunSummary } from '../../../../client/index.ts';
import { words } from './words.ts';

export type ListedRun = RunSummary | Run;

export const STATUSES = [
  'pending',
  'running',
  'waiting',
  'suspended',
  'completed',
  'faulted',
  'cancelled',
] as const;

export interface RunFilter {
  status: string;
  workflowId: string;
  q: string;
}

export function showsRun({ status, workflowId }: RunFilter, run: ListedRun): boolean {
  if (status !== '' && run.status !== status) return false;
  return workflowId === '' || run.workflow_id === workflowId;
}

/** Newest first; ids grow with time. */
export function compareRuns(left: ListedRun, right: ListedRun): number {
  return left.id < right.id ? 1 : left.id > right.id ? -1 : 0;
}

/** `a person in review`. */
export function waitText(run: Pick<ListedRun, 'status' | 'waiting_on'>): string {
  const [first] = run.waiting_on ?? [];
  if (run.status !== 'waiting' || first === undefined) return '';
  return words.waitsIn(words.waits[first.kind], taskName(first.task));
}

/** Name of a task by its JSON pointer. */
function taskName(pointer: string): string {
  return (pointer.split('/').at(-1) ?? '').replaceAll('~1', '/').replaceAll('~0', '~');
}
