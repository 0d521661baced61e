/** Texts for processes, of values that an expression may have given. */
import { isRecord } from '../../contracts/is-record.ts';

export function textsOf(values: unknown): string[] {
  return Array.isArray(values) ? values.map(textOf) : [];
}

export function environmentOf(values: unknown): Record<string, string> {
  if (!isRecord(values)) return {};
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)]));
}

/** An expression can give any value: text as it is, nothing as the empty text, others as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
