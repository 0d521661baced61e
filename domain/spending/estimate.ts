/** How much of the budgets a call reserves (docs/budgets.md#how-much-a-call-reserves). */
import type { EntityManager } from '../../db/orm.ts';
import type { PinnedAgent } from '../ports.ts';
import { latestTokens, type Hold } from './budgets.ts';
import { costOf, tokenCount, type CallPrice } from './cost.ts';
import { usesModel } from './prices.ts';

/** Of texts in most languages, a token has more. */
const BYTES_PER_TOKEN = 3;
/** Of an agent of which nothing is known yet. */
const FIRST_OUTPUT = 1_000;

interface Estimate extends Pick<Hold, 'costUsd' | 'tokens' | 'estimated'> {
  usage: { input_tokens: number; output_tokens: number };
}

/**
 * The input by its length, and the output by `max_tokens` of the configuration. Without it, what the agent's
 * latest 20 calls used at most.
 */
export async function estimateOf(
  em: EntityManager,
  { id, configuration }: PinnedAgent,
  /** Null: it is not known, as that of a turn of a conversation. */
  input: { value: unknown } | null,
  price: CallPrice,
): Promise<Estimate> {
  const hasModel = usesModel(configuration);
  const { max_tokens: most, system, prompt } = configuration;
  const bounded = hasModel && typeof most === 'number' && most > 0;
  const latest = bounded && input ? { input: 0, output: 0, cost: 0 } : await latestTokens(em, id);
  const written = hasModel ? Math.ceil(bytesOf([input?.value, system, prompt]) / BYTES_PER_TOKEN) : 0;
  const inputTokens = Math.max(written, latest.input);
  const outputTokens = bounded ? tokenCount(Math.ceil(most)) : latest.output || (hasModel ? FIRST_OUTPUT : 0);
  const usage = { input_tokens: inputTokens, output_tokens: outputTokens };
  // Of a counterpart that is no model of ours, the price counts that its configuration states, or what it has
  // stated itself.
  const costUsd = hasModel || price.tokens ? costOf(usage, price) : Math.max(price.invocation, latest.cost);
  return { costUsd, tokens: inputTokens + outputTokens, estimated: !bounded, usage };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}
