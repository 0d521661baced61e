/** Agents of kind `llm`: each invocation is one completion of a language model, through the AI SDK. */
import { llmConfiguration } from '../../contracts/agent-kinds/llm.ts';
import type { AgentAdapter } from '../../domain/ports.ts';
import { parseConfiguration } from '../call-settings.ts';
import { completionResult } from './completion.ts';
import { fileParts } from './llm-files.ts';
import type { ModelTools } from './model.ts';

/**
 * Configuration: `llmConfiguration`. Input: a string, `{prompt}`, `{messages: [{role, content}]}`, or other
 * JSON, which is sent as text; files in its `files` are added to the last message. Output: `{text,
 * finish_reason, model}`; with an output schema, the object that the model returned.
 */
export function createLlmAdapter(tools: ModelTools): AgentAdapter {
  return {
    async invoke(call) {
      const configuration = parseConfiguration(llmConfiguration, call.agent.configuration);
      return completionResult(call, configuration, tools, fileParts);
    },
  };
}
