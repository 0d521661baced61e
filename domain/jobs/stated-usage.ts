/** What a worker says that its job has used, with what the agent's configuration says of prices. */
import { MAX_USD } from '../../contracts/budgets.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Usage } from '../ports.ts';
import { costOf, tokensOf } from '../spending/cost.ts';
import { createPrices, priceOf } from '../spending/prices.ts';
import type { JobRow } from './job.ts';

export interface StatedUsage {
  input_tokens?: number | undefined;
  output_tokens?: number | undefined;
  /** Of this job, besides what an invocation costs by itself. */
  cost_usd?: number | undefined;
  model?: string | undefined;
}

/** The usage of the job's task; a stated cost comes before the prices of tokens. */
export async function usageOf(
  em: EntityManager,
  { configuration, created_at: at }: Pick<JobRow, 'configuration' | 'created_at'>,
  stated: StatedUsage | undefined,
): Promise<Usage> {
  const { usage, pricing } = configuration;
  const own = isRecord(usage) ? usage : {};
  if (!stated) return own;
  const { cost_usd: said, model, ...tokens } = stated;
  const counts: Usage = {
    ...own,
    ...(tokens.input_tokens === undefined ? {} : { input_tokens: tokens.input_tokens }),
    ...(tokens.output_tokens === undefined ? {} : { output_tokens: tokens.output_tokens }),
    ...(model === undefined ? {} : { model }),
  };
  const [input, output] = tokensOf(counts);
  if (said === undefined && input + output === 0) return counts;
  const book = await createPrices(() => em).book(0);
  const price = priceOf(isRecord(pricing) ? pricing : {}, model, { book, at: new Date(at) });
  const cost = said === undefined ? costOf(counts, price) : Math.min(price.invocation + said, MAX_USD);
  return { ...counts, cost_usd: cost, ...(cost === null ? { unpriced: 1 } : {}) };
}
