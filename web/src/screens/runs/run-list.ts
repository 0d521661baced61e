/** What the list of runs asks the server for, and what it shows of a run. */
import { unescapeToken } from '../../../../contracts/json-pointer.ts';
import type { Run, RunBatch, RunSummary } from '../../../../client/index.ts';
import type { Query } from '../../app/routes.ts';
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

const HOUR_MS = 3_600_000;
/** By duration as ISO 8601 writes it. */
export const PERIODS_MS: Readonly<Record<string, number>> = {
  PT1H: HOUR_MS,
  P1D: 24 * HOUR_MS,
  P7D: 7 * 24 * HOUR_MS,
  P30D: 30 * 24 * HOUR_MS,
};

/** Each as in the address; an empty text does not filter. */
export interface RunFilter {
  status: string;
  workflow: string;
  /** Id of the team of the workflow. */
  team: string;
  /** Id of a user, or `me`. */
  owner: string;
  tag: string;
  /** A tag of the run itself, or a label as `name=value`. */
  mark: string;
  key: string;
  since: string;
  q: string;
}

export function filterOf(query: Query): RunFilter {
  const { status = '', workflow = '', team = '', owner = '', since = '' } = query;
  const { tag = '', mark = '', key = '', q = '' } = query;
  const known = Object.hasOwn(PERIODS_MS, since) ? since : '';
  return { status, workflow, team, owner, tag, mark, key, since: known, q };
}

/** The filter as parameters of the API. */
export function queryOf(filter: RunFilter, nowMs: number) {
  const { status, workflow, team, owner, tag, mark, key, since, q } = filter;
  const period = PERIODS_MS[since];
  return {
    ...(status === '' ? {} : { status }),
    ...(workflow === '' ? {} : { workflow_id: workflow }),
    ...(team === '' ? {} : { team_id: team }),
    ...(owner === '' ? {} : { owner_id: owner }),
    ...(tag === '' ? {} : { tag }),
    ...(mark === '' ? {} : mark.includes('=') ? { label: mark } : { run_tag: mark }),
    ...(key === '' ? {} : { key }),
    ...(period === undefined ? {} : { created_after: new Date(nowMs - period).toISOString() }),
    ...(q === '' ? {} : { q }),
  };
}

/** Whether a run that has changed belongs in the list. */
export function showsRun(
  { status, workflow, team, owner, key, since }: RunFilter,
  run: ListedRun,
  userId: string,
  nowMs: number,
): boolean {
  if (status !== '' && run.status !== status) return false;
  if (owner !== '' && run.owner_id !== (owner === 'me' ? userId : owner)) return false;
  if (nowMs - Date.parse(run.created_at) > (PERIODS_MS[since] ?? Infinity)) return false;
  if (team !== '' && run.team_id !== team) return false;
  if (key !== '' && run.key !== key) return false;
  return workflow === '' || run.workflow_id === workflow;
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
  return unescapeToken(pointer.split('/').at(-1) ?? '');
}

export const BULK_ACTIONS = ['suspend', 'resume', 'retry', 'cancel'] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];
export const BULK_KEYS: Readonly<Record<BulkAction, string>> = {
  suspend: 'S',
  resume: 'S',
  retry: 'R',
  cancel: 'C',
};

/** The runs among these that the action is for. */
export function runsFor<T extends Pick<ListedRun, 'can'>>(action: BulkAction, runs: readonly T[]): T[] {
  return runs.filter(({ can }) => can.includes(action));
}

type Results = RunBatch['results'];

/** How many were done, and why others were not, each reason with the number of its runs. */
export function outcomeOf(results: Results): { done: number; refused: [reason: string, count: number][] } {
  const refused = new Map<string, number>();
  for (const { problem } of results)
    if (problem !== undefined) refused.set(problem.detail, (refused.get(problem.detail) ?? 0) + 1);
  const done = results.filter(({ problem }) => problem === undefined).length;
  return { done, refused: [...refused] };
}
