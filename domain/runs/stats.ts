/**
 * Statistics of runs: counts by hour or day of the runs that the caller owns; for admins of all runs, for
 * builders of a team also of all runs of its workflows.
 */
import { utcTime } from '../../contracts/instant.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, Conditions } from '../../db/sql.ts';
import type { RunStatus } from '../../contracts/run-events.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { badRequest } from '../errors.ts';
import { HOURS_KEPT_DAYS, hoursOf } from './hours.ts';
import { mayOverseeRun } from './policy.ts';

export const STATS_UNITS = ['hour', 'day'] as const;
export type StatsUnit = (typeof STATS_UNITS)[number];

const HOUR_MS = 3_600_000;
const UNIT_MS: Readonly<Record<StatsUnit, number>> = { hour: HOUR_MS, day: 24 * HOUR_MS };
/** Without `from`. */
const DEFAULT_BUCKETS: Readonly<Record<StatsUnit, number>> = { hour: 24, day: 14 };
/** Of one series: 31 days of hours, or as many days as counts are kept. */
export const MAX_BUCKETS: Readonly<Record<StatsUnit, number>> = { hour: 31 * 24, day: HOURS_KEPT_DAYS };
/** Of all series of one answer. */
export const MAX_ALL_BUCKETS = 5_000;
export const MAX_SERIES = 200;

