/** Reads what is left behind, after everything has ended. */
import pg from 'pg';
import { EVENT, TERMINAL_STATUSES, UNFINISHED_TASK_STATUSES } from '../../../contracts/run-events.ts';
import { createClient, type Client } from '../../support/app.ts';
import { CLOCK_SECONDS } from './definitions.ts';
import type { EventRow, Evidence, InvocationRow, RunRow, ScheduleEvidence, TaskRow } from './evidence.ts';
import type { FaultyPlatform } from './platform.ts';
import type { Scene } from './setup.ts';

/** Between these every time of the schedules is due. */
export interface DueTimes {
  from: number;
  to: number;
}

type Collected = Omit<
  Evidence,
  'ledger' | 'calls' | 'receipts' | 'streamed' | 'connections' | 'exits' | 'disturbances'
>;

const HOOKED = `type like 'io.serverlessworkflow.workflow.%' or type like 'io.cadenza.hitl.%'`;
const OVER = `r.status = any('{${TERMINAL_STATUSES.join()}}')`;
const MS = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

export async function collect(platform: FaultyPlatform, scene: Scene, due: DueTimes): Promise<Collected> {
  const client = new pg.Client({ connectionString: platform.databaseUrl });
  await client.connect();
  const rows = async <T>(sql: string, values: unknown[] = []): Promise<T[]> =>
    (await client.query(sql, values)).rows as T[];
  const [url] = platform.urls;
  const owner = createClient(url!, scene.tokens.owner);
  const admin = createClient(url!, scene.tokens.admin);
  try {
    const listed = await listedStatuses(owner);
    const runs = (await rows<RunRow>(RUNS)).map((run) => ({
      ...run,
      listed_status: listed.get(run.id) ?? null,
    }));
    return {
      runs,
      events: await rows<EventRow>(`select run_id, seq, type from run_event order by run_id, seq`),
      hooked: (
        await rows<{ id: string }>(
          `select run_id || ':' || seq as id from run_event where ${HOOKED} order by tx, gpos`,
        )
      ).map(({ id }) => id),
      tasks: await rows<TaskRow>(
        `select t.id, t.run_id, t.status, d.decision, d.comment, d.applied_at is not null as applied
           from hitl_task t left join hitl_decision d on d.task_id = t.id`,
      ),
      invocations: await rows<InvocationRow>(
        `select run_id, key, ${MS('finished_at')} as finished_at,
                substring(result::text from '"nonce":\\s*(\\d+)')::int as nonce from invocation`,
      ),
      logged: (
        await rows<{ nonce: number }>(
          `select substring(data::text from '"nonce":\\s*(\\d+)')::int as nonce from run_event
            where type = '${EVENT.taskCompleted}' and data::text like '%"nonce":%'`,
        )
      ).map(({ nonce }) => nonce),
      children: await rows(
        `select run_id, child_run_id, status from run_task where child_run_id is not null`,
      ),
      schedules: await schedulesOf(rows, scene, runs, due),
      leftOver: (await Promise.all(LEFT_OVER.map((sql) => rows<{ what: string }>(sql)))).flatMap((found) =>
        found.map(({ what }) => what),
      ),
      audit: { problems: await auditProblems(admin), counts: await auditCounts(rows) },
      budget: await budgetOf(owner, scene.agentId),
      stats: await statsOf(owner),
    };
  } finally {
    await client.end();
  }
}

const RUNS = `
  select r.id, r.workflow_name as workflow, r.labels ->> 'op' as op, r.status, r.error, r.output,
         r.parent_run_id, r.detached, ${MS('r.scheduled_at')} as scheduled_at, r.started_by, r.last_seq,
         ${MS('r.created_at')} as created_at, ${MS('r.finished_at')} as finished_at
    from run r order by r.id`;

/** Each gives texts. */
const LEFT_OVER = [
  `select 'human task ' || t.id || ' is ' || t.status || ', and its run ' || r.status as what
     from hitl_task t join run r on r.id = t.run_id where t.status in ('open', 'claimed') and ${OVER}`,
  `select 'task ' || t.reference || ' is ' || t.status || ', and its run ' || r.id || ' ' || r.status as what
     from run_task t join run r on r.id = t.run_id
    where t.status = any('{${UNFINISHED_TASK_STATUSES.join()}}') and ${OVER}`,
  `select 'listener ' || l.id || ' is open, and its run ' || r.status as what
     from listener l join run r on r.id = l.run_id where l.status = 'open' and ${OVER}`,
  `select 'run ' || run_id || ' counts as stuck' as what from run_stuck`,
  `select 'delivery ' || message_id || ' is ' || status as what from delivery where status <> 'delivered'`,
  `select 'webhook ' || url || ' was turned off: ' || disabled_reason as what
     from delivery_target where not active`,
  `select 'event ' || event_id || ' is not matched' as what from inbound_event where matched_at is null`,
];

