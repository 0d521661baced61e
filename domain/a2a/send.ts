/**
 * Receives a message: it creates a task, or answers an existing one. Runs in the caller's transaction; the
 * caller starts runs and delivers signals after the commit.
 */
import { createHash } from 'node:crypto';
import { UNDECIDED } from '../../contracts/hitl.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { isInterruptedState, isTerminalState, type A2AMessage } from '../../contracts/a2a/objects.ts';
import { INVOCATION_METADATA } from '../../contracts/invocation-key.ts';
import { withAbsentPeople, withKeptAbsentPeople } from '../auth/absences.ts';
import { hasRole, isAdmin, type Actor } from '../auth/actor.ts';
import { AppError, forbidden, invalid } from '../errors.ts';
import { decide, loadForChange } from '../hitl/service.ts';
import { maySee, refusalToAct } from '../hitl/policy.ts';
import { TASK_COLUMNS, type HumanTask } from '../hitl/human-task.ts';
import { callingRunOf } from '../runs/calling-run.ts';
import { invokeAgent } from '../runs/invoke.ts';
import type { RunLimits } from '../runs/limits.ts';
import type { A2AAgent } from './agent.ts';
import { answersOf } from './answer.ts';
import { addFetches } from '../files/fetches.ts';
import {
  agentInput,
  checkInputModes,
  checkMessage,
  checkOutputModes,
  filesToFetch,
  type FileOfPart,
} from './input.ts';
import { getTaskRow, taskNotFound, type TaskRow } from './task-row.ts';

export interface Send {
  message: A2AMessage;
  acceptedOutputModes: string[];
  metadata: Record<string, unknown> | null;
  fileOf: FileOfPart;
  limits: RunLimits;
}

export interface Sent {
  taskId: string;
  /** The task is new: the caller starts its run. */
  created: boolean;
  /** Signals that the caller delivers. */
  signals: string[];
}

/**
 * A message id of the same caller and agent always gives the same task, whatever the rest of the message
 * says, even if both requests arrive at once.
 */
export async function receiveMessage(
  em: EntityManager,
  actor: Actor,
  { agent, modes }: A2AAgent,
  send: Send,
): Promise<Sent> {
  checkMessage(send.message);
  const { message } = send;
  const key = onceKey(message);
  await em.execute(`select pg_advisory_xact_lock(hashtextextended(?, 0))`, [
    `a2a:${actor.id}:${agent.id}:${key}`,
  ]);
  const known = await findRepeated(em, actor, agent.id, key);
  if (known !== null) return { taskId: known, created: false, signals: [] };
  if (message.taskId) return answer(em, actor, agent.id, key, send);
  if (!hasRole(actor, 'builder')) throw forbidden('Starting a task needs the role builder.', 'role_required');
  if (agent.status === 'inactive') throw unsupported('The agent is inactive.');
  checkInputModes(message, modes.input);
  checkOutputModes(send.acceptedOutputModes, modes.output);
  const contextId = message.contextId || uuidv7();
  const taskId = await invokeAgent(em, actor, agent, {
    caller_run_id: await callingRunOf(em, message.metadata?.[INVOCATION_METADATA]),
    context: contextId,
    streams: agent.capabilities_streaming,
    input: (invoked) =>
      agentInput(message, contextId, Object.keys(invoked?.input_schema ?? {}).length > 0, send.fileOf),
    limits: send.limits,
  });
  await addFetches(em, taskId, filesToFetch(message, send.fileOf), modes.input);
  await em.execute(
    `insert into a2a_task (id, agent_id, owner_id, context_id, accepted_output_modes, metadata)
     values (?, ?, ?, ?, ?::text[], ?::json)`,
    [
      taskId,
      agent.id,
      actor.id,
      contextId,
      arrayLiteral(send.acceptedOutputModes),
      send.metadata && JSON.stringify(send.metadata),
    ],
  );
  await storeMessage(em, actor, agent.id, key, 0, { ...message, taskId, contextId });
  return { taskId, created: true, signals: [] };
}

/** A message to an existing task is a repeat if the task, the message id and the content are the same. */
function onceKey(message: A2AMessage): string {
  if (!message.taskId) return message.messageId;
  const contentHash = createHash('sha256')
    .update(JSON.stringify([message.parts, message.metadata ?? null]))
    .digest('base64url');
  return `${message.taskId}:${message.messageId}:${contentHash}`;
}

/**
 * The task of an earlier message with this key. A client that has cancelled or answered that task since had
 * received it, so its message is not a retry after a lost response: it starts another task. @throws
 * task_not_found if the task was handed over to somebody else
 */
