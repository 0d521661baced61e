/** A message becomes a task, or the answer of one. In the caller's transaction; starts and signals go out after its commit. */
import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { A2AMessage } from '../../contracts/a2a.ts';
import { isInterruptedState, isTerminalState } from '../../contracts/a2a.ts';
import { hasRole } from '../auth/actor.ts';
import type { Actor } from '../auth/actor.ts';
import { AppError, forbidden, invalid } from '../errors.ts';
import { decide } from '../hitl/service.ts';
import { isCandidate, isExcluded } from '../hitl/policy.ts';
import { TASK_COLUMNS } from '../hitl/human-task.ts';
import type { HumanTask } from '../hitl/human-task.ts';
import { invokeAgent } from '../runs/invoke.ts';
import type { A2AAgent } from './agent.ts';
import { answersOf } from './answer.ts';
import { addFetches } from '../files/fetches.ts';
import { agentInput, checkInputModes, checkMessage, checkOutputModes, filesToFetch } from './input.ts';
import type { FileOfPart } from './input.ts';
import { getTaskRow } from './task-row.ts';
import type { TaskRow } from './task-row.ts';

export interface Send {
  message: A2AMessage;
  acceptedOutputModes: string[];
  metadata: Record<string, unknown> | null;
  fileOf: FileOfPart;
}

export interface Sent {
  taskId: string;
  /** The task is new: start its run. */
  created: boolean;
  /** Signals to deliver. */
  signals: string[];
}

/** Same message id of the same caller and agent: the same task, whatever else the message says. Also if both come at once. */
export async function receiveMessage(em: EntityManager, actor: Actor, { agent, modes }: A2AAgent, send: Send): Promise<Sent> {
  checkMessage(send.message);
  const { message } = send;
  const key = onceKey(message);
  await em.execute(`select pg_advisory_xact_lock(hashtextextended(?, 0))`, [`a2a:${actor.id}:${agent.id}:${key}`]);
  const known = await findRepeated(em, actor, agent.id, key);
  if (known !== null) return { taskId: known, created: false, signals: [] };
  if (message.taskId) return answer(em, actor, agent.id, key, send);
  if (!hasRole(actor, 'builder')) throw forbidden('Starting a task needs the role builder.', 'role_required');
  if (agent.status === 'inactive') throw unsupported('The agent is inactive.');
  checkInputModes(message, modes.input);
  checkOutputModes(send.acceptedOutputModes, modes.output);
  const contextId = message.contextId || uuidv7();
  const hasSchema = Object.keys(agent.input_schema ?? {}).length > 0;
  const taskId = await invokeAgent(em, actor, agent, agentInput(message, contextId, hasSchema, send.fileOf));
  await addFetches(em, taskId, filesToFetch(message, send.fileOf), modes.input);
  await em.execute(
    `insert into a2a_task (id, agent_id, owner_id, context_id, accepted_output_modes, metadata) values (?, ?, ?, ?, ?::text[], ?::json)`,
    [taskId, agent.id, actor.id, contextId, textArray(send.acceptedOutputModes), send.metadata && JSON.stringify(send.metadata)],
  );
  await storeMessage(em, actor, agent.id, key, 0, { ...message, taskId, contextId });
  return { taskId, created: true, signals: [] };
}

/** A message to a task is repeated if it says the same to the same task. */
function onceKey(message: A2AMessage): string {
  if (!message.taskId) return message.messageId;
  const said = createHash('sha256').update(JSON.stringify([message.parts, message.metadata ?? null])).digest('base64url');
  return `${message.taskId}:${message.messageId}:${said}`;
}

/**
 * The task of an earlier message with this key. A client that has since cancelled or answered that task had received it: a
 * message with its id is no repeat of a send whose answer was lost, and starts another.
 */
