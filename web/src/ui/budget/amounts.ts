/** What of a budget is used, as it is shown. */
import type { BudgetState } from '../../../../client/index.ts';
import { words } from './words.ts';

export interface Line {
  name: 'cost_usd' | 'tokens' | 'invocations';
  title: string;
  used: number;
  reserved: number;
  most: number;
}

/** A line for each limit. */
export function linesOf(state: BudgetState): Line[] {
  const limits = [
    ['cost_usd', words.maxCost, state.max_cost_usd],
    ['tokens', words.maxTokens, state.max_tokens],
    ['invocations', words.maxInvocations, state.max_invocations],
  ] as const;
  return limits.flatMap(([name, title, limit]) =>
    limit === null
      ? []
      : [
          {
            name,
            title,
            used: state.used[name],
            reserved: state.reserved[name],
            most: limit + state.raised[name],
          },
        ],
  );
}

/** At most six decimal places; small amounts are not 0. */
export function amountText(amount: number): string {
  return amount.toLocaleString('en', { maximumFractionDigits: amount !== 0 && amount < 0.01 ? 9 : 6 });
}
