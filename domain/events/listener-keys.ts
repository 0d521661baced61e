/** Under which keys a listener is in the index, and under which an event looks for it. */
import { createHash } from 'node:crypto';

import {
  correlationText,
  isLiteralText,
  type EventFilterSpec,
  type ListenerSpec,
} from '../../contracts/listening.ts';
import { correlationOf, Effort, type Attributes } from './effort.ts';
import type { ListenerState } from './match.ts';

/** By which values listeners are found: attributes, and expressions on the event. */
export interface Shape {
  attributes: string[];
  from: string[];
}

/** One entry of the index: listeners of a type (empty: any type) whose shape has these values. */
interface IndexKey {
  type: string;
  shape: string;
  value: string;
}

const INDEXED = ['source', 'subject'] as const;
/** Others are compared when the listener is offered the event. */
const MAX_INDEXED_CORRELATIONS = 4;
const MAX_INDEXED_FROM = 1_000;

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
      const isIndexed = plain && from.length <= MAX_INDEXED_FROM;
      return isIndexed && value !== undefined ? [{ from, value }] : [];
    });
    known.sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
    known.splice(MAX_INDEXED_CORRELATIONS);
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
  const effort = new Effort({});
  for (const name of attributes) {
    const text = correlationText(event[name]);
    if (text === null) return null;
    values.push(text);
  }
  for (const source of from) {
    const text = correlationOf(source, event, effort);
    if (text === null) return null;
    values.push(text);
  }
  return digest(values);
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 22);
}