async function findRepeated(em: EntityManager, actor: Actor, agentId: string, key: string): Promise<string | null> {
  const [known] = await em.execute<{ id: string; task_id: string; starts: boolean; state: string; answered: boolean }[]>(
    `select m.id, m.task_id, m.seq = 0 as starts, t.state,
            exists (select 1 from a2a_message a where a.task_id = t.id and a.seq > 0 and a.once_key is not null) as answered
       from a2a_message m join a2a_task t on t.id = m.task_id where m.owner_id = ? and m.agent_id = ? and m.once_key = ?`,
    [actor.id, agentId, key],
  );
  if (!known) return null;
  const endedByClient = known.state === 'TASK_STATE_CANCELED' || (known.answered && isTerminalState(known.state));
  if (!known.starts || !endedByClient) return known.task_id;
  await em.execute(`update a2a_message set once_key = null where id = ?`, [known.id]);
  return null;
}

/** Through the decision service of REST: same policy, same row decides. */
async function answer(em: EntityManager, actor: Actor, agentId: string, key: string, { message }: Send): Promise<Sent> {
  const task = await getTaskRow(em, actor, agentId, message.taskId ?? '');
  if (message.contextId && message.contextId !== task.context_id) {
    throw invalid([{ pointer: '/message/contextId', code: 'context_mismatch', message: "message.contextId is not the task's" }]);
  }
  if (isTerminalState(task.state)) throw unsupported('The task is over: send a message without taskId to start another in the same context.');
  if (!isInterruptedState(task.state)) throw unsupported('The task is at work and takes no message now.');
  const open = await openQuestions(em, task);
  if (open.length === 0) throw unsupported('The request has been answered already.');
  const signals: string[] = [];
  for (const { taskId, submission, pointer } of answersOf(message, open)) {
    try {
      const { signal } = await decide(em, actor, { taskId, submission: () => submission, via: 'a2a' });
      if (signal !== null) signals.push(signal.signal.id);
    } catch (error) {
      throw asRefusal(error, pointer);
    }
  }
  const [run] = await em.execute<{ last_seq: number }[]>(`select last_seq from run where id = ?`, [task.id]);
  const seq = run?.last_seq ?? task.last_seq;
  await storeMessage(em, actor, agentId, key, seq, { ...message, taskId: task.id, contextId: task.context_id });
  return { taskId: task.id, created: false, signals };
}

/** The human tasks that a task waits for, its children's included, oldest first. */
export async function openQuestions(em: EntityManager, { waiting_on }: Pick<TaskRow, 'waiting_on'>): Promise<HumanTask[]> {
  const ids = waiting_on.flatMap(({ kind, id }) => (kind === 'human' && id !== undefined ? [id] : []));
  if (ids.length === 0) return [];
  return em.execute<HumanTask[]>(`select ${TASK_COLUMNS} from hitl_task t where t.id = any(?::uuid[]) and t.status in ('open', 'claimed') order by t.id`, [
    `{${ids.join(',')}}`,
  ]);
}

/** Whether the caller may decide one of the questions at least. */
export function mayAnswer(actor: Actor, open: readonly HumanTask[]): boolean {
  return hasRole(actor, 'approver') && open.some((task) => !isExcluded(actor.id, task) && (isCandidate(actor, task) || task.claimed_by === actor.id || hasRole(actor, 'admin')));
}

/** The protocol's words: not allowed or decided already is "unsupported", a mistake names the place in the message. */
function asRefusal(error: unknown, pointer: string): unknown {
  if (!(error instanceof AppError)) return error;
  if (error.kind === 'invalid') return invalid((error.errors ?? []).map((one) => ({ ...one, pointer: `${pointer}${one.pointer}` })), error.detail);
  const { detail, extra, keepsChanges } = error;
  return new AppError('conflict', 'unsupported_operation', detail, { ...(extra ? { extra } : {}), keepsChanges });
}

export function unsupported(detail: string): AppError {
  return new AppError('conflict', 'unsupported_operation', detail);
}

async function storeMessage(em: EntityManager, actor: Actor, agentId: string, key: string, seq: number, message: A2AMessage): Promise<void> {
  await em.execute(`insert into a2a_message (id, task_id, agent_id, owner_id, once_key, seq, message) values (?, ?, ?, ?, ?, ?, ?::json)`, [
    uuidv7(),
    message.taskId,
    agentId,
    actor.id,
    key,
    seq,
    JSON.stringify(message),
  ]);
}

function textArray(values: readonly string[]): string {
  return `{${values.map((value) => JSON.stringify(value)).join(',')}}`;
}
