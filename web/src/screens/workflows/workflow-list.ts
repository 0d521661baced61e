/** What the list of workflows asks for. */
import type { ListedWorkflow, Workflow } from '../../../../client/index.ts';

export type Listed = ListedWorkflow | Workflow;

export const SCOPES = ['all', 'mine', 'public'] as const;
export type Scope = (typeof SCOPES)[number];

export function scopeOf(text: string | undefined): Scope {
  return SCOPES.find((scope) => scope === text) ?? 'all';
}

/** The parameters of `listWorkflows` for a filter. */
export function queryOf(scope: Scope, q: string, userId: string, team = '') {
  return {
    ...(team === '' ? {} : { team_id: team }),
    ...(scope === 'mine' ? { owner_id: userId } : {}),
    ...(scope === 'public' ? { visibility: 'public' as const } : {}),
    ...(q === '' ? {} : { q }),
  };
}

/** Newest first; ids grow with time. */
export function compareById(left: { id: string }, right: { id: string }): number {
  return left.id < right.id ? 1 : left.id > right.id ? -1 : 0;
}
