/** What a worker says that its job has used, with what the agent's configuration says of prices. */
import { MAX_USD } from '../../contracts/budgets.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Usage } from '../ports.ts';
import { costOf, tokensOf, type CallPrice } from '../spending/cost.ts';
import { createPrices, priceOf } from '../spending/prices.ts';
import type { AttemptsUsage, JobRow } from './job.ts';

export interface StatedUsage {
  input_tokens?: number | undefined;
  output_tokens?: number | undefined;
  /** Of this job, besides what an invocation costs by itself. */
  cost_usd?: number | undefined;
  model?: string | undefined;
}

type Spending = Pick<JobRow, 'configuration' | 'created_at' | 'spent'>;

/** With what another attempt says; a stated cost comes before the prices of tokens. */
export async function withAttempt(
  em: EntityManager,
  job: Spending,
  stated: StatedUsage | undefined,
): Promise<AttemptsUsage | null> {
  const { spent } = job;
  if (!stated) return spent;
  const { cost_usd: said, model, input_tokens: input, output_tokens: output } = stated;
  const tokens: Usage = {
    ...(input === undefined ? {} : { input_tokens: input }),
    ...(output === undefined ? {} : { output_tokens: output }),
  };
  const cost = said ?? costOf(tokens, { ...(await priceOfJob(em, job, model)), invocation: 0 });
  const named = model ?? spent?.model;
  return {
    ...sumOf('input_tokens', spent, tokens),
    ...sumOf('output_tokens', spent, tokens),
    cost_usd: cost === null || spent?.cost_usd === null ? null : cost + (spent?.cost_usd ?? 0),
    ...(named === undefined ? {} : { model: named }),
  };
}

function sumOf(
  name: 'input_tokens' | 'output_tokens',
  before: AttemptsUsage | null,
  now: Usage,
): Partial<Record<typeof name, number>> {
  const both = [before?.[name], now[name]].filter((count) => typeof count === 'number');
  return both.length === 0 ? {} : { [name]: both.reduce((sum, count) => sum + count, 0) };
}

/** The usage of the job's task, by all its attempts. */
export async function usageOf(em: EntityManager, job: Spending, stated?: StatedUsage): Promise<Usage> {
  const { usage } = job.configuration;
  const own: Usage = isRecord(usage) ? usage : {};
  const attempts = await withAttempt(em, job, stated);
  if (attempts === null) return own;
  const { cost_usd: spent, ...counts } = attempts;
  if (spent === 0 && tokensOf(counts).every((count) => count === 0)) return { ...own, ...counts };
  const { invocation } = await priceOfJob(em, job, counts.model);
  const cost = spent === null ? null : Math.min(invocation + spent, MAX_USD);
  return { ...own, ...counts, cost_usd: cost, ...(cost === null ? { unpriced: 1 } : {}) };
}

async function priceOfJob(
  em: EntityManager,
  { configuration: { pricing }, created_at: at }: Spending,
  model: string | undefined,
): Promise<CallPrice> {
  const book = await createPrices(() => em).book(0);
  return priceOf(isRecord(pricing) ? pricing : {}, model, { book, at: new Date(at) });
}
