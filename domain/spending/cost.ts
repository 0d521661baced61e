/** What an invocation costs: its usage at the prices of its beginning (docs/budgets.md#prices). */
import { MAX_USD } from '../../contracts/budgets.ts';
import type { Usage } from '../ports.ts';

/** US dollars are computed in billionths, without rounding errors. */
const NANO = 1_000_000_000;
const MILLION = 1_000_000n;

/** The prices of one model, in US dollars. */
export interface TokenPrice {
  input_per_million_usd: number;
  output_per_million_usd: number;
  cached_input_per_million_usd: number | null;
}

/** What is known of the price of an agent's calls; `tokens` null: unknown, of a call that uses some. */
export interface CallPrice {
  invocation: number;
  tokens: TokenPrice | null;
}

/** @returns US dollars with nine decimal places, at most `MAX_USD`; null if the price is not known */
export function costOf(usage: Usage | undefined, price: CallPrice): number | null {
  const [input, output, cached] = tokensOf(usage);
  const fixed = nano(price.invocation);
  if (input + output === 0) return Number(fixed) / NANO;
  if (price.tokens === null) return null;
  const { input_per_million_usd: perInput, output_per_million_usd: perOutput } = price.tokens;
  const perCached = price.tokens.cached_input_per_million_usd ?? perInput;
  const cachedInput = Math.min(cached, input);
  const sum =
    BigInt(input - cachedInput) * nano(perInput) +
    BigInt(cachedInput) * nano(perCached) +
    BigInt(output) * nano(perOutput);
  return Math.min(Number(fixed + (sum + MILLION / 2n) / MILLION) / NANO, MAX_USD);
}

/** Input, output, and cached input among the input; a counterpart's nonsense counts as 0. */
export function tokensOf(usage: Usage | undefined): [number, number, number] {
  const { input_tokens: input, output_tokens: output, cached_input_tokens: cached } = usage ?? {};
  return [tokenCount(input), tokenCount(output), tokenCount(cached)];
}

const MAX_TOKENS = 1e12;

/** Tokens as they are booked: a counterpart's nonsense counts as 0. */
export function tokenCount(value: unknown): number {
  if (typeof value !== 'number' || !(value > 0)) return 0;
  return Math.min(Math.round(value), MAX_TOKENS);
}

function nano(usd: number): bigint {
  return BigInt(Math.round(usd * NANO));
}
