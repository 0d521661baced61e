/** Resolves what a `listen` task or a schedule waits for, as far as no event is needed. */
import {
  correlationText,
  type CorrelationSpec,
  type EventFilterSpec,
  type ListenerSpec,
  type StrategySpec,
} from '../../contracts/listening.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { analyze } from '../expressions/analyze.ts';
import type { EventConsumptionStrategy, EventFilter } from './model.ts';

export interface ListenerContext {
  /** The value of a text that may be `${ … }`. */
  resolve(text: string): unknown;
  /** All variables that expressions may read. Those that the filters read are kept. */
  variables: Record<string, unknown>;
  once: boolean;
}

/** @throws Error if a correlation expects nothing */
export function listenerSpec(strategy: EventConsumptionStrategy, context: ListenerContext): ListenerSpec {
  const read = new Set<string>();
  const main = strategySpec(strategy, context, read);
  const { until } = strategy;
  const end = main.mode === 'any' && isRecord(until) ? strategySpec(until, context, read) : null;
  return {
    ...main,
    goes_on: main.mode === 'any' && until !== undefined,
    ...(end === null ? {} : { until: end }),
    variables: Object.fromEntries(Object.entries(context.variables).filter(([name]) => read.has(name))),
    once: context.once && main.mode === 'all',
  };
}

function strategySpec(
  { one, any, all }: EventConsumptionStrategy,
  context: ListenerContext,
  read: Set<string>,
): StrategySpec {
  const filters = (one ? [one] : (any ?? all ?? [])).map((filter) => filterSpec(filter, context, read));
  return { mode: one ? 'one' : any ? 'any' : 'all', filters };
}

function filterSpec(
  { with: properties, correlate }: EventFilter,
  context: ListenerContext,
  read: Set<string>,
): EventFilterSpec {
  for (const text of textsIn(properties)) if (text.includes('${')) note(text, true, read);
  const correlations = Object.entries(correlate ?? {}).map(([name, { from, expect }]): CorrelationSpec => {
    const plain = note(from, from.includes('${'), read) === 0;
    if (expect === undefined) return { name, from, plain };
    const expected = correlationText(context.resolve(expect));
    if (expected === null) throw new Error(`The correlation ${JSON.stringify(name)} expects nothing`);
    return { name, from, plain, expect: expected };
  });
  return { with: { ...properties }, correlate: correlations };
}

/** @returns how many variables the expression reads */
function note(source: string, isTemplate: boolean, read: Set<string>): number {
  const { variables } = isTemplate ? analyze(source, { mode: 'strict' }) : analyze(source);
  for (const name of variables) read.add(name);
  return variables.length;
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
