/** What a `listen` task or an event schedule waits for, with everything resolved that needs no event. */
import { canonicalJson } from './canonical-json.ts';

export interface EventFilterSpec {
  /** By attribute: literal, regular expression, `${ … }` with the attribute as input, or data with these. */
  with: Record<string, unknown>;
  correlate: CorrelationSpec[];
}

export interface CorrelationSpec {
  /** Filters that name the same correlation have to find the same value. */
  name: string;
  /** jq on the event. */
  from: string;
  /** The expected value as text (`correlationText`); absent: the first value that is found. */
  expect?: string;
  /** `from` reads no variables, so listeners can be found by its value. */
  plain: boolean;
}

export interface StrategySpec {
  mode: 'one' | 'any' | 'all';
  /** None with `any`: every event. */
  filters: EventFilterSpec[];
}

export interface ListenerSpec extends StrategySpec {
  /** `any` with `until`: events are taken until the listener is closed. */
  goes_on: boolean;
  /** The events that end it. */
  until?: StrategySpec;
  /** Variables that expressions of the filters read. */
  variables: Record<string, unknown>;
  /** Tell the run once, when everything is there. */
  once: boolean;
}

/** An event that a listener has taken. `seq` counts from 1 within the listener. */
export interface TakenEvent {
  seq: number;
  /** `until`: it ends the listening, and is no part of the output. */
  role: 'main' | 'until';
  event: Record<string, unknown>;
}

/** The next events of a listener. */
export interface TakenEvents {
  events: TakenEvent[];
  /** There is nothing after these: the strategy is complete. */
  done: boolean;
  /** There may be more now; otherwise a signal tells of the next one. */
  more: boolean;
}

/** How a definition reads events. `raw`: the data as text; bytes in base64. */
export function readEvent(event: Record<string, unknown>, read: 'data' | 'envelope' | 'raw'): unknown {
  if (read === 'envelope') return event;
  const data = event['data'] ?? event['data_base64'] ?? null;
  return read === 'data' || typeof data === 'string' ? data : JSON.stringify(data);
}

/** Events that one answer or signal has at most. */
export const MAX_TAKEN = 100;
/** Beyond this an answer has one event at most. */
export const MAX_TAKEN_BYTES = 256 * 1024;
/** The most filters of a strategy. */
export const MAX_FILTERS = 50;
/** Characters of JSON of all filters of a listener. */
export const MAX_FILTERS_LENGTH = 64 * 1024;

/** A value of a correlation as text, so that 7 and "7" are equal; null for none. */
export function correlationText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? canonicalJson(value) : JSON.stringify(value);
}

const PATTERN = /[\\^$*+?()[\]{}|]/;

/** Whether a text of a filter matches only itself: it is neither an expression nor a regular expression. */
export function isLiteralText(value: unknown): value is string {
  return typeof value === 'string' && !PATTERN.test(value);
}