async function findRepeated(
  em: EntityManager,
  actor: Actor,
  agentId: string,
  key: string,
): Promise<string | null> {
  const [known] = await em.execute<
    { id: string; task_id: string; owner_id: string; starts: boolean; state: string; answered: boolean }[]
  >(
    `select m.id, m.task_id, t.owner_id, m.seq = 0 as starts, t.state,
            exists (select 1 from a2a_message a
                     where a.task_id = t.id and a.seq > 0 and a.once_key is not null) as answered
       from a2a_message m join a2a_task t on t.id = m.task_id
      where m.owner_id = ? and m.agent_id = ? and m.once_key = ?`,
    [actor.id, agentId, key],
  );
  if (!known) return null;
  if (known.owner_id !== actor.id && !isAdmin(actor)) throw taskNotFound(known.task_id);
  const endedByClient =
    known.state === 'TASK_STATE_CANCELED' || (known.answered && isTerminalState(known.state));
  if (!known.starts || !endedByClient) return known.task_id;
  await em.execute(`update a2a_message set once_key = null where id = ?`, [known.id]);
  return null;
}

/** Uses the decision service of the REST API: same policy, same row locks. */
async function answer(
  em: EntityManager,
  actor: Actor,
  agentId: string,
  key: string,
  { message }: Send,
): Promise<Sent> {
  const task = await getTaskRow(em, actor, agentId, message.taskId ?? '');
  if (message.contextId && message.contextId !== task.context_id) {
    throw invalid([
      {
        pointer: '/message/contextId',
        code: 'context_mismatch',
        message: "message.contextId is not the task's",
      },
    ]);
  }
  if (isTerminalState(task.state))
    throw unsupported(
      'The task is over: send a message without taskId to start another in the same context.',
    );
  if (!isInterruptedState(task.state)) throw unsupported('The task is working and takes no message now.');
  const open = await openQuestions(em, task);
  if (open.length === 0) throw unsupported('The request has been answered already.');
  const signals: string[] = [];
  const person = await withAbsentPeople(em, actor);
  for (const { taskId, submission, pointer } of answersOf(message, open)) {
    try {
      const seen = await loadForChange(em, person, taskId);
      const { signal } = await decide(em, { actor: person, via: 'a2a' }, seen, { value: submission });
      if (signal !== null) signals.push(signal.signal.id);
    } catch (error) {
      throw asRefusal(error, pointer);
    }
  }
  const [run] = await em.execute<{ last_seq: number }[]>(`select last_seq from run where id = ?`, [task.id]);
  const seq = run?.last_seq ?? task.last_seq;
  await storeMessage(em, actor, agentId, key, seq, {
    ...message,
    taskId: task.id,
    contextId: task.context_id,
  });
  return { taskId: task.id, created: false, signals };
}

/** The open human tasks that a task waits for, including its children's, oldest first. */
export async function openQuestions(
  em: EntityManager,
  { waiting_on }: Pick<TaskRow, 'waiting_on'>,
): Promise<HumanTask[]> {
  const ids = waiting_on.flatMap(({ kind, id }) => (kind === 'human' && id !== undefined ? [id] : []));
  if (ids.length === 0) return [];
  return em.execute<HumanTask[]>(
    `select ${TASK_COLUMNS} from hitl_task t
       where t.id = any(?::uuid[])
       and ${isOneOf('t.status', UNDECIDED)}
       order by t.id`,
    [arrayLiteral(ids)],
  );
}

/**
 * Of the questions, those that the caller sees, perhaps as a deputy, and whether they may decide at least
 * one: as `answer` does.
 */
export async function rightsTo(
  em: EntityManager,
  actor: Actor,
  open: readonly HumanTask[],
): Promise<{ answerable: boolean; seen: ReadonlySet<string> }> {
  if (open.length === 0) return { answerable: false, seen: new Set() };
  const person = await withKeptAbsentPeople(em, actor);
  return {
    answerable: open.some((task) => refusalToAct(person, task) === null),
    seen: new Set(open.filter((task) => maySee(person, task)).map(({ id }) => id)),
  };
}

/**
 * In the protocol's errors: a decision that is not allowed or already made is "unsupported"; a mistake points
 * into the message.
 */
function asRefusal(error: unknown, pointer: string): unknown {
  if (!(error instanceof AppError)) return error;
  if (error.kind === 'invalid')
    return invalid(
      (error.errors ?? []).map((field) => ({ ...field, pointer: `${pointer}${field.pointer}` })),
      error.detail,
    );
  const { detail, extra, keepsChanges } = error;
  return new AppError('conflict', 'unsupported_operation', detail, {
    ...(extra ? { extra } : {}),
    keepsChanges,
  });
}

function unsupported(detail: string): AppError {
  return new AppError('conflict', 'unsupported_operation', detail);
}

async function storeMessage(
  em: EntityManager,
  actor: Actor,
  agentId: string,
  key: string,
  seq: number,
  message: A2AMessage,
): Promise<void> {
  await em.execute(
    `insert into a2a_message (id, task_id, agent_id, owner_id, once_key, seq, message)
       values (?, ?, ?, ?, ?, ?, ?::json)`,
    [uuidv7(), message.taskId, agentId, actor.id, key, seq, JSON.stringify(message)],
  );
}
