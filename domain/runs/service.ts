/**
 * What callers can do with runs. Each function runs in the caller's transaction; the caller delivers the
 * returned signals after its commit.
 */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import type { Budget } from '../../contracts/budgets.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { inputFault } from '../../language/schema/form-errors.ts';
import type { Actor } from '../auth/actor.ts';
import { holderOf } from '../auth/ownership.ts';
import { refuseUnlinked } from '../files/run-files.ts';
import { conflict, forbidden, invalid } from '../errors.ts';
import { schemaViolations } from '../schema-check.ts';
import { createRun, type CreatedRun, type RunNames } from './create.ts';
import type { Commanded } from './dispatch.ts';
import { appendEvents, lockRun, serviceEvent } from './events.ts';
import type { RunLimits } from './limits.ts';
import type { AgentReference, Pin } from './pins.ts';
import { getRun } from './queries.ts';
import { commandOutcome, mayCommand, type CommandKind } from './rights.ts';
import { OPEN_COMMAND } from './row.ts';
import { runName } from './run-name.ts';
import { errorForRunner, requireRunnable, type Runnable } from './runnable.ts';
import { enqueueSignal } from './signals.ts';

/**
 * Creates a run of a workflow. @throws 422 with the definition's problems, the places where the input does
 * not match the schema, or the files of it that the run may not read
 */
export async function runWorkflow(
  em: EntityManager,
  actor: Actor,
  workflow: Runnable,
  input: unknown,
  {
    filesAt,
    ...more
  }: {
    id?: string;
    agent_id?: string;
    charged_agent_id?: string;
    enters?: Pin;
    budget?: Budget | undefined;
    caller_run_id?: string | null;
    streams?: boolean | undefined;
    scheduled_at?: Date;
    started_by?: string[];
    initiators?: string[];
    warnings?: string[];
    by_grant?: boolean;
    /** JSON pointer of the input in a request whose files must be there; else a missing one is ignored. */
    filesAt?: string;
    limits: RunLimits;
  } & RunNames,
): Promise<CreatedRun> {
  const refuse = (error: unknown): never => {
    throw more.by_grant === true ? errorForRunner(actor, workflow, error) : error;
  };
  try {
    requireRunnable(workflow);
  } catch (error) {
    refuse(error);
  }
  const mismatches = await schemaViolations(actor.id, workflow.input_schema, input);
  if (mismatches.length > 0) {
    throw invalid(
      mismatches.map((mismatch) => ({
        pointer: `/input_params${mismatch.pointer}`,
        code: 'schema',
        message: inputFault(mismatch),
      })),
      "The input does not fit the workflow's input schema.",
    );
  }
  const created = await createRun(em, {
    workflow_id: workflow.id,
    workflow_revision: workflow.revision,
    workflow_name: workflow.name,
    definition: workflow.definition,
    input,
    owner_id: actor.id,
    rights_of: holderOf(workflow),
    agents: workflow.agents,
    ...more,
  }).catch(refuse);
  if (filesAt !== undefined) refuseUnlinked(input, created.unlinked, filesAt);
  return created;
}

/** Creates a run with the agent as its only step, without a registered workflow. */
export async function runAgent(
  em: EntityManager,
  actor: Actor,
  agent: { id: string; name: string },
  input: unknown,
  {
    id,
    version,
    session,
    caller_run_id = null,
    budget,
    streams = false,
    filesAt,
    limits,
  }: {
    id?: string;
    version?: string | undefined;
    session?: string | undefined;
    caller_run_id?: string | null;
    budget?: Budget | undefined;
    streams?: boolean;
    filesAt?: string | undefined;
    limits: RunLimits;
  },
): Promise<CreatedRun> {
  const reference: AgentReference = { agent: agent.id, ...(version === undefined ? {} : { version }) };
  // As a text of jq, because the id may look like an expression.
  const continued = session === undefined ? {} : { session: `\${ ${JSON.stringify(session)} }` };
  const definition = {
    document: { dsl: '1.0.3', namespace: 'cadenza', name: 'invoke-agent', version: '1.0.0' },
    do: [
      {
        invoke: {
          call: 'agent',
          with: { ...reference, input: '${ . }', ...continued },
        },
      },
    ],
  };
  const created = await createRun(em, {
    ...(id === undefined ? {} : { id }),
    workflow_id: null,
    workflow_revision: null,
    workflow_name: agent.name,
    definition,
    input,
    owner_id: actor.id,
    rights_of: actor.id,
    agents: [reference],
    agent_id: agent.id,
    caller_run_id,
    streams,
    budget,
    limits,
  });
  if (filesAt !== undefined) refuseUnlinked(input, created.unlinked, filesAt);
  return created;
}

