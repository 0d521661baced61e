/** Agents of kind `vision`: a language model answers a question about images. */
import { visionConfiguration } from '../../contracts/agent-kinds/vision.ts';
import type { AgentAdapter } from '../../domain/ports.ts';
import { parseConfiguration } from '../call-settings.ts';
import { completionResult } from '../llm/completion.ts';
import type { ModelTools } from '../llm/model.ts';
import { imagesGiven, loadImages } from './images.ts';

/**
 * Configuration: `visionConfiguration`. Input: images by reference or URL, with the question beside them, as
 * agents of kind `llm` take it. Output: as theirs.
 */
export function createVisionAdapter(tools: ModelTools): AgentAdapter {
  return {
    async invoke(call) {
      const configuration = parseConfiguration(visionConfiguration, call.agent.configuration);
      const { images, rest } = imagesGiven(call.input, configuration.images);
      const input = configuration.prompt === undefined ? rest : call.input;
      return completionResult({ ...call, input }, configuration, tools, (limited) =>
        loadImages(images, limited, tools.egress),
      );
    },
  };
}
