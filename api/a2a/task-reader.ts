/**
 * Reads tasks and follows their events, in any API process. The tables are the truth; notifications only wake
 * the reader.
 */
import {
  isInterruptedState,
  isTerminalState,
  type A2AStreamItem,
  type A2ATask,
} from '../../contracts/a2a/objects.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { linksOf, type LinkBudget } from '../../domain/a2a/file-links.ts';
import { presentTask, stateNow, type Presenting, type TaskOptions } from '../../contracts/a2a/task.ts';
import { openQuestions, rightsTo } from '../../domain/a2a/send.ts';
import {
  getTaskRow,
  maySeeTask,
  readMessages,
  requireTask,
  taskNotFound,
  type TaskRow,
} from '../../domain/a2a/task-row.ts';
import { updatesOf } from '../../contracts/a2a/updates.ts';
import { hasRole } from '../../domain/auth/actor.ts';
import { AppError } from '../../domain/errors.ts';
import { maySeeInside } from '../../domain/runs/policy.ts';
import { listEvents } from '../../domain/runs/queries.ts';
import { STREAM_PAGE_BYTES } from '../../db/large-fields.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Nudges } from '../protocol-calls/follow-run.ts';
import type { LiveSession } from '../streams/live-sessions.ts';
import type { A2ACall, ItemStream } from './call.ts';
import { partialArtifact, type PartialArtifact } from './partial-artifact.ts';

const BATCH = 200;
/** Readers wake at least this often, to notice a disconnected client, a new owner or a shutdown. */
const WAKE_MS = 5_000;

export function readTaskRow(call: A2ACall, id: string): Promise<TaskRow> {
  return getTaskRow(call.deps.orm.em.fork(), call.actor, call.target.agent.id, id);
}

export async function readTask(call: A2ACall, id: string, options: TaskOptions = {}): Promise<A2ATask> {
  return showTask(call, await readTaskRow(call, id), options);
}

export async function showTask(call: A2ACall, row: TaskRow, options: TaskOptions = {}): Promise<A2ATask> {
  const em = call.deps.orm.em.fork();
  const messages = await readMessages(em, [row], options.historyLength);
  return presentTask(row, messages.get(row.id) ?? [], await presenting(call, em, row), options);
}

export async function presenting(
  call: A2ACall,
  em: EntityManager,
  row: TaskRow,
  budget?: LinkBudget,
): Promise<Presenting> {
  const open = isInterruptedState(row.state) ? await openQuestions(em, row) : [];
  return {
    link: await linksOf({ keys: call.deps.keys, baseUrl: call.deps.env.BASE_URL, em }, row, budget),
    asks: open.length > 0,
    ...(await rightsTo(em, call.actor, open)),
    extensions: call.extensions,
    inside: maySeeInside(call.actor, row),
  };
}

export interface Follow {
  taskId: string;
  /**
   * Yields what comes after this position. `part` is set if the client received only some updates of event
   * `seq`.
   */
  after: { seq: number; part: number | null };
  /**
   * Whether to stop when the task waits for its client: true for the stream of a send, false for a
   * subscription.
   */
  stopAtInterruption: boolean;
}

/**
 * Yields every later update once and in order, until the task is over. Ends early when the client disconnects
 * or the server shuts down. Rights are those of now: each batch of events reads the task's row with whose its
 * agent and its workflow are, and while nothing happens one such read is due in `WAKE_MS`.
 * @throws task_not_found, also once the task is another user's, or the agent hidden from the caller
 */
export async function* followTask(call: A2ACall, { taskId, after, stopAtInterruption }: Follow): ItemStream {
  const session = await call.openSession('stream');
  const watch = call.deps.runEvents.watch(taskId);
  const wake = (): void => watch.close();
  const stopped = AbortSignal.any([call.signal, session.signal]);
  stopped.addEventListener('abort', wake, { once: true });
  let { seq } = after;
  const nudges = new Nudges();
  let partial: PartialArtifact | null = null;
  let sleep: Promise<void> | null = null;
  const slept = async (): Promise<void> => {
    await watch.next(WAKE_MS);
    sleep = null;
  };
  try {
    let row = await readTaskRow(asNow(call, session), taskId);
    partial = await partialArtifact(call.deps, row, () => nudges.give());
    for (let first = true; !call.signal.aborted; first = false) {
      if (sleep !== null) {
        // Nothing new in the log.
        for (const update of partial.take()) {
          checkSession(call, session, row);
          yield { id: String(seq), update };
        }
        await Promise.race([sleep, nudges.next()]);
        continue;
      }
      const events = await listEvents(call.deps.orm.em.fork(), taskId, {
        after: first && after.part !== null ? seq - 1 : seq,
        limit: BATCH,
        bytes: STREAM_PAGE_BYTES,
      });
      if (!first && events.length > 0) await session.recheck();
      checkSession(call, session, row);
      const now = asNow(call, session);
      const isQuiet = events.length === 0 && !first;
      // A quiet task may have got another owner, or its caller lost the agent.
      if (isQuiet) await requireTask(call.deps.orm.em.fork(), now.actor, call.target.agent.id, taskId);
      const items = isQuiet ? { ...NO_ITEMS, row } : await itemsOf(now, taskId, events);
      row = items.row;
      for (const item of items.items) {
        if (first && wasReceived(item, after)) continue;
        checkSession(call, session, row);
        yield item;
        if (ends(item, stopAtInterruption)) return;
      }
      seq = events.at(-1)?.seq ?? seq;
      if (events.at(-1)?.is_full === true) continue;
      if (items.over || call.deps.isStopping()) return;
      if (!stopped.aborted) sleep = slept();
    }
  } finally {
    stopped.removeEventListener('abort', wake);
    watch.close();
    partial?.close();
    session.close();
  }
}

