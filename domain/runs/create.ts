/** A run comes into being: row, pins, first event, in the caller's transaction. Its workflow starts after the commit. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '@mikro-orm/postgresql';
import { EVENT } from '../../contracts/run-events.ts';
import { appendEvents, serviceEvent } from './events.ts';
import { pinAll } from './pins.ts';
import { fileIdsIn, inheritFiles, linkFiles } from '../files/run-files.ts';
import { storable } from '../storable.ts';
import type { AgentReference } from './pins.ts';

export interface NewRun {
  id?: string;
  workflow_id: string | null;
  workflow_revision: number | null;
  workflow_name: string;
  definition: unknown;
  input: unknown;
  /** Who runs it: sees it, and its usage is booked on them. */
  owner_id: string;
  /** Whose agents and secrets the definition means: the workflow's owner. */
  rights_of: string;
  agents: AgentReference[];
  agent_id?: string | null;
  parent?: { run_id: string; task: string; root_run_id: string };
  retry_of?: string | null;
}

/** @returns the run's id. */
export async function createRun(em: EntityManager, run: NewRun): Promise<string> {
  const id = run.id ?? uuidv7();
  // A moment's delay, so that the reconciler leaves the start to who made the run.
  const inserted = await em.execute<{ id: string }[]>(
    `insert into run (id, workflow_id, workflow_revision, workflow_name, definition, status, input, owner_id, parent_run_id, parent_task,
                      root_run_id, retry_of, agent_id, next_start_at)
     values (?, ?, ?, ?, ?::json, 'pending', ?::json, ?, ?, ?, ?, ?, ?, clock_timestamp() + interval '5 seconds')
     on conflict (id) do nothing returning id`,
    [
      id,
      run.workflow_id,
      run.workflow_revision,
      run.workflow_name,
      JSON.stringify(run.definition),
      JSON.stringify(storable(run.input)),
      run.owner_id,
      run.parent?.run_id ?? null,
      run.parent?.task ?? null,
      run.parent?.root_run_id ?? id,
      run.retry_of ?? null,
      run.agent_id ?? null,
    ],
  );
  if (inserted.length === 0) return id;
  await pinAll(em, id, run.rights_of, run.agents);
  await linkFiles(em, { id, owner_id: run.owner_id }, fileIdsIn(run.input));
  if (run.retry_of) await inheritFiles(em, run.retry_of, id);
  const event = serviceEvent({
    key: 'run:created',
    type: EVENT.runCreated,
    message: `Run of ${run.workflow_name} created`,
    data: { workflow_id: run.workflow_id, workflow_revision: run.workflow_revision, owner_id: run.owner_id },
  });
  await appendEvents(em, id, { events: [event], projection: null, acks: [] });
  return id;
}
