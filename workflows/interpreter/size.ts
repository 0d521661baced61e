/**
 * Limits the size of a run's data, because state, log, output and Temporal's payloads are serialized as JSON
 * repeatedly.
 */
import { spend } from './effort.ts';
import { fault } from './fault.ts';
import { framesOf, type Frame, type ListFrame, type RunState } from './state.ts';

/** In characters of JSON, approximately. Twice the limit of an agent's response. */
const MAX_SIZE = 16 * 1024 * 1024;

/**
 * Limit for everything that a run holds at once, as serialized when it continues in a new execution, where
 * data shared by several places is written several times. An agent's largest response fits three lists deep,
 * and several such runs fit into a worker.
 */
const MAX_HELD = 64 * 1024 * 1024;
/** The total is computed again after this many characters of new data. */
const LOOK_EVERY = 4 * 1024 * 1024;

/**
 * Escapes are counted in texts from this length on: sixteen million control characters become six times as
 * many in JSON.
 */
const LONG_TEXT = 64 * 1024;
/** This many characters are scanned in the time of one expression step. */
const CHARACTERS_A_STEP = 250;

/** Data is immutable and its parts are shared, so each part is measured once. */
const measured = new WeakMap<object, number>();

/** Returns the value, or faults with a runtime error if it is too large. */
export function bounded<T>(value: T, field: string, ref: string): T {
  if (sizeOf(value) > MAX_SIZE)
    throw fault('runtime', `limit exceeded: ${field} has more than ${MAX_SIZE} characters of JSON`, ref);
  return value;
}

let movedSize = 0;

/**
 * Call with each input and output of a task: faults with a runtime error if the run then holds too much.
 * Counts data instead of time, so that a replay does the same.
 */
export function boundedRun(state: RunState, value: unknown, ref: string): void {
  movedSize += sizeOf(value);
  if (movedSize < LOOK_EVERY) return;
  movedSize = 0;
  const held = sizeOfState(state);
  if (held > MAX_HELD) {
    throw fault(
      'runtime',
      `limit exceeded: the run holds ${held} characters of JSON at once in its context and in ` +
        `the inputs and outputs of tasks under way, more than ${MAX_HELD}`,
      ref,
    );
  }
}

/**
 * A checkpoint is written and read several times within one workflow task, which has 5 s. Twice this size
 * would take longer on a busy machine.
 */
const MAX_CHECKPOINT = 32 * 1024 * 1024;

/**
 * Whether a faulted run can store its state for a retry. A fork of many branches can hold far more than a run
 * may; serialized as JSON it would take a worker's whole memory, and again in each worker that takes the run
 * over.
 */
export function fitsCheckpoint(state: RunState): boolean {
  return sizeOfState(state) <= MAX_CHECKPOINT;
}

/** The size of a state's data in characters of JSON, approximately. */
function sizeOfState(state: RunState): number {
  let size = sizeOf(state.scope.context);
  for (const frame of framesOf(state.root)) size += sizeOfFrame(frame);
  return size;
}

/** Without nested frames. */
function sizeOfFrame(frame: Frame): number {
  const { raw, input, list, loop, fork, map, attempts, child, remote, listen, chat } = frame;
  const ofList = (inner: ListFrame | undefined): number => (inner ? sizeOf(inner.data) : 0);
  let size = sizeOf(raw) + ofList(list);
  if (input) size += sizeOf(input.value);
  if (loop) size += sizeOf(loop.items) + sizeOf(loop.data) + ofList(loop.list);
  if (attempts) size += sizeOf(attempts.context) + ofList(attempts.list) + ofList(attempts.caught?.list);
  if (child) size += sizeOf(child.input);
  if (remote) size += sizeOf(remote.ask.subject);
  if (listen) size += sizeOfListen(listen);
  for (const call of chat?.calls ?? [])
    size += sizeOf(call.arguments) + sizeOf(call.approval) + sizeOf(call.answer);
  if (fork) {
    size += sizeOf(fork.base);
    for (const { scope, done } of fork.branches) size += sizeOf(scope.context) + sizeOf(done?.output);
  }
  if (map) {
    size += sizeOf(map.items);
    for (const result of map.results) size += sizeOf(result);
    for (const item of Object.values(map.open)) size += sizeOf(item.scope.context) + ofList(item.list);
  }
  return size;
}

function sizeOfListen({ buffer, current, list, output }: NonNullable<Frame['listen']>): number {
  const events = buffer.reduce((sum, { event }) => sum + sizeOf(event), 0);
  return events + sizeOf(current?.event) + sizeOf(output) + (list ? sizeOf(list.data) : 0);
}

/** Characters of JSON, approximately. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 3 + (value.length < LONG_TEXT ? 0 : escapesIn(value));
  if (typeof value !== 'object' || value === null) return 5;
  let size = measured.get(value);
  if (size !== undefined) return size;
  size = 2;
  if (Array.isArray(value)) for (const item of value) size += sizeOf(item);
  else for (const [key, item] of Object.entries(value)) size += key.length + 3 + sizeOf(item);
  measured.set(value, size);
  return size;
}

/** How many characters escaping adds to the text in JSON. */
function escapesIn(text: string): number {
  spend(text.length / CHARACTERS_A_STEP);
  let more = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE || code === BACKSLASH) more++;
    else if (code < SPACE) more += SHORT_ESCAPES.has(code) ? 1 : 5;
    else if (isSurrogate(code)) {
      // Surrogate pairs are not escaped.
      if (code < LOW_SURROGATES && isLowSurrogate(text.charCodeAt(i + 1))) i++;
      else more += 5;
    }
  }
  return more;
}

const [QUOTE, BACKSLASH, SPACE] = [0x22, 0x5c, 0x20];
const LOW_SURROGATES = 0xdc00;
/** Backspace, tab, line feed, form feed, carriage return. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d]);
const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff;
const isLowSurrogate = (code: number): boolean => code >= LOW_SURROGATES && code <= 0xdfff;
