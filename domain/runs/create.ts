/** A run comes into being: row, pins, first event, in the caller's transaction. Its workflow starts after the commit. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '@mikro-orm/postgresql';
import { EVENT } from '../../contracts/run-events.ts';
import { serviceEvent } from './events.ts';
import { pinAll } from './pins.ts';
import { fileIdsIn, inheritFiles, linkFiles, shareFiles } from '../files/run-files.ts';
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

/** Row, pins and first event, in one statement. @returns the run's id; of one that is there already, having done nothing. */
export async function createRun(em: EntityManager, run: NewRun): Promise<string> {
  if (run.id !== undefined) {
    const there = await em.execute(`select from run where id = ?`, [run.id]);
    if (there.length > 0) return run.id;
  }
  const id = run.id ?? uuidv7();
  const pins = await pinAll(em, run.rights_of, run.agents);
  const { key, type, at, level, message, data } = serviceEvent({
    key: 'run:created',
    type: EVENT.runCreated,
    message: `Run of ${run.workflow_name} created`,
    data: { workflow_id: run.workflow_id, workflow_revision: run.workflow_revision, owner_id: run.owner_id },
  });
  // A moment's delay, so that the reconciler leaves the start to who made the run.
  await em.execute(
    `with made as (
       insert into run (id, workflow_id, workflow_revision, workflow_name, definition, status, input, owner_id, parent_run_id, parent_task,
                        root_run_id, retry_of, agent_id, next_start_at, last_seq)
       values (?, ?, ?, ?, ?::json, 'pending', ?::json, ?, ?, ?, ?, ?, ?, clock_timestamp() + interval '5 seconds', 1)
       on conflict (id) do nothing returning id
     ), pinned as (
       insert into run_pin (run_id, reference, agent_id, version, snapshot)
       select made.id, p.reference, p.agent_id, p.version, p.snapshot
         from made, json_to_recordset(?::json) as p (reference text, agent_id uuid, version text, snapshot json)
     ), told as (
       insert into run_event (run_id, seq, key, type, at, level, message, data)
       select made.id, 1, ?, ?, ?::timestamptz, ?, ?, ?::json from made
     )
     select pg_notify('run_event', id::text) from made`,
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
      JSON.stringify(pins),
      key,
      type,
      at,
      level,
      message,
      JSON.stringify(storable(data)),
    ],
  );
  // After the run's row, which they refer to.
  const files = fileIdsIn(run.input);
  await linkFiles(em, { id, owner_id: run.owner_id }, files);
  if (run.parent) await shareFiles(em, run.parent.run_id, id, files);
  if (run.retry_of) await inheritFiles(em, run.retry_of, id);
  return id;
}
