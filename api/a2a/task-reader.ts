/** Reads tasks and follows their events, in any copy of the API: the tables are the truth, notifications only wake. */
import type { A2AStreamItem, A2ATask } from '../../contracts/a2a.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { isInterruptedState, isTerminalState } from '../../contracts/a2a.ts';
import { linksOf } from '../../domain/a2a/file-links.ts';
import { presentTask, stateNow, type Presenting, type TaskOptions } from '../../domain/a2a/present.ts';
import { mayAnswer, openQuestions } from '../../domain/a2a/send.ts';
import { getTaskRow, readMessages, type TaskRow } from '../../domain/a2a/task-row.ts';
import { updatesOf } from '../../domain/a2a/updates.ts';
import { hasRole } from '../../domain/auth/actor.ts';
import { AppError } from '../../domain/errors.ts';
import { eventsAfter } from '../../domain/runs/queries.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { A2ACall, ItemStream } from './call.ts';

const BATCH = 200;
/** A stream without events looks so often whether its user is still one. */
const USER_MS = 15_000;
/** Readers wake at least so often, to see that their client is gone or the server stops. */
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

export async function presenting(call: A2ACall, em: EntityManager, row: TaskRow): Promise<Presenting> {
  const open = isInterruptedState(row.state) ? await openQuestions(em, row) : [];
  return { link: await linksOf({ keys: call.deps.keys, baseUrl: call.deps.env.BASE_URL, em }, row), asks: open.length > 0, answerable: mayAnswer(call.actor, open), extensions: call.extensions };
}

export interface Follow {
  taskId: string;
  /** Everything after it; a part of an event's updates where the client had only some. */
  after: { seq: number; part: number | null };
  /** A send's stream closes when the task waits for its client, a subscription does not. */
  stopAtInterruption: boolean;
}

/** Every later update once, in order, until the task is over. Ends early when the client goes or the server stops. */
export async function* followTask(call: A2ACall, { taskId, after, stopAtInterruption }: Follow): ItemStream {
  const watch = call.deps.runEvents.watch(taskId);
  const wake = (): void => watch.close();
  call.signal.addEventListener('abort', wake, { once: true });
  let { seq } = after;
  let knownAt = Date.now();
  try {
    for (let first = true; !call.signal.aborted; first = false) {
      const events = await eventsAfter(call.deps.orm.em.fork(), taskId, { after: first && after.part !== null ? seq - 1 : seq, limit: BATCH });
      if (!first && (events.length > 0 || Date.now() - knownAt > USER_MS)) {
        await checkUser(call);
        knownAt = Date.now();
      }
      const items = events.length > 0 || first ? await itemsOf(call, taskId, events) : { items: [], over: false };
      for (const item of items.items) {
        if (first && isKnown(item, after)) continue;
        yield item;
        if (ends(item, stopAtInterruption)) return;
      }
      seq = events.at(-1)?.seq ?? seq;
      if (events.length === BATCH) continue;
      if (items.over || call.deps.isStopping()) return;
      await watch.next(WAKE_MS);
    }
  } finally {
    call.signal.removeEventListener('abort', wake);
    watch.close();
  }
}

/** @throws unauthorized: who was disabled, logged out, or lost a role, sees no more. */
async function checkUser(call: A2ACall): Promise<void> {
  const now = await call.actorNow();
  if (now === null || !call.actor.roles.every((role) => hasRole(now, role))) throw new AppError('unauthorized', 'invalid_token', 'The access token is not valid any longer.');
}

/** The row is read after the events, so that it knows what they led to. */
async function itemsOf(call: A2ACall, taskId: string, events: Awaited<ReturnType<typeof eventsAfter>>): Promise<{ items: A2AStreamItem[]; over: boolean }> {
  const em = call.deps.orm.em.fork();
  const row = await getTaskRow(em, call.actor, call.target.agent.id, taskId);
  // Of the messages only questions are updates.
  const asked = events.some(({ type }) => type === EVENT.runInputRequired);
  const messages = asked ? ((await readMessages(em, [row])).get(row.id) ?? []) : [];
  const shown = await presenting(call, em, row);
  // Over with events unread: the next round reads them, so only what was seen to the end counts.
  const over = isTerminalState(row.state) && (events.at(-1)?.seq ?? 0) >= row.last_seq;
  return { items: events.flatMap((event) => updatesOf(event, row, messages, shown)), over };
}

function isKnown(item: A2AStreamItem, { seq, part }: Follow['after']): boolean {
  const [itemSeq = '', itemPart] = item.id.split('.');
  if (Number(itemSeq) !== seq) return Number(itemSeq) < seq;
  return part === null || (itemPart !== undefined && Number(itemPart) <= part);
}

function ends({ update }: A2AStreamItem, stopAtInterruption: boolean): boolean {
  if (!('statusUpdate' in update)) return false;
  const { state } = update.statusUpdate.status;
  return isTerminalState(state) || (stopAtInterruption && isInterruptedState(state));
}

/** Waits until the task is over or waits for its client. Gives the row as it is when the client goes or the server stops. */
export async function settled(call: A2ACall, taskId: string): Promise<TaskRow> {
  const watch = call.deps.runEvents.watch(taskId);
  const wake = (): void => watch.close();
  call.signal.addEventListener('abort', wake, { once: true });
  try {
    for (;;) {
      const row = await readTaskRow(call, taskId);
      if (isTerminalState(row.state) || (await waitsForClient(call, row)) || call.signal.aborted || call.deps.isStopping()) return row;
      await watch.next(WAKE_MS);
    }
  } finally {
    call.signal.removeEventListener('abort', wake);
    watch.close();
  }
}

export async function waitsForClient(call: A2ACall, row: TaskRow): Promise<boolean> {
  return isInterruptedState(stateNow(row, await presenting(call, call.deps.orm.em.fork(), row)));
}
