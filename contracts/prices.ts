import * as z from 'zod';

/** The most that a price can be. */
export const dollars = z.number().min(0).max(999_999_999);

/** `configuration.price` of an agent: what its owner pays for it (docs/budgets.md#prices). */
export const ownPrice = z.strictObject({
  per_invocation_usd: dollars.optional(),
  input_per_million_usd: dollars.optional(),
  output_per_million_usd: dollars.optional(),
  cached_input_per_million_usd: dollars.optional(),
});