/** The call with the rights that its user has now. */
function asNow(call: A2ACall, { actor }: LiveSession): A2ACall {
  return { ...call, actor };
}

/**
 * Ends the stream of a user who was disabled, logged out, lost a role, or sees the task no more. The roles
 * are those of the last check of the session, so this reads nothing. @throws 401, task_not_found
 */
function checkSession(call: A2ACall, { actor, signal }: LiveSession, row?: TaskRow): void {
  if (signal.aborted || !call.actor.roles.every((role) => hasRole(actor, role)))
    throw new AppError('unauthorized', 'invalid_token', 'The access token is no longer valid.');
  if (row !== undefined && !maySeeTask(actor, row)) throw taskNotFound(row.id);
}

interface Items {
  items: A2AStreamItem[];
  over: boolean;
  row: TaskRow;
}

const NO_ITEMS: Omit<Items, 'row'> = { items: [], over: false };

/** Reads the row after the events, so that it reflects all of them. */
async function itemsOf(
  call: A2ACall,
  taskId: string,
  events: Awaited<ReturnType<typeof listEvents>>,
): Promise<Items> {
  const em = call.deps.orm.em.fork();
  const row = await getTaskRow(em, call.actor, call.target.agent.id, taskId);
  // Only questions become updates; other messages need not be read.
  const hasQuestion = events.some(({ type }) => type === EVENT.runInputRequired);
  const messages = hasQuestion ? ((await readMessages(em, [row])).get(row.id) ?? []) : [];
  const shown = await presenting(call, em, row);
  // If events are left unread, the next round reads them. The task counts as over only after its last event.
  const over = isTerminalState(row.state) && (events.at(-1)?.seq ?? 0) >= row.last_seq;
  return { items: events.flatMap((event) => updatesOf(event, row, messages, shown)), over, row };
}

function wasReceived(item: A2AStreamItem, { seq, part }: Follow['after']): boolean {
  const [itemSeq = '', itemPart] = item.id.split('.');
  if (Number(itemSeq) !== seq) return Number(itemSeq) < seq;
  return part === null || (itemPart !== undefined && Number(itemPart) <= part);
}

function ends({ update }: A2AStreamItem, stopAtInterruption: boolean): boolean {
  if (!('statusUpdate' in update)) return false;
  const { state } = update.statusUpdate.status;
  return isTerminalState(state) || (stopAtInterruption && isInterruptedState(state));
}

/**
 * Waits until the task is over or waits for its client. Returns the row as it is when the client disconnects
 * or the server shuts down, and the call with the rights that its user has then. @throws task_not_found
 */
export async function settled(call: A2ACall, taskId: string): Promise<{ row: TaskRow; now: A2ACall }> {
  const session = await call.openSession('wait');
  const watch = call.deps.runEvents.watch(taskId);
  const wake = (): void => watch.close();
  const stopped = AbortSignal.any([call.signal, session.signal]);
  stopped.addEventListener('abort', wake, { once: true });
  try {
    for (let first = true; ; first = false) {
      if (!first) await session.recheck();
      checkSession(call, session);
      const now = asNow(call, session);
      const row = await readTaskRow(now, taskId);
      if (
        isTerminalState(row.state) ||
        (await waitsForClient(now, row)) ||
        call.signal.aborted ||
        call.deps.isStopping()
      )
        return { row, now };
      if (!stopped.aborted) await watch.next(WAKE_MS);
    }
  } finally {
    stopped.removeEventListener('abort', wake);
    watch.close();
    session.close();
  }
}

export async function waitsForClient(call: A2ACall, row: TaskRow): Promise<boolean> {
  return isInterruptedState(stateNow(row, await presenting(call, call.deps.orm.em.fork(), row)));
}
