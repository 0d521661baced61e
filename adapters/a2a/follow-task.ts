/** From the first message to a state that is settled, over dropped streams, restarts of either side and agents that only poll. */
import type { Message, StreamResponse, Task } from '@a2a-js/sdk';
import { setTimeout as sleep } from 'node:timers/promises';
import { fault } from '../../contracts/fault.ts';
import type { RemoteAgent } from './remote-agent.ts';
import { isRefusal, OwnFailure } from './remote-faults.ts';
import { createTaskView, isAsking, isTerminal, markOf } from './task-view.ts';
import type { TaskView } from './task-view.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** So long an agent may be away while its task runs. */
const UNREACHABLE_MS = 120_000;
/** So long a question may still be shown after its answer was taken. */
const OLD_QUESTION_MS = 15_000;

export interface Following {
  remote: RemoteAgent;
  message: Message;
  /** The task of an earlier attempt of this call, or the one that the message answers. */
  taskId: string | null;
  /** The message has been sent to that task already, or may have been. */
  sent: boolean;
  /** Mark of the question that the message answers. */
  answered: string | null;
  pollMs: number | null;
  signal: AbortSignal;
  /** The task's id, as soon as it is known, and before anything else is done. */
  known(task: { task_id: string; context_id: string }): Promise<void>;
}

export type Settled = { message: Message } | { task: Task; view: TaskView };

/** Ends with a message, or with a task that is terminal or waits for us. Throws what the agent refuses; the signal's reason. */
export async function followTask(following: Following): Promise<Settled> {
  const view = createTaskView(following.remote);
  const shown = new AbortController();
  // A stream that shows the old question on and on may stay open and silent. It is not left before: servers exist that
  // work no further than they are read.
  const limit = setTimeout(() => asksStill(view.task) && shown.abort(new Error('nothing new came')), OLD_QUESTION_MS);
  try {
    return await follow(following, view, shown.signal);
  } finally {
    clearTimeout(limit);
  }
}

async function follow(following: Following, view: TaskView, shown: AbortSignal): Promise<Settled> {
  const { remote, signal } = following;
  const streamed = AbortSignal.any([signal, shown]);
  const pause = pauses(following.pollMs, signal);
  let told = following.sent && following.taskId !== null;
  const began = Date.now();
  const settled = (): boolean => {
    if (view.task === null) return false;
    if (isTerminal(view.task)) return true;
    if (!isAsking(view.task)) return false;
    return following.answered === null || markOf(view.task) !== following.answered || Date.now() - began > OLD_QUESTION_MS;
  };
  const read = async (events: AsyncIterable<StreamResponse>): Promise<Message | null> => {
    for await (const event of events) {
      if (event.payload?.$case !== 'task') pause.reset();
      if (event.payload?.$case === 'message') return event.payload.value;
      view.apply(event);
      if (view.task !== null && !told) {
        told = true;
        await following.known({ task_id: view.task.id, context_id: view.task.contextId });
      }
      if (settled()) return null;
    }
    return null;
  };

  if (!following.sent) {
    const message = await sent({ ...following, streamed }, view, read);
    if (message !== null) return { message };
  }
  const id = view.task?.id ?? following.taskId;
  if (id === null || id === '') throw fault('communication', 'the agent answered with neither a message nor a task', { status: 502 });

  let { streaming } = remote;
  let reached = Date.now();
  if (view.task === null) view.missed();
  while (!settled() || view.stale) {
    signal.throwIfAborted();
    if (view.stale) {
      try {
        view.replace(await remote.task(id, signal));
        reached = Date.now();
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (isRefusal(error) || Date.now() - reached > UNREACHABLE_MS) throw error;
        await pause.next();
      }
      continue;
    }
    if (streaming && !streamed.aborted) {
      // What happened since the last picture is missing, unless the stream begins with one.
      view.missed();
      try {
        await read(remote.subscribe(id, streamed));
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (error instanceof OwnFailure) throw error;
        // An agent without a way back to its stream, or a task that has ended meanwhile.
        if (isRefusal(error)) streaming = false;
      }
      if (!settled()) await pause.next();
    } else {
      await pause.next();
      view.missed();
    }
  }
  if (view.task === null) throw new Error('a task is settled that is not there');
  return { task: view.task, view };
}

/** Sends the message. A stream that breaks after the task is known is no failure. */
async function sent({ remote, message, signal, streamed }: Following & { streamed: AbortSignal }, view: TaskView, read: (events: AsyncIterable<StreamResponse>) => Promise<Message | null>): Promise<Message | null> {
  try {
    return await read(remote.send(message, streamed));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (isRefusal(error) || error instanceof OwnFailure) throw error;
    if (view.task === null) {
      // It may have arrived all the same; who cannot say so has failed.
      const task = await remote.taskOf(message, signal).catch(() => null);
      if (task === null) throw error;
      view.replace(task);
    }
    view.missed();
    return null;
  }
}

interface Pauses {
  next(): Promise<void>;
  reset(): void;
}

/** Growing, but for a fixed interval; news from the agent make them short again. */
function pauses(fixedMs: number | null, signal: AbortSignal): Pauses {
  let ms = FIRST_PAUSE_MS;
  return {
    async next() {
      await sleep(fixedMs ?? ms, undefined, { signal }).catch(() => undefined);
      signal.throwIfAborted();
      ms = Math.min(LONGEST_PAUSE_MS, ms * 1.5);
    },
    reset() {
      ms = FIRST_PAUSE_MS;
    },
  };
}

function asksStill(task: Task | null): boolean {
  return task !== null && isAsking(task);
}
