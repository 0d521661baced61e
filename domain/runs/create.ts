/**
 * Creates a run: row, pins and first event, in the caller's transaction. Its workflow starts after the
 * commit.
 */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { PreparedByName } from '../../db/prepared.ts';
import type { Budget } from '../../contracts/budgets.ts';
import { canonicalJson } from '../../contracts/canonical-json.ts';
import { conflict } from '../errors.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT, LIVE_STATUSES } from '../../contracts/run-events.ts';
import { serviceEvent } from './events.ts';
import { copyEntry, pinAll, type AgentReference, type Pin } from './pins.ts';
import { fileIdsIn, inheritFiles, linkFiles, shareFiles } from '../files/run-files.ts';
import { countDescendant, runRefused, type RunLimits, type RunRefusal } from './limits.ts';
import { addRunBudget } from '../spending/budgets.ts';
import { traceOfNewRun } from '../../tracing/context.ts';
import { storable, storableJson } from '../storable.ts';

/** What callers may name a run by, to find it again. */
export interface RunNames {
  /** Unique for a workflow and owner while the run lives. */
  key?: string | null | undefined;
  tags?: string[] | undefined;
  labels?: Record<string, string> | undefined;
}

export interface CreatedRun {
  id: string;
  /** False: a run with this id or key was there before. */
  isNew: boolean;
  /** Files that the input of the new run names, and that it may not read. */
  unlinked: string[];
}

export interface NewRun extends RunNames {
  id?: string;
  workflow_id: string | null;
  workflow_revision: number | null;
  workflow_name: string;
  definition: unknown;
  input: unknown;
  /** The user who runs it: sees the run, and its usage is attributed to them. */
  owner_id: string;
  /** Whose agents and secrets the definition uses: the workflow's team, else its owner. */
  rights_of: string;
  agents: AgentReference[];
  agent_id?: string | null;
  /** `detached`: the parent does not wait for it, and the parent's end does not end it. */
  parent?: { run_id: string; task: string; root_run_id: string; detached: boolean };
  retry_of?: string | null;
  /** The agent of type `workflow` that is invoked by this run: its budget bears the run. */
  charged_agent_id?: string;
  /** That agent, if limits or budgets have to be passed before the run's first task. */
  enters?: Pin | undefined;
  /** Default: that of the parent, or of the run that it retries. */
  budget?: Budget | undefined;
  /** The state that a retry continues from, instead of the checkpoint of the run that it retries. */
  start_state?: unknown;
  /** The time of the workflow's schedule that started it. */
  scheduled_at?: Date;
  /** Ids of the first events that started it. */
  started_by?: string[];
  /** People who asked for it beside its owner: they have initiated it, too. */
  initiators?: string[];
  /** Started as one of the workflow's runners: its owner does not see inside. */
  by_grant?: boolean;
  /** Warnings for the beginning of the run's log. */
  warnings?: string[];
  /**
   * The run whose step requested this one through the API; null or absent if a user or machine client
   * requested it directly.
   */
  caller_run_id?: string | null;
  /** Those who follow the run see the output of its agents while it grows. */
  streams?: boolean | undefined;
  limits: RunLimits;
}

/** How often a start is tried again whose key was taken by a run that has ended meanwhile. */
const KEY_ATTEMPTS = 3;

/**
 * Creates row, pins and first event in one statement. An existing run of that id, or a live one with that key
 * and input, is left unchanged. A transaction that creates more than one run has `limits.several`. @throws
 * AppError (409) if the key is taken by a run with other input; (429) if a quota of runs is reached. @throws
 * Fault at the root run's limit of descendants
 */
export async function createRun(em: EntityManager, run: NewRun): Promise<CreatedRun> {
  if (run.id !== undefined && (await exists(em, run.id))) return unchanged(run.id);
  const id = run.id ?? uuidv7();
  const pins = await pinAll(em, run.rights_of, run.agents, {
    id,
    owner_id: run.owner_id,
    retry_of: run.retry_of,
  });
  if (run.enters) pins.push(run.enters);
  if (run.parent) await countDescendant(em, run.parent.root_run_id, run.limits);
  for (let attempt = 1; ; attempt++) {
    const same = await findByKey(em, run);
    if (same !== null) return unchanged(same);
    const inserted = await insertRun(em, id, run, pins);
    if (inserted === true) break;
    if (run.id !== undefined && (await exists(em, run.id))) return unchanged(id);
    // Else another start with the key has come first, and may have taken the last place.
    const refusal = inserted === false ? null : runRefused(inserted);
    const first = refusal && (await findByKey(em, run));
    if (first !== null) return unchanged(first);
    if (refusal) throw refusal;
    if (!run.key || attempt === KEY_ATTEMPTS) throw conflict('key_in_use', 'Other starts have this key.');
  }
  if (run.budget) await addRunBudget(em, id, run.budget);
  // These rows refer to the run's row, so they come after it.
  const files = fileIdsIn([run.input, run.start_state]);
  const linked = new Set(
    await linkFiles(em, { id, owner_id: run.owner_id, inputOf: run.workflow_id }, files),
  );
  if (run.parent) await shareFiles(em, run.parent.run_id, id, files);
  if (run.retry_of) {
    await inheritFiles(em, run.retry_of, id);
    await copyEntry(em, run.retry_of, id);
  }
  return { id, isNew: true, unlinked: files.filter((file) => !linked.has(file)) };
}

