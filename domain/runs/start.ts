import type { EntityManager } from '@mikro-orm/postgresql';
import type { RunStart } from '../../contracts/temporal.ts';

interface StartRow {
  id: string;
  workflow_name: string;
  owner_id: string;
  workflow_id: string | null;
  root_run_id: string;
  definition: unknown;
  input: unknown;
  created_at: Date;
  checkpoint: unknown;
  fetches: boolean;
}

/** What a pending run's workflow starts with; null if the run is not pending any more. */
export async function readRunStart(em: EntityManager, runId: string): Promise<RunStart | null> {
  const [row] = await em.execute<StartRow[]>(
    `select r.id, r.workflow_name, r.owner_id, r.workflow_id, r.root_run_id, r.definition, r.input, r.created_at, c.state as checkpoint,
            exists (select from file_fetch f where f.run_id = r.id) as fetches
       from run r left join run_checkpoint c on c.run_id = r.retry_of
      where r.id = ? and r.status = 'pending'`,
    [runId],
  );
  if (!row) return null;
  return {
    run_id: row.id,
    name: row.workflow_name,
    owner_id: row.owner_id,
    workflow_id: row.workflow_id,
    root_run_id: row.root_run_id,
    definition: row.definition,
    input: row.input,
    created_at: new Date(row.created_at).toISOString(),
    checkpoint: row.checkpoint,
    ...(row.fetches ? { fetch_files: true } : {}),
  };
}

/** Pending runs whose start is due, each moved on by a doubling pause. */
export async function takePendingRuns(em: EntityManager, limit: number): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `update run r set start_attempts = start_attempts + 1,
            next_start_at = clock_timestamp() + least(interval '10 minutes', interval '5 seconds' * power(2, least(start_attempts, 10)))
      where id in (select id from run where status = 'pending' and next_start_at <= clock_timestamp()
                    order by next_start_at limit ? for update skip locked)
     returning id`,
    [limit],
  );
  return rows.map((row) => row.id);
}