type Rows = <T>(sql: string, values?: unknown[]) => Promise<T[]>;

async function listedStatuses(owner: Client): Promise<Map<string, string>> {
  const statuses = new Map<string, string>();
  for (let path: string | null = '/runs?limit=200'; path !== null;) {
    const { status, body, headers } = await owner.get(path);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    for (const run of body as { id: string; status: string }[]) statuses.set(run.id, run.status);
    const next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
    path = next === undefined ? null : new URL(next).pathname + new URL(next).search;
  }
  return statuses;
}

async function schedulesOf(
  rows: Rows,
  { workflows, turnsSeconds }: Scene,
  runs: readonly RunRow[],
  due: DueTimes,
): Promise<ScheduleEvidence[]> {
  const of = [
    { name: 'clock', everyMs: CLOCK_SECONDS * 1_000, overlaps: true },
    { name: 'turns', everyMs: turnsSeconds * 1_000, overlaps: false },
  ];
  return Promise.all(
    of.map(async (schedule) => ({
      ...schedule,
      ...due,
      runs: runs.flatMap(({ workflow, scheduled_at }) =>
        workflow === schedule.name && scheduled_at !== null ? [scheduled_at] : [],
      ),
      notes: await rows<ScheduleEvidence['notes'][number]>(
        `select ${MS('scheduled_at')} as at, outcome, detail, ${MS('at')} as decided_at
           from schedule_start where workflow_id = $1`,
        [workflows[schedule.name]],
      ),
    })),
  );
}

async function auditProblems(admin: Client): Promise<string[]> {
  const problems: string[] = [];
  for (let after: string | null = '0'; after !== null;) {
    const { status, body } = await admin.get(`/audit/verification?after=${after}`);
    if (status !== 200) return [`the audit log cannot be checked: ${status} ${JSON.stringify(body)}`];
    problems.push(...(body.problems as { message: string }[]).map(({ message }) => message));
    if (!body.ok && body.problems.length === 0) problems.push('the chain is not whole');
    after = body.next;
  }
  return problems;
}

async function auditCounts(rows: Rows): Promise<Record<string, number>> {
  const counts = await rows<{ action: string; count: number }>(
    `select action, count(*)::int as count from audit_entry where outcome = 'done' group by action`,
  );
  return Object.fromEntries(counts.map(({ action, count }) => [action, count]));
}

async function budgetOf(owner: Client, agentId: string): Promise<Evidence['budget']> {
  const { body: budget } = await owner.get(`/budgets/${agentId}`);
  const { body: usage } = await owner.get(`/usage?by=agent&agent_id=${agentId}`);
  const [sum] = usage as { invocations: number; cost_usd: number | null }[];
  return {
    used: budget.used.invocations,
    reserved: budget.reserved.invocations,
    costUsd: budget.used.cost_usd,
    usage: sum?.invocations ?? 0,
    usageCostUsd: sum?.cost_usd ?? 0,
  };
}

async function statsOf(owner: Client): Promise<Evidence['stats']> {
  const { body } = await owner.get('/runs/stats?by=hour');
  const sums = { started: 0, completed: 0, faulted: 0, cancelled: 0 };
  for (const hour of body.series[0].buckets as (typeof sums)[])
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += hour[name];
  return sums;
}

export interface Work {
  /** Runs, deliveries and events that have not ended. */
  open: number;
  /** Grows while anything goes on. */
  done: number;
}

/** What is still to come before the evidence is complete; null: PostgreSQL does not answer. */
export async function openWork(databaseUrl: string): Promise<Work | null> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<Work>(
      `select (select count(*) from run r where not ${OVER})::int
            + (select count(*) from delivery where status = 'pending')::int
            + (select count(*) from inbound_event where matched_at is null)::int
            + (select count(*) from run_event e, delivery_cursor c
                where (e.tx, e.gpos) > (c.tx, c.gpos) and (${HOOKED}))::int as open,
              (select count(*) from run_event)::int
            + (select count(*) from delivery where status <> 'pending')::int as done`,
    );
    return rows[0] ?? null;
  } catch {
    return null;
  } finally {
    await client.end().catch(() => {});
  }
}
