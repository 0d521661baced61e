/** How large a run's data may be: what is kept in state, log, output and Temporal's payloads is written as JSON again and again. */
import { fault } from './fault.ts';
import { framesOf } from './state.ts';
import type { Frame, ListFrame, RunState } from './state.ts';

/** Characters of JSON, about. Twice what an agent may answer. */
const MAX_SIZE = 16 * 1024 * 1024;

/**
 * Of all that a run holds at once, as it is written when the run goes on in a new execution, each place by itself: there what two
 * places share is no longer shared. An agent's largest answer fits three lists deep; several such runs at once fit into a worker.
 */
const MAX_HELD = 64 * 1024 * 1024;
/** So much may come in before it is added up again. */
const LOOK_EVERY = 4 * 1024 * 1024;

/** Data is never changed once it is made, and its parts are shared: each is measured once. */
const measured = new WeakMap<object, number>();

/** Returns the value, or faults with a runtime error where it is too large. */
export function bounded<T>(value: T, what: string, ref: string): T {
  if (sizeOf(value) > MAX_SIZE) throw fault('runtime', `limit exceeded: ${what} has more than ${MAX_SIZE} characters of JSON`, ref);
  return value;
}

let moved = 0;

/** For what a task takes or gives: faults with a runtime error where the run then holds too much. Counts data, not time: a replay does the same. */
export function boundedRun(state: RunState, value: unknown, ref: string): void {
  moved += sizeOf(value);
  if (moved < LOOK_EVERY) return;
  moved = 0;
  const held = sizeOfState(state);
  if (held > MAX_HELD) {
    throw fault('runtime', `limit exceeded: the run holds ${held} characters of JSON at once in its context and in the inputs and outputs of tasks under way, more than ${MAX_HELD}`, ref);
  }
}

/** Characters of JSON, about, of the data in it. */
export function sizeOfState(state: RunState): number {
  let size = sizeOf(state.scope.context);
  for (const frame of framesOf(state.root)) size += sizeOfFrame(frame);
  return size;
}

/** Without the frames in it. */
function sizeOfFrame({ raw, input, list, loop, fork, attempts, child, remote }: Frame): number {
  const ofList = (one: ListFrame | undefined): number => (one ? sizeOf(one.data) : 0);
  let size = sizeOf(raw) + ofList(list);
  if (input) size += sizeOf(input.value);
  if (loop) size += sizeOf(loop.items) + sizeOf(loop.data) + ofList(loop.list);
  if (attempts) size += sizeOf(attempts.context) + ofList(attempts.list) + ofList(attempts.caught?.list);
  if (child) size += sizeOf(child.input);
  if (remote) size += sizeOf(remote.ask.subject);
  if (fork) {
    size += sizeOf(fork.base);
    for (const { scope, done } of fork.branches) size += sizeOf(scope.context) + sizeOf(done?.output);
  }
  return size;
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 3;
  if (typeof value !== 'object' || value === null) return 5;
  let size = measured.get(value);
  if (size !== undefined) return size;
  size = 2;
  if (Array.isArray(value)) for (const item of value) size += sizeOf(item);
  else for (const [key, item] of Object.entries(value)) size += key.length + 3 + sizeOf(item);
  measured.set(value, size);
  return size;
}
