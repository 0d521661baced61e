/**
 * Usage of agents (docs/budgets.md#usage): the event that ends a task adds a row to `usage_record`. The
 * reconciler folds these rows into `usage_day`; readers add up both. It is kept after its runs are removed.
 */
import type { EntityManager } from '../../db/orm.ts';
import { Conditions, type KeysetPage } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { seenBy } from '../auth/ownership.ts';

export const USAGE_BY = ['run', 'task', 'agent', 'workflow', 'user', 'day', 'model'] as const;
type UsageBy = (typeof USAGE_BY)[number];

/** Rows of one statement. */
const FOLDED = 5_000;
/** The most statements of one pass; the next pass continues. */
const MAX_FOLDS = 20;

export interface UsageFilter {
  by: UsageBy;
  /** In the first and after the last day, of UTC. */
  from?: string | undefined;
  to?: string | undefined;
  user_id?: string | undefined;
  agent_id?: string | undefined;
  workflow_id?: string | undefined;
  run_id?: string | undefined;
}

export interface UsageRow {
  key: string;
  /** Of the agent, workflow or user; of a run its workflow's. */
  name: string | null;
  invocations: number;
  /** Those of unknown cost; the cost is that of the others. */
  unpriced: number;
  input_tokens: number;
  output_tokens: number;
  /** Null: unknown of all. */
  cost_usd: number | null;
}

const SUMS = `sum(invocations)::float8 as invocations, sum(unpriced)::float8 as unpriced,
  sum(input_tokens)::float8 as input_tokens, sum(output_tokens)::float8 as output_tokens,
  case when sum(unpriced) > 0 and sum(unpriced) = sum(invocations) then null
       else sum(cost_usd)::float8 end as cost_usd`;

const OF_RECORDS = `1 as invocations, (cost_usd is null)::int as unpriced, input_tokens, output_tokens,
  coalesce(cost_usd, 0) as cost_usd`;

/** SQL: what the rows are grouped by, as text. */
const KEYS: Record<UsageBy, string> = {
  run: 'run_id::text',
  task: `run_id::text || coalesce(task, '')`,
  agent: `coalesce(agent_id::text, '')`,
  workflow: `coalesce(workflow_id::text, '')`,
  user: 'user_id::text',
  day: 'day::text',
  model: `coalesce(model, '')`,
};

const NAMES: Record<UsageBy, string> = {
  run: '(select r.workflow_name from run r where r.id::text = g.key)',
  task: `(select t.name from run_task t where t.run_id::text = left(g.key, 36)
            and t.reference = substr(g.key, 37) order by t.visit desc limit 1)`,
  agent: '(select a.name from agent a where a.id::text = g.key and ?)',
  workflow: '(select w.name from workflow w where w.id::text = g.key)',
  user: '(select u.username from user_account u where u.id::text = g.key)',
  day: 'null',
  model: 'g.key',
};

/** One's own; admins see all. In the order of keys, of runs and days the latest first. */
export async function readUsage(
  em: EntityManager,
  actor: Actor,
  filter: UsageFilter,
  page: KeysetPage,
): Promise<UsageRow[]> {
  const ofRuns = filter.by === 'run' || filter.by === 'task' || filter.run_id !== undefined;
  const latestFirst = filter.by === 'run' || filter.by === 'task' || filter.by === 'day';
  const own = isAdmin(actor) ? filter.user_id : actor.id;
  const fresh = conditions(filter, own, `at`);
  // What a runner has started is closed to them: they see the sum of a run.
  if (!isAdmin(actor) && ofRuns && filter.by !== 'run')
    fresh.add('not exists (select from run r where r.id = usage_record.run_id and r.by_grant)');
  if (!isAdmin(actor) && filter.user_id !== undefined && filter.user_id !== actor.id) return [];
  const records = `select user_id, (at at time zone 'UTC')::date as day, run_id, task, workflow_id, agent_id,
      model, ${OF_RECORDS} from usage_record where ${fresh.sql}`;
  const days = conditions(filter, own, 'day');
  const source = ofRuns
    ? records
    : `select user_id, day, null::uuid as run_id, null as task, workflow_id, agent_id, model, invocations,
         unpriced, input_tokens, output_tokens, cost_usd from usage_day where ${days.sql}
       union all ${records} and not folded`;
  const values = ofRuns ? fresh.values : [...days.values, ...fresh.values];
  // Only of agents that the caller sees: a run may use others.
  const seen = filter.by === 'agent' ? seenBy(actor, 'a') : { sql: '', values: [] };
  const after = page.after === undefined ? '' : `having ${KEYS[filter.by]} ${latestFirst ? '<' : '>'} ?`;
  return em.execute(
    `select g.key, ${NAMES[filter.by].replace('?', seen.sql)} as name, g.invocations, g.unpriced,
            g.input_tokens, g.output_tokens, g.cost_usd
       from (select ${KEYS[filter.by]} as key, ${SUMS} from (${source}) used
              group by ${KEYS[filter.by]} ${after}
              order by 1 ${latestFirst ? 'desc' : 'asc'} limit ?) g
      order by g.key ${latestFirst ? 'desc' : 'asc'}`,
    [...seen.values, ...values, ...(page.after === undefined ? [] : [page.after]), page.limit],
  );
}

