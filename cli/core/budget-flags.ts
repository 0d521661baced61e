/** Flags of commands that set a budget. */
import type { Budget } from '../../client/index.ts';
import { usageError } from './errors.ts';
import { choice, count, text, type ValuesOf } from './flags.ts';

export const budgetFlags = {
  maxCost: text('Budget in US dollars', 'USD'),
  maxTokens: count('Budget of input and output tokens'),
  maxInvocations: count('Budget of calls of agents'),
  onExceed: choice('What happens at its end', ['stop', 'ask']),
};

/** @returns undefined if no flag is given */
export function budgetOf(flags: ValuesOf<typeof budgetFlags>): Budget | undefined {
  const { maxCost, maxTokens, maxInvocations, onExceed } = flags;
  const cost = dollars(maxCost, '--max-cost');
  const budget: Budget = {
    ...(cost === undefined ? {} : { max_cost_usd: cost }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(maxInvocations === undefined ? {} : { max_invocations: maxInvocations }),
    ...(onExceed === undefined ? {} : { on_exceed: onExceed }),
  };
  return Object.keys(budget).length === 0 ? undefined : budget;
}

export function dollars(given: string | undefined, name: string): number | undefined {
  if (given === undefined) return undefined;
  const value = Number(given);
  if (!(value >= 0) || given.trim() === '') throw usageError(`${name} is no number of dollars: ${given}`);
  return value;
}
