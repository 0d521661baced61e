import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const LOOK_MS = 2_000;
/** What is not made up for by then will not be. */
const LONGEST_MS = 5 * 60_000;

/**
 * Waits until these workflows have started for, or skipped, a time after `since`, and so all before it: to
 * pause a schedule drops the times that it has not come to, many of them on a busy machine.
 */
export async function untilSchedulesAreCurrent(
  databaseUrl: string,
  workflows: readonly (string | undefined)[],
  since: number,
): Promise<void> {
  for (const begun = performance.now(); performance.now() - begun < LONGEST_MS; await sleep(LOOK_MS)) {
    const behind = await workflowsBehind(databaseUrl, workflows, since).catch(() => null);
    if (behind === 0) return;
  }
}

async function workflowsBehind(
  connectionString: string,
  workflows: readonly (string | undefined)[],
  since: number,
): Promise<number> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5_000, query_timeout: 10_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ behind: number }>(
      `select count(*)::int as behind from unnest($1::uuid[]) as w (id)
        where not exists (select from run where workflow_id = w.id and scheduled_at > $2)
          and not exists (select from schedule_start where workflow_id = w.id and scheduled_at > $2)`,
      [workflows, new Date(since)],
    );
    return rows[0]?.behind ?? workflows.length;
  } finally {
    await client.end().catch(() => {});
  }
}