export interface StatsQuery {
  by: StatsUnit;
  workflow_id?: readonly string[] | undefined;
  team_id?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export interface StatsRange {
  by: StatsUnit;
  /** Beginning of the first bucket. */
  from: Date;
  /** End of the last bucket. */
  to: Date;
}

interface StatsBucket {
  at: Date;
  started: number;
  completed: number;
  faulted: number;
  cancelled: number;
  total_ms: number;
  slowest_ms: number | null;
}

export interface StatsSeries {
  /** Null: all runs. */
  workflow_id: string | null;
  last_run: { id: string; status: RunStatus; created_at: Date } | null;
  /** Those in which something happened, oldest first. */
  buckets: StatsBucket[];
}

/** Whole buckets in UTC that cover the given times. @throws bad_request */
export function statsRange({ by, from, to, workflow_id: ids }: StatsQuery, nowMs: number): StatsRange {
  const unit = UNIT_MS[by];
  const end = Math.ceil((to === undefined ? nowMs + 1 : Date.parse(to)) / unit) * unit;
  const begin =
    from === undefined ? end - DEFAULT_BUCKETS[by] * unit : Math.floor(Date.parse(from) / unit) * unit;
  const refuse = (pointer: string, message: string) =>
    badRequest('invalid_query', `${pointer} ${message}.`, [{ pointer, code: 'out_of_range', message }]);
  // Whole hours and days may begin or end outside of what a time can be.
  if (!isTime(end)) throw refuse('to', 'is too close to the end of the year 9999');
  if (!isTime(begin)) throw refuse(from === undefined ? 'to' : 'from', 'is too close to the year 1');
  const buckets = (end - begin) / unit;
  if (buckets <= 0) throw refuse('from', 'must be before `to`');
  if (buckets > MAX_BUCKETS[by])
    throw refuse('from', `may be at most ${MAX_BUCKETS[by]} ${by}s before \`to\` with \`by=${by}\``);
  if (buckets * (ids?.length ?? 1) > MAX_ALL_BUCKETS)
    throw refuse(
      'workflow_id',
      `has too many ids for so long a time: at most ${MAX_ALL_BUCKETS} ${by}s in all`,
    );
  return { by, from: new Date(begin), to: new Date(end) };
}

function isTime(ms: number): boolean {
  return utcTime(new Date(ms).toISOString()) !== null;
}

/** One series of all runs, or one for each of the workflows, in the given order. */
export async function readRunStats(
  em: EntityManager,
  actor: Actor,
  range: StatsRange,
  { workflow_id: workflowIds, team_id: teamId }: Pick<StatsQuery, 'workflow_id' | 'team_id'>,
): Promise<StatsSeries[]> {
  const ids = workflowIds && [...new Set(workflowIds)];
  const seesAll = teamId === undefined ? isAdmin(actor) : mayOverseeRun(actor, { team_id: teamId });
  const seen: Seen = { owner: seesAll ? null : actor.id, team: teamId };
  const rows = await readBuckets(em, seen, range, ids);
  if (!ids)
    return [{ workflow_id: null, last_run: null, buckets: rows.map(({ workflow_id: _id, ...row }) => row) }];
  const byWorkflow = Map.groupBy(rows, ({ workflow_id: id }) => id);
  const last = await readLastRuns(em, seen, ids);
  return ids.map((id) => ({
    workflow_id: id,
    last_run: last.get(id) ?? null,
    buckets: (byWorkflow.get(id) ?? []).map(({ workflow_id: _id, ...row }) => row),
  }));
}

/** Whose runs are counted. */
interface Seen {
  /** Null: everybody's. */
  owner: string | null;
  /** Only runs of workflows that this team has now. */
  team: string | undefined;
}

async function readBuckets(
  em: EntityManager,
  seen: Seen,
  { by, from, to }: StatsRange,
  ids: readonly string[] | undefined,
): Promise<(StatsBucket & { workflow_id: string | null })[]> {
  const where = (time: string): Conditions => {
    const conditions = ofCaller(seen, ids);
    return conditions
      .add(`${time} >= ?::timestamptz`, from.toISOString())
      .add(`${time} < ?::timestamptz`, to.toISOString());
  };
  const [folded, fresh] = [where('hour'), where('at')];
  const sum = (name: string): string => `sum(${name})::float8 as ${name}`;
  return em.execute(
    `select ${ids ? 'workflow_id' : 'null::uuid as workflow_id'}, date_trunc('${by}', hour, 'UTC') as at,
            ${['started', 'completed', 'faulted', 'cancelled', 'total_ms'].map(sum).join(', ')},
            max(slowest_ms)::float8 as slowest_ms
       from (select workflow_id, hour, started, completed, faulted, cancelled, total_ms, slowest_ms
               from run_hour where ${folded.sql}
             union all
             select workflow_id, hour, started, completed, faulted, cancelled, total_ms, slowest_ms
               from (${hoursOf(`run_hour_change where ${fresh.sql}`)}) changes) hours
      group by 1, 2 order by 2`,
    [...folded.values, ...fresh.values],
  );
}

/** The latest run of each workflow, if it is still there. */
async function readLastRuns(
  em: EntityManager,
  { owner, team }: Seen,
  ids: readonly string[],
): Promise<Map<string, NonNullable<StatsSeries['last_run']>>> {
  const mine = owner === null ? '' : 'and owner_id = ?';
  const held = team === undefined ? '' : 'join workflow w on w.id = wanted.id and w.team_id = ?::uuid';
  const rows = await em.execute<{ workflow_id: string; id: string; status: RunStatus; created_at: Date }[]>(
    `select wanted.id as workflow_id, r.id, r.status, r.created_at
       from unnest(?::uuid[]) as wanted (id) ${held}
       cross join lateral (
            select run_id from (
              (select last_run_id as run_id from run_hour
                where workflow_id = wanted.id and started > 0 ${mine}
                order by hour desc, last_run_id desc limit 1)
              union all
              (select run_id from run_hour_change
                where workflow_id = wanted.id and change = 'started' ${mine} order by run_id desc limit 1)
            ) latest order by run_id desc limit 1) last
       join run r on r.id = last.run_id`,
    [arrayLiteral(ids), ...(team === undefined ? [] : [team]), ...(owner === null ? [] : [owner, owner])],
  );
  return new Map(rows.map(({ workflow_id: workflow, ...run }) => [workflow, run]));
}

function ofCaller({ owner, team }: Seen, ids: readonly string[] | undefined): Conditions {
  const conditions = new Conditions();
  if (owner !== null) conditions.add('owner_id = ?', owner);
  if (ids) conditions.add('workflow_id = any(?::uuid[])', arrayLiteral(ids));
  if (team !== undefined)
    conditions.add('workflow_id = any(array(select w.id from workflow w where w.team_id = ?::uuid))', team);
  return conditions;
}