const COMMAND_WORDS: Record<CommandKind, string> = {
  cancel: 'cancelled',
  suspend: 'suspended',
  resume: 'resumed',
};

/**
 * Stores a command for the run. Repeating a cancel is harmless. @returns what to deliver after the commit
 * @throws 409 if the run has ended
 */
export async function commandRun(
  em: EntityManager,
  actor: Actor,
  id: string,
  kind: CommandKind,
): Promise<Commanded> {
  const seen = await getRun(em, actor, id);
  if (!mayCommand(actor, seen, kind)) throw forbidden('This requires the role builder.', 'role_required');
  const nothing = { runId: id, signals: [], endsExecution: false };
  const run = await lockRun(em, id);
  if (!run) return nothing;
  if (kind === 'cancel' && run.status === 'pending') {
    const event = serviceEvent({
      key: 'run:ended',
      type: EVENT.runCancelled,
      level: 'warn',
      message: LOG_TEXT.runCancelled.beforeStart(),
      data: { ...(await runName(em, id)), by: actor.id },
    });
    const { signals } = await appendEvents(
      em,
      id,
      { events: [event], projection: null, acks: [] },
      { end: { status: 'cancelled' } },
    );
    return { runId: id, signals, endsExecution: true };
  }
  const outcome = commandOutcome(kind, { status: run.status, open_command: await openCommand(em, id) });
  if (outcome === 'unchanged') return nothing;
  if (outcome === 'finished')
    throw conflict('run_finished', `The run is ${run.status}: it can't be ${COMMAND_WORDS[kind]}.`, {
      run_status: run.status,
    });
  if (outcome === 'not_suspended')
    throw conflict('run_not_suspended', 'The run is not suspended.', { run_status: run.status });
  const signal = await enqueueSignal(
    em,
    id,
    { kind, by: actor.id, at: new Date().toISOString() },
    { id: await nextCommandId(em, id), by: actor.id },
  );
  return { ...nothing, signals: signal === null ? [] : [signal] };
}

/**
 * Greater than the ids of the run's earlier commands, because the workflow takes their order for that of the
 * commands: the clock of another copy of the API may be ahead. The run's row is locked.
 */
async function nextCommandId(em: EntityManager, runId: string): Promise<string> {
  const [last] = await em.execute<{ id: string }[]>(
    `select id from run_signal where run_id = ? and kind in ('cancel', 'suspend', 'resume')
      order by id desc limit 1`,
    [runId],
  );
  const id = uuidv7();
  if (!last || id > last.id) return id;
  return uuidv7({ msecs: Number.parseInt(last.id.replaceAll('-', '').slice(0, 12), 16) + 1 });
}

/** The last command that the workflow has not received yet. */
async function openCommand(em: EntityManager, runId: string): Promise<string | null> {
  const [row] = await em.execute<{ kind: string | null }[]>(
    `select ${OPEN_COMMAND} as kind from run r where r.id = ?`,
    [runId],
  );
  return row?.kind ?? null;
}

/** Ends a run without its workflow's help: the row at once, the execution after the commit. */
export async function terminateRun(
  em: EntityManager,
  actor: Actor,
  id: string,
  reason: string | null,
): Promise<string[]> {
  const run = await getRun(em, actor, id);
  const event = serviceEvent({
    key: 'run:ended',
    type: EVENT.runCancelled,
    level: 'warn',
    message: LOG_TEXT.runCancelled.byAdmin(reason),
    data: { ...(await runName(em, id)), by: actor.id, terminated: true },
  });
  const { closed, signals } = await appendEvents(
    em,
    id,
    { events: [event], projection: null, acks: [] },
    { end: { status: 'cancelled' } },
  );
  if (closed)
    throw conflict('run_finished', `The run is ${run.status}: it can't be terminated.`, {
      run_status: run.status,
    });
  return signals;
}
