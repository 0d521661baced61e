/** Agents of kind `audio`: recordings to text and texts to speech, over an OpenAI-compatible API. */
import { audioConfiguration, TRANSCRIPT_FORMATS } from '../../contracts/agent-kinds/audio.ts';
import { fault } from '../../contracts/fault.ts';
import { splitModelTexts } from '../../contracts/model-texts.ts';
import type { AgentAdapter, AgentResult } from '../../domain/ports.ts';
import { parseConfiguration, withoutSecrets } from '../call-settings.ts';
import type { ModelTools } from '../llm/model.ts';
import { loadSensitive } from '../secrets/sensitive.ts';
import { audioApi } from './audio-api.ts';
import { speak } from './speak.ts';
import { transcribe } from './transcribe.ts';

/**
 * Configuration: `audioConfiguration`. `transcribe` takes one recording, by reference or URL, and gives
 * `{text, language?, duration?, segments?}`; `speak` takes a text and gives the reference of a file.
 */
export function createAudioAdapter(tools: ModelTools): AgentAdapter {
  return {
    async invoke(call): Promise<AgentResult> {
      const startedAt = performance.now();
      const configuration = parseConfiguration(audioConfiguration, call.agent.configuration);
      const { task, format } = configuration;
      if (task === undefined)
        throw fault('configuration', 'The agent has no "task" in its configuration: transcribe or speak');
      if (task === 'transcribe' && format !== undefined && !TRANSCRIPT_FORMATS.includes(format))
        throw fault(
          'configuration',
          `"format" must be one of ${TRANSCRIPT_FORMATS.join(', ')} for transcripts`,
        );
      const { agent, secret } = call;
      const { settings, texts } = splitModelTexts('audio', configuration);
      const sensitive = await loadSensitive(
        [settings, configuration.base_url ?? agent.url, agent.authentication_config],
        secret,
        texts,
      );
      call.partial?.redactBy(sensitive);
      try {
        const api = await audioApi(call, configuration, sensitive, tools);
        const { output, usage } =
          task === 'speak'
            ? await speak(call, configuration, api)
            : await transcribe(call, configuration, api, tools.egress);
        const duration_ms = Math.round(performance.now() - startedAt);
        const model = sensitive.redact(usage?.model ?? '');
        return { output: sensitive.clean(output), usage: { ...usage, model, duration_ms } };
      } catch (error) {
        if (call.signal.aborted) throw call.signal.reason;
        throw withoutSecrets(error, sensitive);
      }
    },
  };
}
