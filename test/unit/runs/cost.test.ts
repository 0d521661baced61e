import { expect, test } from '@jest/globals';
import { costOf } from '../../../domain/spending/cost.ts';

const tokens = {
  input_per_million_usd: 0.15,
  output_per_million_usd: 0.6,
  cached_input_per_million_usd: 0.075,
};

test('a cost is exact to a billionth of a dollar, with cached input at its own price', () => {
  expect(costOf({ input_tokens: 1, output_tokens: 0 }, { invocation: 0, tokens })).toBe(0.000_000_15);
  const usage = { input_tokens: 1_000, cached_input_tokens: 400, output_tokens: 300 };
  expect(costOf(usage, { invocation: 0, tokens })).toBe(0.000_3);
  expect(costOf(usage, { invocation: 0.1, tokens })).toBe(0.100_3);
  // As a floating sum it would be 0.30000000000000004.
  const tenth = { ...tokens, input_per_million_usd: 100_000, output_per_million_usd: 200_000 };
  expect(costOf({ input_tokens: 1, output_tokens: 1 }, { invocation: 0, tokens: tenth })).toBe(0.3);
});

test('tokens without a price have an unknown cost; what uses none costs what the call costs', () => {
  expect(costOf({ input_tokens: 5 }, { invocation: 0.5, tokens: null })).toBeNull();
  expect(costOf({ duration_ms: 5 }, { invocation: 0.5, tokens: null })).toBe(0.5);
  expect(costOf(undefined, { invocation: 0, tokens: null })).toBe(0);
});

test('nonsense of a counterpart neither fails nor lowers a cost', () => {
  const odd = { input_tokens: -1_000_000, output_tokens: Number.NaN, cached_input_tokens: 1e30 };
  expect(costOf(odd, { invocation: 0, tokens })).toBe(0);
  const more = { input_tokens: 10, cached_input_tokens: 1_000 };
  expect(costOf(more, { invocation: 0, tokens })).toBe(0.000_000_75);
});
