/**
 * What workflows and agents did since midnight (UTC), for monitoring. Prometheus takes the midnight for a
 * restart of its counters. One label stands for all beyond the first `labels` workflows or agents of the day.
 */
import type { EntityManager } from '../../db/orm.ts';
import { hoursOf, RUN_LENGTHS } from '../runs/hours.ts';

interface WorkflowDay {
  /** The workflow's id, `none` for runs without a workflow, `other` for all that are not named. */
  workflow: string;
  started: number;
  completed: number;
  faulted: number;
  cancelled: number;
  /** How long the completed runs took together. */
  total_seconds: number;
  /** For each of `RUN_LENGTHS` how many of them took at most so long. */
  lengths: number[];
}

/** What calls of agents used. */
interface Used {
  invocations: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
}

interface AgentDay extends Used {
  /** The agent's id, `none` or `other`. */
  agent: string;
}

/** What the calls of its runs used. */
interface SpendingDay extends Used {
  workflow: string;
}

/** Human tasks of a workflow that were claimed first or decided, by how long that took. */
export interface HumanDay {
  workflow: string;
  what: 'claim' | 'decide';
  /** For each of `HUMAN_SECONDS` how many took at most so long, and at the end how many there are. */
  counts: number[];
  total_seconds: number;
}

export interface DayFigures {
  workflows: WorkflowDay[];
  agents: AgentDay[];
  spending: SpendingDay[];
  humans: HumanDay[];
  /** How long the oldest event of runs has been waiting to be looked at for deliveries; 0 if none does. */
  eventLagSeconds: number;
}

/** From a minute to a week. */
export const HUMAN_SECONDS = [60, 300, 1_800, 3_600, 14_400, 28_800, 86_400, 259_200, 604_800] as const;

const DAY = `date_trunc('day', clock_timestamp(), 'UTC')`;

/** @param labels the most workflows, and the most agents, that are named */
export async function readDayFigures(em: EntityManager, labels: number): Promise<DayFigures> {
  const workflows = await workflowsOfDay(em, labels);
  const agents = await usedOfDay<AgentDay>(em, 'agent_id', 'agent', labels);
  const spending = await usedOfDay<SpendingDay>(em, 'workflow_id', 'workflow', labels);
  const humans = await humansOfDay(em, labels);
  return { workflows, agents, spending, humans, eventLagSeconds: await eventLag(em) };
}

/** SQL: the places of a grouped column by who came first, for `labelOf`. */
const placeOf = (column: string, at: string): string =>
  `row_number() over (order by min(${at}), ${column}) as place`;

/** SQL: the label of a column's value at its place; its one `?` is how many are named. */
const labelOf = (column: string): string =>
  `case when place > ? then 'other' else coalesce(${column}::text, 'none') end`;

async function workflowsOfDay(em: EntityManager, labels: number): Promise<WorkflowDay[]> {
  const columns = ['started', 'completed', 'faulted', 'cancelled', 'total_ms', ...RUN_LENGTHS.map(columnOf)];
  const sums = (cast: string): string =>
    columns.map((column) => `sum(${column})${cast} as ${column}`).join(', ');
  const rows = await em.execute<(Record<string, number> & { workflow: string })[]>(
    `with counted as (
       select workflow_id, coalesce(first_at, hour) as first_at, ${columns.join(', ')}
         from run_hour where hour >= ${DAY}
       union all
       select workflow_id, first_at, ${columns.join(', ')}
         from (${hoursOf(`run_hour_change where at >= ${DAY}`)}) changes),
     summed as (
       select workflow_id, ${sums('')},
              ${placeOf('workflow_id', 'first_at')}
         from counted group by workflow_id)
     select ${labelOf('workflow_id')} as workflow,
            ${sums('::float8')}
       from summed group by 1 order by 1`,
    [labels],
  );
  const count = (row: Record<string, number>, column: string): number => row[column] ?? 0;
  return rows.map(({ workflow, ...row }) => ({
    workflow,
    started: count(row, 'started'),
    completed: count(row, 'completed'),
    faulted: count(row, 'faulted'),
    cancelled: count(row, 'cancelled'),
    total_seconds: count(row, 'total_ms') / 1_000,
    lengths: RUN_LENGTHS.map(({ column }) => count(row, column)),
  }));
}

