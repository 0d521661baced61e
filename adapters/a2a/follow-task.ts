/**
 * Follows a task from the first message to a settled state, across dropped streams, restarts of either side,
 * and agents that only support polling.
 */
import { TaskState, type Message, type Part, type StreamResponse, type Task } from '@a2a-js/sdk';
import { setTimeout as sleep } from 'node:timers/promises';
import { fault } from '../../contracts/fault.ts';
import type { PartialSink } from '../../domain/ports.ts';
import type { RemoteAgent } from './remote-agent.ts';
import { OwnFailure } from './own-failure.ts';
import { isRefusal } from './remote-faults.ts';
import { createTaskView, isAsking, isTerminal, markOf, type TaskView } from './task-view.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** How long an agent may be unreachable while its task runs. */
const UNREACHABLE_MS = 120_000;
/** How long an agent may show a question after it accepted the answer. */
const OLD_QUESTION_MS = 15_000;

export interface Following {
  remote: RemoteAgent;
  message: Message;
  /** The task of an earlier attempt of this call, or the task that the message answers. */
  taskId: string | null;
  /** Whether the message may already have been sent to that task. */
  sent: boolean;
  /** The mark of the question that the message answers. */
  answered: string | null;
  pollMs: number | null;
  signal: AbortSignal;
  /** Gets the texts of artifacts and states as they arrive. */
  partial?: PartialSink | undefined;
  /** Receives the task's id as soon as it is known, before anything else happens. */
  known(task: { task_id: string; context_id: string }): Promise<void>;
}

export type Settled = { message: Message } | { task: Task; view: TaskView };

/**
 * Returns a message, or a task that is terminal or waits for us. Throws the agent's refusal, or the signal's
 * reason.
 */
export async function followTask(following: Following): Promise<Settled> {
  return new TaskFollower(following).follow();
}

class TaskFollower {
  readonly #following: Following;
  readonly #view: TaskView;
  readonly #pause: Pauses;
  readonly #beganAt = Date.now();
  /** Ends a stream that keeps showing the old question. */
  readonly #oldQuestion = new AbortController();
  readonly #streamSignal: AbortSignal;
  #reported: boolean;
  #canStream: boolean;
  #reachedAt = Date.now();

  constructor(following: Following) {
    const { remote, pollMs, signal, sent, taskId } = following;
    this.#following = following;
    this.#view = createTaskView(remote);
    this.#pause = createPauses(pollMs, signal);
    this.#streamSignal = AbortSignal.any([signal, this.#oldQuestion.signal]);
    this.#reported = sent && taskId !== null;
    this.#canStream = remote.streaming;
  }

  async follow(): Promise<Settled> {
    // A stream that keeps showing the old question may stay open without events. It is not closed earlier,
    // because some servers stop working when their stream is not read.
    const limit = setTimeout(() => {
      if (this.#view.task !== null && isAsking(this.#view.task))
        this.#oldQuestion.abort(new Error('nothing new came'));
    }, OLD_QUESTION_MS);
    try {
      const message = this.#following.sent ? null : await this.#send();
      return message === null ? await this.#untilSettled() : { message };
    } finally {
      clearTimeout(limit);
    }
  }

  /** Sends the message. A stream that breaks after the task is known is not a failure. */
  async #send(): Promise<Message | null> {
    const { remote, message, signal } = this.#following;
    try {
      return await this.#read(remote.send(message, this.#streamSignal));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isRefusal(error) || error instanceof OwnFailure) throw error;
      if (this.#view.task === null) {
        // The message may have arrived nevertheless; if the agent cannot tell, the call has failed.
        const task = await remote.taskOf(message, signal).catch(() => null);
        if (task === null) throw error;
        this.#view.replace(task);
      }
      this.#view.missed();
      return null;
    }
  }

  /** Applies events until the task settles. @returns the message, if the agent answers with one instead */
  async #read(events: AsyncIterable<StreamResponse>): Promise<Message | null> {
    for await (const event of events) {
      if (event.payload?.$case !== 'task') this.#pause.reset();
      if (event.payload?.$case === 'message') return event.payload.value;
      this.#show(event);
      this.#view.apply(event);
      await this.#reportTask();
      if (this.#isSettled()) return null;
    }
    return null;
  }

  /** Shows what an event adds to the view. */
  #show({ payload }: StreamResponse): void {
    const { partial, remote } = this.#following;
    if (partial === undefined) return;
    if (payload?.$case === 'statusUpdate') {
      const { status } = payload.value;
      const text = textOf(status?.message?.parts);
      if (text !== '' && status?.state === TaskState.TASK_STATE_WORKING) partial.progress(text);
    }
    if (payload?.$case === 'artifactUpdate') {
      const { append, artifact } = payload.value;
      const known = this.#view.task?.artifacts.some(({ artifactId }) => artifactId === artifact?.artifactId);
      if (!append && known === true && remote.losesAppend !== true) partial.restart();
      partial.output(textOf(artifact?.parts));
    }
  }

  async #reportTask(): Promise<void> {
    const { task } = this.#view;
    if (task === null || this.#reported) return;
    this.#reported = true;
    await this.#following.known({ task_id: task.id, context_id: task.contextId });
  }

  #isSettled(): boolean {
    const { task } = this.#view;
    if (task === null) return false;
    if (isTerminal(task)) return true;
    if (!isAsking(task)) return false;
    const { answered } = this.#following;
    const isNewQuestion = answered === null || markOf(task) !== answered;
    return isNewQuestion || Date.now() - this.#beganAt > OLD_QUESTION_MS;
  }

  async #untilSettled(): Promise<Settled> {
    const view = this.#view;
    const id = view.task?.id ?? this.#following.taskId;
    if (id === null || id === '')
      throw fault('communication', 'the agent answered with neither a message nor a task', { status: 502 });
    this.#reachedAt = Date.now();
    if (view.task === null) view.missed();
    while (!this.#isSettled() || view.stale) {
      this.#following.signal.throwIfAborted();
      if (view.stale) await this.#fetchTask(id);
      else if (this.#canStream && !this.#streamSignal.aborted) await this.#resubscribe(id);
      else await this.#pauseBeforePoll();
    }
    if (view.task === null) throw new Error('a settled task is missing');
    return { task: view.task, view };
  }

  async #fetchTask(id: string): Promise<void> {
    const { remote, signal } = this.#following;
    try {
      this.#view.replace(await remote.task(id, signal));
      this.#reachedAt = Date.now();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isRefusal(error) || Date.now() - this.#reachedAt > UNREACHABLE_MS) throw error;
      await this.#pause.next();
    }
  }

  async #resubscribe(id: string): Promise<void> {
    const { remote, signal } = this.#following;
    // Updates since the last full task may be missing, unless the stream starts with a full task.
    this.#view.missed();
    try {
      await this.#read(remote.subscribe(id, this.#streamSignal));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof OwnFailure) throw error;
      // The agent does not support resubscribing, or the task has ended meanwhile.
      if (isRefusal(error)) this.#canStream = false;
    }
    if (!this.#isSettled()) await this.#pause.next();
  }

  async #pauseBeforePoll(): Promise<void> {
    await this.#pause.next();
    this.#view.missed();
  }
}

function textOf(parts: readonly Part[] = []): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
}

interface Pauses {
  next(): Promise<void>;
  reset(): void;
}

/** Growing pauses, unless the interval is fixed; events from the agent reset them. */
function createPauses(fixedMs: number | null, signal: AbortSignal): Pauses {
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