function unchanged(id: string): CreatedRun {
  return { id, isNew: false, unlinked: [] };
}

/** @returns the live run with this key; null if there is none. @throws 409 if it is another start */
async function findByKey(em: EntityManager, run: NewRun): Promise<string | null> {
  if (!run.key) return null;
  const [found] = await em.execute<{ id: string; input: unknown }[]>(
    `select id, input from run
      where workflow_id = ?::uuid and owner_id = ?::uuid and key = ? and ${isOneOf('status', LIVE_STATUSES)}`,
    [run.workflow_id, run.owner_id, run.key],
  );
  if (!found) return null;
  if (!run.retry_of && canonicalJson(found.input) === canonicalJson(storable(run.input))) return found.id;
  throw conflict('key_in_use', `A live run of the workflow has this key, and other input.`, {
    run_id: found.id,
  });
}

async function exists(em: EntityManager, id: string): Promise<boolean> {
  return (await em.execute<object[]>(`select from run where id = ?`, [id])).length > 0;
}

/**
 * The delay leaves the start to this process; the reconciler steps in later. The workflow is locked first: of
 * one that moves, the run gets the new team, because the move has seen the runs only that were there.
 */
const INSERT_RUN = new PreparedByName(`
  with place as materialized (
    select coalesce((select team_id from workflow where id = :workflow_id::uuid for key share),
                    (select team_id from run where id = :parent_run_id::uuid)) as team_id
  ), admitted as materialized (
    select team_id, admit_run(:owner_id::uuid, team_id, :is_child::boolean, :quotas::jsonb) as admission
      from place
  ), inserted as (
    insert into run (id, workflow_id, workflow_revision, workflow_name, definition, status, input,
           owner_id, parent_run_id, parent_task, detached, root_run_id, retry_of, agent_id,
           next_start_at, last_seq, scheduled_at, started_by, key, tags, labels, start_state,
           caller_run_id, streams, initiator_ids, charged, budget_id, team_id, by_grant,
           traceparent, tracestate)
    select :id::uuid, :workflow_id::uuid, :workflow_revision::int, :workflow_name, :definition::json,
           'pending', :input::json, :owner_id::uuid, :parent_run_id::uuid, :parent_task, :detached::boolean,
           :root_run_id::uuid, :retry_of::uuid, :agent_id::uuid,
           clock_timestamp() + interval '5 seconds', :last_seq::int, :scheduled_at::timestamptz,
           :started_by::uuid[], :key, :tags::text[], :labels::jsonb, :start_state::json,
           :caller_run_id::uuid, :streams::boolean,
           array(select unnest(:initiators::uuid[])
                 union select unnest(b.initiator_ids || b.owner_id)
                   from run b where b.id = any(:runs_before::uuid[])),
           coalesce((select charged from run where id = :parent_run_id::uuid), '{}') || :charged::uuid[],
           coalesce(:budget_id::uuid, (select budget_id from run where id = :source_run_id::uuid)),
           admitted.team_id,
           coalesce((select by_grant from run where id = :parent_run_id::uuid), :by_grant::boolean),
           :traceparent, :tracestate
      from admitted where admission -> 'quota' is null
    on conflict do nothing returning id, owner_id, workflow_id, created_at
  ), rated as (
    insert into run_rate as r (holder_id, minute, stripe, runs)
    select c.holder, c.minute, pg_backend_pid() % 64, 1
      from inserted, admitted,
           jsonb_to_recordset(admission -> 'counts') as c (holder uuid, minute timestamptz)
    on conflict (holder_id, minute, stripe) do update set runs = r.runs + 1
  ), counted as (
    insert into run_hour_change (run_id, owner_id, workflow_id, change, at)
    select id, owner_id, workflow_id, 'started', created_at from inserted
  ), pinned as (
    insert into run_pin (run_id, reference, agent_id, version, snapshot)
    select inserted.id, p.reference, p.agent_id, p.version, p.snapshot
      from inserted, json_to_recordset(:pins::json)
             as p (reference text, agent_id uuid, version text, snapshot json)
  ), logged as (
    insert into run_event (run_id, seq, key, type, at, level, message, data)
    select inserted.id, e.seq, e.key, e.type, e.at, e.level, e.message, e.data
      from inserted, json_to_recordset(:events::json)
             as e (seq int, key text, type text, at timestamptz, level text, message text, data json)
  )
  select i.id, case when admitted.admission -> 'quota' is not null then admitted.admission end as refusal,
         case when i.id is not null then pg_notify('run_event', i.id::text) end
    from admitted left join inserted i on true`);

