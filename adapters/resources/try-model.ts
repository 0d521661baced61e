/** Tries a model of a provider that has no list of models: asks it for a few tokens. */
import { generateText } from 'ai';
import { llmConfiguration } from '../../contracts/agent-kinds/llm.ts';
import { parseConfiguration } from '../call-settings.ts';
import { modelOf } from '../llm/model.ts';
import type { SourceCall } from './source-call.ts';

/** Some models take no smaller number. */
const MAX_TOKENS = 16;

/** @returns a sentence for people. Throws `Fault` */
export async function tryModel({ agent, egress, tokens, guard }: SourceCall): Promise<string> {
  const configuration = parseConfiguration(llmConfiguration, agent.configuration);
  const { sensitive, signal } = guard;
  const timeoutMs = guard.leftMs();
  const call = { agent, input: null, idempotencyKey: '', timeoutMs, signal, secret: async () => null };
  const opened = await modelOf(call, configuration, sensitive, {
    egress,
    tokens,
    timeoutMs,
  });
  try {
    await generateText({
      model: opened.model,
      prompt: 'Say yes.',
      maxOutputTokens: MAX_TOKENS,
      maxRetries: 0,
      abortSignal: signal,
    });
  } catch (error) {
    throw opened.failureOf(error);
  }
  return `The model ${opened.name} answers.`;
}
