/** What the list of workflows shows, and how their latest runs went. */
import type { ListedWorkflow, Run, RunSummary, Workflow } from '../../../../client/index.ts';

export type Listed = ListedWorkflow | Workflow;
export type LatestRun = RunSummary | Run;

export const SCOPES = ['all', 'mine', 'public'] as const;
export type Scope = (typeof SCOPES)[number];

/** Runs of one workflow that the list shows as marks. */
const SHOWN_RUNS = 7;

export function scopeOf(text: string | undefined): Scope {
  return SCOPES.find((scope) => scope === text) ?? 'all';
}

/** The parameters of `listWorkflows` for a filter. */
export function queryOf(scope: Scope, q: string, userId: string) {
  return {
    ...(scope === 'mine' ? { owner_id: userId } : {}),
    ...(scope === 'public' ? { visibility: 'public' as const } : {}),
    ...(q === '' ? {} : { q }),
  };
}

/** Newest first; ids grow with time. */
export function compareById(left: { id: string }, right: { id: string }): number {
  return left.id < right.id ? 1 : left.id > right.id ? -1 : 0;
}

/** The latest runs of each workflow, oldest first. @param runs newest first */
export function latestByWorkflow<T extends Pick<LatestRun, 'workflow_id'>>(
  runs: readonly T[],
): Map<string, T[]> {
  const latest = new Map<string, T[]>();
  for (const run of runs) {
    if (run.workflow_id === null) continue;
    const known = latest.get(run.workflow_id) ?? [];
    if (known.length < SHOWN_RUNS) latest.set(run.workflow_id, [run, ...known]);
  }
  return latest;
}
