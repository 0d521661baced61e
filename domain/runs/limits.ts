/**
 * Limits that keep one request or one user from filling the installation with runs. A tree is a root run with
 * all its descendants; the root's row holds the counters.
 */
import type { EntityManager } from '../../db/orm.ts';
import type { Env } from '../../config/env.ts';
import { standardError, type DslError } from '../../contracts/dsl-error.ts';
import { fault } from '../../contracts/fault.ts';
import type { QuotaScope } from '../../contracts/quotas.ts';
import { AppError } from '../errors.ts';
import { reachedFacts } from '../quotas/check.ts';
import { QUOTA_SETTINGS, type QuotaEnv } from '../quotas/settings.ts';

/** How many runs back one looks for what a retry has taken over. */
export const MAX_RETRIES = 100;

export interface RunLimits {
  /** Runs below one root run; 0: no limit. */
  maxDescendants: number;
  /** Runs from the root to the deepest one, including both. */
  maxDepth: number;
  /** Events in the logs of one tree. */
  maxTreeEvents: number;
  /** Tasks that one tree starts. */
  maxTreeTasks: number;
  /** What its files may have. */
  storage: QuotaEnv;
  /** The transaction creates several runs, so each needs its quotas for itself. */
  several?: true;
  /** 0: no limit. */
  quotas: Record<QuotaScope, RunQuotas>;
}

interface RunQuotas {
  /** Unfinished runs, including child runs. */
  live_runs: number;
  /** Runs that start within a minute of the clock, without child runs. */
  runs_per_minute: number;
}

type Settings = QuotaEnv &
  Pick<Env, 'RUN_MAX_DESCENDANTS' | 'RUN_MAX_DEPTH' | 'RUN_TREE_MAX_EVENTS' | 'RUN_TREE_MAX_TASKS'>;

export function runLimits(env: Settings): RunLimits {
  return {
    maxDescendants: env.RUN_MAX_DESCENDANTS,
    maxDepth: env.RUN_MAX_DEPTH,
    maxTreeEvents: env.RUN_TREE_MAX_EVENTS,
    maxTreeTasks: env.RUN_TREE_MAX_TASKS,
    storage: env,
    quotas: { user: quotasOf(env, 'user'), team: quotasOf(env, 'team'), platform: quotasOf(env, 'platform') },
  };
}

function quotasOf(env: Settings, scope: QuotaScope): RunQuotas {
  return {
    live_runs: env[QUOTA_SETTINGS.live_runs[scope]],
    runs_per_minute: env[QUOTA_SETTINGS.runs_per_minute[scope]],
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
  const [root] = await em.execute<{ tree_runs: number; own: string | null }[]>(
    `update run set tree_runs = tree_runs + 1 where id = ?
     returning tree_runs, quota_of(coalesce(team_id, owner_id), 'descendants') as own`,
    [rootRunId],
  );
  if (!root) return;
  const { own } = root;
  const max = own === null ? limits.maxDescendants : Number(own);
  if (max === 0 || root.tree_runs <= max) return;
  const source = own === null ? 'RUN_MAX_DESCENDANTS' : 'quota descendants';
  throw fault('runtime', `A run may have at most ${max} descendants (${source})`);
}

/** What SQL `admit_run` says where it refuses a run. */
export interface RunRefusal {
  quota: 'live_runs' | 'runs_per_minute';
  scope: QuotaScope;
  limit: number;
  /** An administrator has given the user or team another limit than the setting. */
  own: boolean;
}

const CODES = { live_runs: 'too_many_live_runs', runs_per_minute: 'too_many_runs_per_minute' } as const;
const WHO = { user: 'A user', team: 'A team', platform: 'The platform' } as const;
const LIVE_RETRY_SECONDS = 10;
const MINUTE_SECONDS = 60;

/** The refusal of the next run: 429 for a request, a fault for a child run. */
export function runRefused(refusal: RunRefusal): AppError {
  const { quota, scope, limit, own } = refusal;
  const setting = QUOTA_SETTINGS[quota][scope];
  const source = own ? `quota ${quota}` : setting;
  const isLive = quota === 'live_runs';
  const detail = isLive
    ? `${WHO[scope]} may have at most ${limit} runs that are not over (${source}): ` +
      'wait for some to end, or cancel them.'
    : `${WHO[scope]} may start at most ${limit} runs in a minute (${source}): wait for the next one.`;
  const seconds = isLive ? LIVE_RETRY_SECONDS : MINUTE_SECONDS - new Date().getUTCSeconds();
  return new AppError('too_many_requests', CODES[quota], detail, {
    extra: reachedFacts({ ...refusal, setting }),
    headers: { 'Retry-After': String(seconds) },
  });
}

/** Whether a run was refused for now: what has asked for it can wait until there is room. */
export function isRunRefused(error: unknown): boolean {
  const codes: readonly string[] = Object.values(CODES);
  return error instanceof AppError && codes.includes(error.code);
}
