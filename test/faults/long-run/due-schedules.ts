import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const LOOK_MS = 2_000;
/** What is not made up for by then will not be. */
const LONGEST_MS = 10 * 60_000;
/** Starts do not come in the order of their times. What is older has come. */
const BACK_MS = 5 * 60_000;

export interface DueSchedule {
  workflowId: string;
  everyMs: number;
  /** When it began. */
  from: number;
}

/**
 * Waits until each time of these schedules before `until` has a run or a note: a start that comes when its
 * schedule is paused is skipped, and of many notes only the last ones are kept.
 */
export async function untilTimesHaveCome(
  databaseUrl: string,
  schedules: readonly DueSchedule[],
  until: number,
): Promise<void> {
  for (const begun = performance.now(); performance.now() - begun < LONGEST_MS; await sleep(LOOK_MS)) {
    const missing = await countMissing(databaseUrl, schedules, until).catch(() => null);
    if (missing === 0) return;
  }
}

async function countMissing(
  connectionString: string,
  schedules: readonly DueSchedule[],
  until: number,
): Promise<number> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5_000, query_timeout: 10_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const due = schedules.flatMap(({ workflowId, everyMs, from }) => {
      const first = Math.ceil(Math.max(from, until - BACK_MS) / everyMs);
      const last = Math.floor(until / everyMs);
      const count = Math.max(0, last - first + 1);
      return Array.from({ length: count }, (_unused, i) => ({ workflowId, at: (first + i) * everyMs }));
    });
    const { rows } = await client.query<{ missing: number }>(
      `select count(*)::int as missing from unnest($1::uuid[], $2::timestamptz[]) as d (workflow_id, at)
        where not exists (select from run r where r.workflow_id = d.workflow_id and r.scheduled_at = d.at)
          and not exists (select from schedule_start s
                           where s.workflow_id = d.workflow_id and s.scheduled_at = d.at)`,
      [due.map(({ workflowId }) => workflowId), due.map(({ at }) => new Date(at))],
    );
    return rows[0]?.missing ?? due.length;
  } finally {
    await client.end().catch(() => {});
  }
}
