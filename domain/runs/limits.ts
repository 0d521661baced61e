/**
 * Limits that keep one request or one user from filling the installation with runs. A tree is a root run with
 * all its descendants; the root's row holds the counters.
 */
import type { EntityManager } from '../../db/orm.ts';
import type { Env } from '../../config/env.ts';
import { standardError, type DslError } from '../../contracts/dsl-error.ts';
import { fault } from '../../contracts/fault.ts';
import { AppError } from '../errors.ts';

/** How many runs back one looks for what a retry has taken over. */
export const MAX_RETRIES = 100;

export interface RunLimits {
  /** Runs below one root run. */
  maxDescendants: number;
  /** Runs from the root to the deepest one, including both. */
  maxDepth: number;
  /** Events in the logs of one tree. */
  maxTreeEvents: number;
  /** Tasks that one tree starts. */
  maxTreeTasks: number;
  /** Unfinished runs of one user, including child runs. */
  maxLiveRuns: number;
}

type Settings = Pick<
  Env,
  | 'RUN_MAX_DESCENDANTS'
  | 'RUN_MAX_DEPTH'
  | 'RUN_TREE_MAX_EVENTS'
  | 'RUN_TREE_MAX_TASKS'
  | 'USER_MAX_LIVE_RUNS'
>;

export function runLimits(env: Settings): RunLimits {
  return {
    maxDescendants: env.RUN_MAX_DESCENDANTS,
    maxDepth: env.RUN_MAX_DEPTH,
    maxTreeEvents: env.RUN_TREE_MAX_EVENTS,
    maxTreeTasks: env.RUN_TREE_MAX_TASKS,
    maxLiveRuns: env.USER_MAX_LIVE_RUNS,
  };
}

/**
 * The counters of a tree. Each run reports events and tasks in steps of 64, so that most appends do not write
 * the root's row.
 */
export interface TreeCount {
  root_run_id: string;
  events: number;
  tasks: number;
}

/** The error for a tree that exceeds its limits on events or tasks; null within the limits. */
export function treeFault({ events, tasks }: TreeCount, limits: RunLimits): DslError | null {
  const exceeded = (kind: string, max: number, setting: string): DslError =>
    standardError('runtime', `The run and its descendants have more than ${max} ${kind} (${setting})`);
  if (events > limits.maxTreeEvents)
    return exceeded('events in their logs', limits.maxTreeEvents, 'RUN_TREE_MAX_EVENTS');
  if (tasks > limits.maxTreeTasks) return exceeded('tasks', limits.maxTreeTasks, 'RUN_TREE_MAX_TASKS');
  return null;
}

/**
 * Counts one more descendant on the root's row, under its lock (lock order: a run's row, then its root's).
 * @throws Fault (DSL runtime error) at the limit; the rollback undoes the count
 */
export async function countDescendant(
  em: EntityManager,
  rootRunId: string,
  limits: RunLimits,
): Promise<void> {
  const [root] = await em.execute<{ tree_runs: number }[]>(
    `update run set tree_runs = tree_runs + 1 where id = ? returning tree_runs`,
    [rootRunId],
  );
  if (root && root.tree_runs > limits.maxDescendants) {
    throw fault(
      'runtime',
      `A run may have at most ${limits.maxDescendants} descendants (RUN_MAX_DESCENDANTS)`,
    );
  }
}

/** The refusal of a user's next run: 429 for a request, a fault for a child run. */
export function tooManyLiveRuns({ maxLiveRuns }: RunLimits): AppError {
  const detail =
    `A user may have at most ${maxLiveRuns} runs that are not over (USER_MAX_LIVE_RUNS): ` +
    'wait for some to end, or cancel them.';
  return new AppError('too_many_requests', 'too_many_live_runs', detail, {
    headers: { 'Retry-After': '10' },
  });
}