function conditions(filter: UsageFilter, own: string | undefined, time: 'at' | 'day'): Conditions {
  const where = new Conditions();
  const day = time === 'at' ? `?::date::timestamp at time zone 'UTC'` : '?::date';
  if (own !== undefined) where.add('user_id = ?', own);
  if (filter.agent_id !== undefined) where.add('agent_id = ?', filter.agent_id);
  if (filter.workflow_id !== undefined) where.add('workflow_id = ?', filter.workflow_id);
  if (filter.run_id !== undefined && time === 'at') where.add('run_id = ?', filter.run_id);
  if (filter.from !== undefined) where.add(`${time} >= ${day}`, dayOf(filter.from));
  if (filter.to !== undefined) where.add(`${time} < ${day}`, dayOf(filter.to, 1));
  return where;
}

const DAY_MS = 86_400_000;
const LAST_DAY_MS = Date.UTC(9999, 11, 31);

/** A day of UTC; with `more`, that on which the time does not end any more. */
function dayOf(time: string, more = 0): string {
  const ms = Date.parse(time);
  const days = more === 0 ? Math.floor(ms / DAY_MS) : Math.ceil(ms / DAY_MS);
  return new Date(Math.min(days * DAY_MS, LAST_DAY_MS)).toISOString().slice(0, 10);
}

const COLUMNS = `user_id, day, workflow_id, agent_id, model, invocations, unpriced, input_tokens,
  output_tokens, cost_usd, first_at`;

/** @returns the number of folded records */
export async function foldUsage(em: EntityManager, heartbeat: () => void = () => {}): Promise<number> {
  let folded = 0;
  for (let pass = 0; pass < MAX_FOLDS; pass++) {
    heartbeat();
    const [row] = await em.execute<{ folded: number }[]>(
      `with taken as (
         update usage_record set folded = true
          where id in (select id from usage_record where not folded order by at limit ?
                          for update skip locked)
         returning user_id, (at at time zone 'UTC')::date as day, workflow_id, agent_id, model,
                   at, ${OF_RECORDS}),
       added as (
         insert into usage_day as d (${COLUMNS})
         select user_id, day, workflow_id, agent_id, model, sum(invocations), sum(unpriced),
                sum(input_tokens), sum(output_tokens), sum(cost_usd), min(at)
           from taken group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
         on conflict (user_id, day, workflow_id, agent_id, model) do update
           set invocations = d.invocations + excluded.invocations, unpriced = d.unpriced + excluded.unpriced,
               input_tokens = d.input_tokens + excluded.input_tokens,
               output_tokens = d.output_tokens + excluded.output_tokens,
               cost_usd = d.cost_usd + excluded.cost_usd,
               first_at = least(d.first_at, excluded.first_at))
       select count(*)::int as folded from taken`,
      [FOLDED],
    );
    folded += row?.folded ?? 0;
    if ((row?.folded ?? 0) < FOLDED) break;
  }
  return folded;
}