/** @returns false if the run exists, or one with its key; or the quota that refuses it */
async function insertRun(
  em: EntityManager,
  id: string,
  run: NewRun,
  pins: Awaited<ReturnType<typeof pinAll>>,
): Promise<boolean | RunRefusal> {
  const events = firstEvents(run);
  const { traceparent, tracestate } = traceOfNewRun();
  const [row] = await INSERT_RUN.execute<{ id: string | null; refusal: RunRefusal | null }>(em, {
    id,
    workflow_id: run.workflow_id,
    workflow_revision: run.workflow_revision,
    workflow_name: run.workflow_name,
    definition: JSON.stringify(run.definition),
    input: storableJson(run.input),
    owner_id: run.owner_id,
    quotas: JSON.stringify({ ...run.limits.quotas, several: run.limits.several ?? false }),
    is_child: run.parent !== undefined,
    parent_run_id: run.parent?.run_id ?? null,
    parent_task: run.parent?.task ?? null,
    detached: run.parent?.detached ?? false,
    root_run_id: run.parent?.root_run_id ?? id,
    retry_of: run.retry_of ?? null,
    // Whose budget it has, unless it has its own.
    source_run_id: run.parent?.run_id ?? run.retry_of ?? null,
    agent_id: run.agent_id ?? null,
    last_seq: events.length,
    scheduled_at: run.scheduled_at ?? null,
    started_by: run.started_by === undefined ? null : arrayLiteral(run.started_by),
    key: run.key ?? null,
    tags: arrayLiteral(run.tags ?? []),
    labels: JSON.stringify(run.labels ?? {}),
    start_state: run.start_state === undefined ? null : JSON.stringify(run.start_state),
    caller_run_id: run.caller_run_id ?? null,
    streams: run.streams ?? false,
    initiators: arrayLiteral([run.owner_id, ...(run.initiators ?? [])]),
    runs_before: arrayLiteral(runsBefore(run)),
    charged: arrayLiteral(
      [run.workflow_id, run.charged_agent_id].filter((charged) => typeof charged === 'string'),
    ),
    budget_id: run.budget ? id : null,
    by_grant: run.by_grant ?? false,
    traceparent,
    tracestate,
    pins: JSON.stringify(pins),
    events: JSON.stringify(
      events.map((event, index) => ({ ...event, data: storable(event.data), seq: index + 1 })),
    ),
  });
  return row?.refusal ?? typeof row?.id === 'string';
}

/** `run:created`, and the warnings. */
function firstEvents(run: NewRun): ReturnType<typeof serviceEvent>[] {
  const { workflow_id, workflow_revision, owner_id, scheduled_at, started_by } = run;
  return [
    serviceEvent({
      key: 'run:created',
      type: EVENT.runCreated,
      message: LOG_TEXT.runCreated(run.workflow_name),
      data: {
        workflow_id,
        workflow_revision,
        owner_id,
        ...(scheduled_at === undefined ? {} : { scheduled_at: scheduled_at.toISOString() }),
        ...(started_by === undefined ? {} : { started_by }),
      },
    }),
    ...(run.warnings ?? []).map((message, index) =>
      serviceEvent({ key: `run:warning:${index}`, type: EVENT.runWarning, level: 'warn', message, data: {} }),
    ),
  ];
}

/** The runs that led to this one: whoever initiated them has initiated this run, too. */
function runsBefore({ parent, retry_of, caller_run_id }: NewRun): string[] {
  return [parent?.run_id, retry_of, caller_run_id].filter((id) => id !== undefined && id !== null);
}
