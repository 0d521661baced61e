/** Configuration of agents of kind `vision`: language models that look at images. */
import * as z from 'zod';
import type { AgentKind } from './kind.ts';
import { isModelAtUrl, llmConfiguration, modelProblems } from './llm.ts';

export const visionConfiguration = llmConfiguration.extend({
  /** jq on the input that gives file references or URLs. Default: all in the input. */
  images: z.string().optional(),
});

export const visionKind: AgentKind = {
  configuration: visionConfiguration,
  address: 'base_url',
  isCalledAtUrl: isModelAtUrl,
  keys: [],
  problems: modelProblems,
};