function columnOf({ column }: (typeof RUN_LENGTHS)[number]): string {
  return column;
}

/** SQL: what was used today, by user, workflow, agent and model or call. */
const USED_TODAY = `
  select workflow_id, agent_id, coalesce(first_at, ${DAY}) as first_at, invocations, input_tokens,
         output_tokens, cost_usd
    from usage_day where day = (clock_timestamp() at time zone 'UTC')::date
  union all
  select workflow_id, agent_id, at, 1, input_tokens, output_tokens, coalesce(cost_usd, 0)
    from usage_record where not folded and at >= ${DAY}`;

/**
 * Those that were used first today have a label of their own. It stays theirs all day: a counter that fell
 * would be taken for a restart.
 */
function usedOfDay<Row>(
  em: EntityManager,
  column: 'agent_id' | 'workflow_id',
  name: string,
  labels: number,
): Promise<Row[]> {
  return em.execute(
    `with summed as (
       select ${column}, sum(invocations) as invocations, sum(input_tokens) as input_tokens,
              sum(output_tokens) as output_tokens, sum(cost_usd) as cost_usd,
              ${placeOf(column, 'first_at')}
         from (${USED_TODAY}) used group by ${column})
     select ${labelOf(column)} as ${name},
            sum(invocations)::float8 as invocations, sum(input_tokens)::float8 as input_tokens,
            sum(output_tokens)::float8 as output_tokens, sum(cost_usd)::float8 as cost_usd
       from summed group by 1 order by 1`,
    [labels],
  ) as Promise<Row[]>;
}

/** Copies of before wrote the last claim only. */
const FIRST_CLAIM = 'coalesce(first_claimed_at, claimed_at)';

async function humansOfDay(em: EntityManager, labels: number): Promise<HumanDay[]> {
  const rows = await em.execute<Bucket[]>(
    `with took as (
       select workflow_id, 'claim' as what, ${FIRST_CLAIM} as at, created_at
         from hitl_task where ${FIRST_CLAIM} >= ${DAY}
       union all
       select t.workflow_id, 'decide', d.decided_at, t.created_at
         from hitl_decision d join hitl_task t on t.id = d.task_id
        where d.decided_at >= ${DAY}),
     places as (
       select workflow_id, ${placeOf('workflow_id', 'at')}
         from took group by workflow_id),
     labelled as (
       select ${labelOf('p.workflow_id')} as workflow,
              what, extract(epoch from at - created_at)::float8 as seconds
         from took t join places p on p.workflow_id is not distinct from t.workflow_id)
     select workflow, what, width_bucket(seconds, array[${HUMAN_SECONDS.join(', ')}]::float8[]) as at,
            sum(seconds)::float8 as seconds, count(*)::int as count
       from labelled group by 1, 2, 3 order by 1, 2, 3`,
    [labels],
  );
  return histograms(rows);
}

interface Bucket extends Pick<HumanDay, 'workflow' | 'what'> {
  /** Index of the smallest of `HUMAN_SECONDS` that is longer. */
  at: number;
  seconds: number;
  count: number;
}

function histograms(rows: readonly Bucket[]): HumanDay[] {
  const days = new Map<string, HumanDay>();
  for (const { workflow, what, at, seconds, count } of rows) {
    const key = `${workflow} ${what}`;
    const day = days.get(key) ?? {
      workflow,
      what,
      counts: Array.from({ length: HUMAN_SECONDS.length + 1 }, () => 0),
      total_seconds: 0,
    };
    for (let place = at; place < day.counts.length; place += 1)
      day.counts[place] = (day.counts[place] ?? 0) + count;
    day.total_seconds += seconds;
    days.set(key, day);
  }
  return [...days.values()];
}

/**
 * Of deliveries; traces have a cursor of their own. Without a target nobody waits for events, and the cursor
 * stays where it is.
 */
async function eventLag(em: EntityManager): Promise<number> {
  const [row] = await em.execute<{ lag: number }[]>(
    `select coalesce(greatest(extract(epoch from clock_timestamp() - (
       select log_after(c.tx, c.gpos) from delivery_cursor c
        where c.name = 'fan_out' and exists (select 1 from delivery_target where active))), 0), 0)::float8
       as lag`,
  );
  return row?.lag ?? 0;
}
