import { agentKind } from '../../contracts/agent-configuration.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import type { RunStart } from '../../contracts/temporal.ts';
import { ENTRY_PIN, referenceOf } from './pins.ts';
import type { RunRow } from './row.ts';

/** What the start of a run needs beside its row. */
export interface StartFacts {
  definition: unknown;
  checkpoint: unknown;
  fetches: boolean;
  streams: boolean;
  /** The quota of its owner or team, if it has one of its own. */
  max_events: string | null;
  pins: PinFacts[] | null;
}

/** What decides whether calls of a pinned agent may be short. */
interface PinFacts {
  reference: string;
  agent_id: string;
  name: string;
  type: string;
  execution_type: string | null;
  endpoint: unknown;
  base_url: unknown;
  idempotent: unknown;
  long: unknown;
}

type StartRow = StartFacts &
  Pick<RunRow, 'id' | 'workflow_name' | 'owner_id' | 'workflow_id' | 'root_run_id' | 'input' | 'created_at'>;

/** SQL: the `StartFacts` of the run `r`. */
export const START_COLUMNS = `r.definition, r.streams,
  quota_of(coalesce(r.team_id, r.owner_id), 'run_events') as max_events,
  coalesce(r.start_state, (select c.state from run_checkpoint c where c.run_id = r.retry_of)) as checkpoint,
  exists (select from file_fetch f where f.run_id = r.id) as fetches,
  (select json_agg(json_build_object(
            'reference', p.reference, 'agent_id', p.agent_id, 'name', p.snapshot -> 'name',
            'type', p.snapshot -> 'type',
            'execution_type', p.snapshot -> 'execution_type',
            'endpoint', p.snapshot #> '{configuration,endpoint}',
            'base_url', p.snapshot #> '{configuration,base_url}',
            'idempotent', p.snapshot #> '{configuration,retry,idempotent}',
            'long', p.snapshot #> '{configuration,async}'))
     from run_pin p where p.run_id = r.id) as pins`;

const START = new Prepared(
  `select r.id, r.workflow_name, r.owner_id, r.workflow_id, r.root_run_id, r.input, r.created_at,
          ${START_COLUMNS}
     from run r where r.id = ? and r.status = 'pending'`,
);

/** The arguments for a pending run's workflow; null if the run is no longer pending. */
export async function readRunStart(em: EntityManager, runId: string): Promise<RunStart | null> {
  const [row] = await START.execute<StartRow>(em, [runId]);
  return row === undefined ? null : runStart(row);
}

export function runStart(row: StartRow): RunStart {
  const entry = row.pins?.find(({ reference }) => reference === ENTRY_PIN);
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
    ...(row.max_events === null ? {} : { max_events: Number(row.max_events) }),
    ...(row.streams ? { streams: true } : {}),
    ...(row.fetches ? { fetch_files: true } : {}),
    ...(entry ? { enters: { agent: entry.agent_id, name: entry.name } } : {}),
    short_agents: (row.pins ?? []).filter(isShort).map(({ reference }) => referenceOf(reference)),
  };
}

/** A call of an LLM is never short: it takes long, and a repetition costs money. Nor is one of a long job. */
function isShort({ type, execution_type, endpoint, base_url, idempotent, long }: PinFacts): boolean {
  const configuration = { endpoint: endpoint ?? undefined, base_url: base_url ?? undefined };
  return (
    agentKind({ type, execution_type, configuration }) === 'api' && idempotent !== false && long === null
  );
}

/** Pending runs whose start is due; each is postponed by a doubling pause. */
export async function takePendingRuns(em: EntityManager, limit: number): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `update run r set start_attempts = start_attempts + 1,
            next_start_at = clock_timestamp()
              + least(interval '10 minutes', interval '5 seconds' * power(2, least(start_attempts, 10)))
      where id in (select id from run where status = 'pending' and next_start_at <= clock_timestamp()
                    order by next_start_at limit ? for no key update skip locked)
     returning id`,
    [limit],
  );
  return rows.map((row) => row.id);
}
