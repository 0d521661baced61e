/**
 * Which events a listener takes. Pure: the rows are read and written by `listeners.ts`, under the lock of the
 * listener's row, so that the first value of a correlation binds once.
 */
import { createHash } from 'node:crypto';

import { isRecord } from '../../contracts/is-record.ts';
import {
  correlationText,
  isLiteralText,
  type EventFilterSpec,
  type ListenerSpec,
  type StrategySpec,
} from '../../contracts/listening.ts';
import { compile, ExpressionError, template } from '../../language/expressions/index.ts';
import { storable } from '../storable.ts';

export type Attributes = Record<string, unknown>;

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

/** Enough for filters; a match that costs more is none. */
const LIMITS = { steps: 50_000, regexSteps: 200_000 };

/**
 * Whether the listener takes the event. An expression that fails does not match. Events that end the
 * listening come first, so an event that could do both ends it.
 */
export function consume(spec: ListenerSpec, state: ListenerState, event: Attributes): Consumption | null {
  if (spec.until) {
    const until = take(spec.until, state, 'until', event, spec.variables);
    if (until) return { role: 'until', ...until };
  }
  const main = take(spec, state, 'main', event, spec.variables);
  return main && { role: 'main', state: main.state, done: main.done && !spec.goes_on };
}

function take(
  { mode, filters }: StrategySpec,
  state: ListenerState,
  role: 'main' | 'until',
  event: Attributes,
  variables: Attributes,
): Omit<Consumption, 'role'> | null {
  if (filters.length === 0) return mode === 'any' ? { state, done: true } : null;
  for (const [index, filter] of filters.entries()) {
    if (mode === 'all' && state.had[role].includes(index)) continue;
    const bound = matches(filter, event, state.bound, variables);
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
  variables: Attributes,
): Record<string, string> | null {
  for (const [name, pattern] of Object.entries(filter.with)) {
    const actual = Object.hasOwn(event, name) ? event[name] : undefined;
    if (!fits(pattern, actual, variables)) return null;
  }
  const values = { ...bound };
  for (const { name, from, expect } of filter.correlate) {
    const value = correlationOf(from, event, variables);
    const expected = expect ?? (Object.hasOwn(values, name) ? values[name] : undefined);
    if (value === null || (expected !== undefined && value !== expected)) return null;
    values[name] = value;
  }
  return values;
}

/** The value of a correlation, as PostgreSQL can store it; null if the event has none. */
function correlationOf(from: string, event: Attributes, variables: Attributes): string | null {
  return storable(correlationText(evaluate(from, 'loose', event, variables)));
}

/** An object fits if each of its members does; what it does not name does not matter. */
function fits(pattern: unknown, actual: unknown, variables: Attributes): boolean {
  if (typeof pattern === 'string') return fitsText(pattern, actual, variables);
  if (Array.isArray(pattern))
    return (
      Array.isArray(actual) &&
      actual.length === pattern.length &&
      pattern.every((item, index) => fits(item, actual[index], variables))
    );
  if (isRecord(pattern))
    return (
      isRecord(actual) &&
      Object.entries(pattern).every(([key, item]) =>
        fits(item, Object.hasOwn(actual, key) ? actual[key] : undefined, variables),
      )
    );
  return actual === pattern;
}

function fitsText(pattern: string, actual: unknown, variables: Attributes): boolean {
  if (pattern.includes('${')) {
    const value = evaluate(pattern, 'strict', actual, variables);
    if (typeof value === 'boolean') return value;
    const text = correlationText(value);
    return text !== null && text === correlationText(actual);
  }
  const text = correlationText(actual);
  if (text === null) return false;
  if (text === pattern) return true;
  return !isLiteralText(pattern) && isWholeMatch(pattern, text);
}

function isWholeMatch(pattern: string, text: string): boolean {
  try {
    const program = compile('test("^(?:" + $pattern + ")$")', { variables: ['pattern'] });
    return program.first(text, { variables: { pattern }, limits: LIMITS }) === true;
  } catch (error) {
    if (error instanceof ExpressionError) return false;
    throw error;
  }
}

/** Null if the expression fails. */
function evaluate(source: string, mode: 'strict' | 'loose', input: unknown, variables: Attributes): unknown {
  try {
    return template(source, { mode }).first(input, { variables, clock: () => new Date(), limits: LIMITS });
  } catch (error) {
    if (error instanceof ExpressionError) return null;
    throw error;
  }
}

/** Whether the expression of an `until` is true of the events so far. */
export function isUntil(source: string, events: unknown, variables: Attributes): boolean {
  const value = evaluate(source, 'loose', events, variables);
  return value !== null && value !== undefined && value !== false;
}

/** By which values listeners are found: attributes, and expressions on the event. */
export interface Shape {
  attributes: string[];
  from: string[];
}

/** One entry of the index: listeners of a type (empty: any type) whose shape has these values. */
export interface IndexKey {
  type: string;
  shape: string;
  value: string;
}

const INDEXED = ['source', 'subject'] as const;

/** Under which keys a listener is found, and the shapes that they name. */
export function keysOf(
  spec: ListenerSpec,
  state: ListenerState,
): { keys: IndexKey[]; shapes: Map<string, Shape> } {
  const keys = new Map<string, IndexKey>();
  const shapes = new Map<string, Shape>();
  const add = (filter: EventFilterSpec): void => {
    const attributes = INDEXED.filter((name) => isLiteralText(filter.with[name]));
    const known = filter.correlate.flatMap(({ name, from, expect, plain }) => {
      const value = expect ?? (Object.hasOwn(state.bound, name) ? state.bound[name] : undefined);
      return plain && value !== undefined ? [{ from, value }] : [];
    });
    known.sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
    const shape = { attributes, from: known.map(({ from }) => from) };
    const values = [...attributes.map((name) => filter.with[name]), ...known.map(({ value }) => value)];
    const type = isLiteralText(filter.with['type']) ? digest(filter.with['type']) : '';
    const key = { type, shape: digest(shape), value: digest(values) };
    keys.set(JSON.stringify(key), key);
    shapes.set(key.shape, shape);
  };
  for (const [role, strategy] of [
    ['main', spec],
    ['until', spec.until],
  ] as const) {
    if (!strategy) continue;
    if (strategy.filters.length === 0 && strategy.mode === 'any') add({ with: {}, correlate: [] });
    for (const [index, filter] of strategy.filters.entries())
      if (strategy.mode !== 'all' || !state.had[role].includes(index)) add(filter);
  }
  return { keys: [...keys.values()], shapes };
}

/** The types under which an event's listeners are found. */
export function typesOf(event: Attributes): string[] {
  return [digest(event['type']), ''];
}

/** The value that a listener of this shape has if it may take the event; null if none may. */
export function valueOf({ attributes, from }: Shape, event: Attributes): string | null {
  const values: unknown[] = [];
  for (const name of attributes) {
    const text = correlationText(event[name]);
    if (text === null) return null;
    values.push(text);
  }
  for (const source of from) {
    const text = correlationOf(source, event, {});
    if (text === null) return null;
    values.push(text);
  }
  return digest(values);
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 22);
}
