import type { EntityManager } from '../../db/orm.ts';
import type { RunStatus } from '../../contracts/run-events.ts';
import type { NewRun } from './create.ts';
import { ENTRY_PIN, referenceOf } from './pins.ts';

/** What a retry copies from the run that it retries. */
export type RetrySource = Pick<
  NewRun,
  | 'workflow_id'
  | 'workflow_revision'
  | 'workflow_name'
  | 'definition'
  | 'input'
  | 'rights_of'
  | 'agents'
  | 'agent_id'
  | 'key'
  | 'tags'
  | 'labels'
>;

/**
 * The same revision, definition and input; the agents by their original references, to be pinned again. Null
 * if the run no longer exists.
 */
export async function readRetrySource(
  em: EntityManager,
  runId: string,
): Promise<{ source: RetrySource; status: RunStatus; hasCheckpoint: boolean } | null> {
  const [row] = await em.execute<
    (Omit<RetrySource, 'agents'> & { status: RunStatus; has_checkpoint: boolean })[]
  >(
    `select r.workflow_id, r.workflow_revision, r.workflow_name, r.definition, r.input, r.agent_id, r.status,
            r.key, r.tags, r.labels,
            coalesce(w.holder_id, r.owner_id) as rights_of, c.run_id is not null as has_checkpoint
       from run r left join workflow w on w.id = r.workflow_id
            left join run_checkpoint c on c.run_id = r.id
      where r.id = ?`,
    [runId],
  );
  if (!row) return null;
  const { status, has_checkpoint: hasCheckpoint, ...source } = row;
  const pins = await em.execute<{ reference: string; agent_id: string }[]>(
    `select reference, agent_id from run_pin where run_id = ? and reference <> ?`,
    [runId, ENTRY_PIN],
  );
  const agents = pins.map(({ reference, agent_id }) => ({ ...referenceOf(reference), agent_id }));
  return { source: { ...source, agents }, status, hasCheckpoint };
}
