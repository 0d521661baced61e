/**
 * Texts for models in configurations of agents. In them, `<NAME>` is a secret only if the owner has one of
 * this name: prompts use such marks themselves (docs/agents.md#use-a-secret).
 */
const MODEL_TEXTS: Partial<Record<string, readonly string[]>> = {
  llm: ['system', 'prompt'],
  vision: ['system', 'prompt'],
  audio: ['prompt', 'text', 'instructions'],
};

/** A configuration in two parts: what may name secrets, and the texts for a model. */
export function splitModelTexts(
  kind: string,
  configuration: Record<string, unknown>,
): { settings: Record<string, unknown>; texts: Record<string, unknown> } {
  const names = MODEL_TEXTS[kind] ?? [];
  const entries = Object.entries(configuration);
  return {
    settings: Object.fromEntries(entries.filter(([name]) => !names.includes(name))),
    texts: Object.fromEntries(entries.filter(([name]) => names.includes(name))),
  };
}
