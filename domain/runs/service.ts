/** What callers do with runs. Each function acts in the caller's transaction; `signals` are delivered after its commit. */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '@mikro-orm/postgresql';
import { EVENT, isTerminal } from '../../contracts/run-events.ts';
import { violations } from '../../contracts/validate-json.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict, invalid } from '../errors.ts';
import { createRun } from './create.ts';
import { appendEvents, lockRun, serviceEvent } from './events.ts';
import { referenceOf } from './pins.ts';
import type { AgentReference } from './pins.ts';
import { getRun } from './queries.ts';
import { mayRunWorkflow } from './runnable.ts';
import type { Runnable } from './runnable.ts';
import { enqueueSignal } from './signals.ts';

/** A run of a workflow. @throws 422 with the definition's problems, or the places where the input does not fit. */
export async function runWorkflow(
  em: EntityManager,
  actor: Actor,
  workflow: Runnable,
  input: unknown,
  more: { agent_id?: string } = {},
): Promise<string> {
  mayRunWorkflow(workflow);
  const wrong = violations(workflow.input_schema, input);
  if (wrong.length > 0) {
    throw invalid(
      wrong.map(({ pointer, message }) => ({ pointer: `/input_params${pointer}`, code: 'schema', message })),
      "The input does not fit the workflow's input schema.",
    );
  }
  return createRun(em, {
    workflow_id: workflow.id,
    workflow_revision: workflow.revision,
    workflow_name: workflow.name,
    definition: workflow.definition,
    input,
    owner_id: actor.id,
    rights_of: workflow.owner_id,
    agents: workflow.agents,
    ...more,
  });
}

/** A run with an agent as its one step; not a registered workflow's. */
export async function runAgent(em: EntityManager, actor: Actor, agent: { id: string; name: string }, input: unknown): Promise<string> {
  const reference: AgentReference = { agent: agent.id };
  const definition = {
    document: { dsl: '1.0.3', namespace: 'cadenza', name: 'invoke-agent', version: '1.0.0' },
    do: [{ invoke: { call: 'agent', with: { agent: agent.id, input: '${ . }' } } }],
  };
  return createRun(em, {
    workflow_id: null,
    workflow_revision: null,
    workflow_name: agent.name,
    definition,
    input,
    owner_id: actor.id,
    rights_of: actor.id,
    agents: [reference],
    agent_id: agent.id,
  });
}

export type CommandKind = 'cancel' | 'suspend' | 'resume';

const COMMAND_WORDS: Record<CommandKind, string> = { cancel: 'cancelled', suspend: 'suspended', resume: 'resumed' };

/** A command is a row first. Repeating cancel is harmless. @returns signals to deliver. @throws 409 if the run is over. */
export async function commandRun(em: EntityManager, actor: Actor, id: string, kind: CommandKind): Promise<string[]> {
  await getRun(em, actor, id);
  const run = await lockRun(em, id);
  if (!run) return [];
  if (isTerminal(run.status)) {
    if (kind === 'cancel' && run.status === 'cancelled') return [];
    throw conflict('run_finished', `The run is ${run.status}: it can't be ${COMMAND_WORDS[kind]}.`, { run_status: run.status });
  }
  if (kind === 'cancel' && run.status === 'pending') {
    const event = serviceEvent({ key: 'run:ended', type: EVENT.runCancelled, level: 'warn', message: 'Run cancelled before it started', data: { by: actor.id } });
    const { signals } = await appendEvents(em, id, { events: [event], projection: null, acks: [] }, { end: { status: 'cancelled' } });
    return signals;
  }
  const open = await openCommand(em, id);
  if (open === kind) return [];
  const suspended = open === null ? run.status === 'suspended' : open === 'suspend';
  if (kind === 'resume' && !suspended) throw conflict('run_not_suspended', 'The run is not suspended.', { run_status: run.status });
  if (kind === 'suspend' && suspended) return [];
  const signal = await enqueueSignal(em, id, { kind, by: actor.id, at: new Date().toISOString() }, { by: actor.id });
  return signal === null ? [] : [signal];
}

/** The last command that the workflow has not taken in yet. */
async function openCommand(em: EntityManager, runId: string): Promise<string | null> {
  const [row] = await em.execute<{ kind: string }[]>(
    `select kind from run_signal where run_id = ? and received_at is null and kind in ('cancel', 'suspend', 'resume') order by id desc limit 1`,
    [runId],
  );
  return row?.kind ?? null;
}

/** Ends a run whose workflow does not end it itself: the row at once, the execution after the commit. */
export async function terminateRun(em: EntityManager, actor: Actor, id: string, reason: string | null): Promise<string[]> {
  const run = await getRun(em, actor, id);
  const event = serviceEvent({
    key: 'run:ended',
    type: EVENT.runCancelled,
    level: 'warn',
    message: `Run terminated by an admin${reason === null ? '' : `: ${reason}`}`,
    data: { by: actor.id, terminated: true },
  });
  const { closed, signals } = await appendEvents(em, id, { events: [event], projection: null, acks: [] }, { end: { status: 'cancelled' } });
  if (closed) throw conflict('run_finished', `The run is ${run.status}: it can't be terminated.`, { run_status: run.status });
  return signals;
}

/** A new run from the failed task on: same revision and input, agents pinned anew. @throws 409 without a checkpoint. */
export async function retryRun(em: EntityManager, actor: Actor, id: string): Promise<string> {
  const run = await getRun(em, actor, id);
  if (run.status !== 'faulted') throw conflict('run_not_faulted', `Only a faulted run can be retried; this one is ${run.status}.`, { run_status: run.status });
  const [row] = await em.execute<{ definition: unknown; rights_of: string; has_checkpoint: boolean }[]>(
    `select r.definition, coalesce(w.owner_id, r.owner_id) as rights_of, c.run_id is not null as has_checkpoint
       from run r left join workflow w on w.id = r.workflow_id left join run_checkpoint c on c.run_id = r.id where r.id = ?`,
    [id],
  );
  if (!row?.has_checkpoint) throw conflict('no_checkpoint', 'The run left no state to go on from: start a new run.');
  const pins = await em.execute<{ reference: string; agent_id: string }[]>(`select reference, agent_id from run_pin where run_id = ?`, [id]);
  return createRun(em, {
    id: uuidv7(),
    workflow_id: run.workflow_id,
    workflow_revision: run.workflow_revision,
    workflow_name: run.workflow_name,
    definition: row.definition,
    input: run.input,
    owner_id: actor.id,
    rights_of: row.rights_of,
    agents: pins.map(({ reference, agent_id }) => ({ ...referenceOf(reference), agent_id })),
    agent_id: run.agent_id,
    retry_of: id,
  });
}
