/**
 * Which events a listener takes. Pure: the rows are read and written by `listeners.ts`, under the lock of the
 * listener's row, so that the first value of a correlation binds once.
 */
import { isRecord } from '../../contracts/is-record.ts';
import {
  isLiteralText,
  type EventFilterSpec,
  type ListenerSpec,
  type StrategySpec,
} from '../../contracts/listening.ts';
import { correlationOf, Effort, evaluate, isWholeMatch, type Attributes } from './effort.ts';

/** What a listener has taken so far. */
export interface ListenerState {
  /** Values of correlations, by name. */
  bound: Record<string, string>;
  /** Filters of `all` that have had their event, by position. */
  had: { main: number[]; until: number[] };
}

export interface Consumption {
  role: 'main' | 'until';
  /** The listener takes nothing more. */
  done: boolean;
  state: ListenerState;
}

/**
 * Whether the listener takes the event. An expression that fails does not match. Events that end the
 * listening come first, so an event that could do both ends it.
 */
export function consume(spec: ListenerSpec, state: ListenerState, event: Attributes): Consumption | null {
  const effort = new Effort(spec.variables);
  if (spec.until) {
    const until = take(spec.until, state, 'until', event, effort);
    if (until) return { role: 'until', ...until };
  }
  const main = take(spec, state, 'main', event, effort);
  return main && { role: 'main', state: main.state, done: main.done && !spec.goes_on };
}

/** Whether no further event changes what the listener waits for. */
export function isSettled({ mode, filters, until }: ListenerSpec, { bound }: ListenerState): boolean {
  const correlations = filters.flatMap(({ correlate }) => correlate);
  return (
    mode !== 'all' &&
    until === undefined &&
    correlations.every(({ name, expect }) => expect !== undefined || Object.hasOwn(bound, name))
  );
}

function take(
  { mode, filters }: StrategySpec,
  state: ListenerState,
  role: 'main' | 'until',
  event: Attributes,
  effort: Effort,
): Omit<Consumption, 'role'> | null {
  if (filters.length === 0) return mode === 'any' ? { state, done: true } : null;
  for (const [index, filter] of filters.entries()) {
    if (mode === 'all' && state.had[role].includes(index)) continue;
    const bound = matches(filter, event, state.bound, effort);
    if (bound === null) continue;
    const had = mode === 'all' ? { ...state.had, [role]: [...state.had[role], index] } : state.had;
    return { state: { bound, had }, done: mode !== 'all' || had[role].length === filters.length };
  }
  return null;
}

/** @returns the values of the correlations with those that the event binds; null if it does not match */
function matches(
  filter: EventFilterSpec,
  event: Attributes,
  bound: Record<string, string>,
  effort: Effort,
): Record<string, string> | null {
  for (const [name, pattern] of Object.entries(filter.with)) {
    const actual = Object.hasOwn(event, name) ? event[name] : undefined;
    if (!fits(pattern, actual, effort)) return null;
  }
  const values = { ...bound };
  for (const { name, from, expect } of filter.correlate) {
    const value = correlationOf(from, event, effort);
    const expected = expect ?? (Object.hasOwn(values, name) ? values[name] : undefined);
    if (value === null || (expected !== undefined && value !== expected)) return null;
    values[name] = value;
  }
  return values;
}

/** An object fits if each of its members does; what it does not name does not matter. */
function fits(pattern: unknown, actual: unknown, effort: Effort): boolean {
  if (!effort.spend(1)) return false;
  if (typeof pattern === 'string') return fitsText(pattern, actual, effort);
  if (Array.isArray(pattern))
    return (
      Array.isArray(actual) &&
      actual.length === pattern.length &&
      pattern.every((item, index) => fits(item, actual[index], effort))
    );
  if (isRecord(pattern))
    return (
      isRecord(actual) &&
      Object.entries(pattern).every(([key, item]) =>
        fits(item, Object.hasOwn(actual, key) ? actual[key] : undefined, effort),
      )
    );
  return actual === pattern;
}

function fitsText(pattern: string, actual: unknown, effort: Effort): boolean {
  if (pattern.includes('${')) {
    const value = evaluate(pattern, 'strict', actual, effort);
    if (typeof value === 'boolean') return value;
    const text = effort.textOf(value);
    return text !== null && text === effort.textOf(actual);
  }
  const text = effort.textOf(actual);
  if (text === null) return false;
  if (text === pattern) return true;
  return !isLiteralText(pattern) && isWholeMatch(pattern, text, effort);
}

/** Whether the expression of an `until` is true of the events so far. */
export function isUntil(source: string, events: unknown, variables: Attributes): boolean {
  const value = evaluate(source, 'loose', events, new Effort(variables));
  return value !== null && value !== undefined && value !== false;
}
