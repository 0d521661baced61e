/**
 * Registers the agents of the examples and creates their workflows: `CADENZA=http://127.0.0.1:3000 TOKEN=…
 * node examples/install.mjs`. Running it again adds only what is missing.
 *
 * WRITER is the address of examples/agents/writer.mjs. LLM_BASE_URL, LLM_MODEL and LLM_API_KEY select an
 * OpenAI-compatible endpoint for the examples that need a language model (default: a local Ollama),
 * VISION_MODEL its model that sees. AUDIO_BASE_URL has `/audio/transcriptions` and `/audio/speech`.
 */
import { readFileSync, readdirSync, realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));

export const exampleNames = readdirSync(new URL('.', import.meta.url))
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.slice(0, -'.json'.length))
  .toSorted();
export const exampleDefinition = (name) => read(`${name}.json`);

/**
 * Installs the examples. `models` overrides the configurations of the agents that call models, by their type.
 * @returns the workflows' ids by file name
 */
export async function installExamples({
  cadenza,
  token,
  writer = 'http://127.0.0.1:4000',
  models = {},
  llmApiKey = 'none',
}) {
  const call = async (method, path, body) => {
    const response = await fetch(cadenza + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  const me = await call('GET', '/users/me');
  await call('PUT', '/secrets/LLM_API_KEY', { value: llmApiKey });
  await call('PUT', '/secrets/ORDER_SERVICE', { value: 'the-token-of-the-order-service' });

  const workflows = {};
  const createWorkflow = async (name) => {
    const known = await call('GET', `/workflows?q=${name}&limit=200`);
    const mine = known.find((workflow) => workflow.name === name && workflow.owner_id === me.id);
    workflows[name] = (
      mine ??
      (await call('POST', '/workflows', { name, definition: exampleDefinition(name), tags: ['example'] }))
    ).id;
  };
  // A workflow agent needs its workflow first, and a workflow needs its agents.
  await createAgents((agent) => agent.type !== 'workflow');
  await createWorkflow('translate-one');
  await createAgents((agent) => agent.type === 'workflow');
  for (const name of exampleNames) if (!(name in workflows)) await createWorkflow(name);
  return workflows;

  async function createAgents(which) {
    for (const agent of read('agents/agents.json').filter(which)) {
      const known = await call('GET', `/agents?name=${agent.name}&owner_id=${me.id}`);
      if (known.length > 0) continue;
      const configuration = { ...agent.configuration };
      if (agent.type === 'api')
        configuration.endpoint = configuration.endpoint.replace('http://127.0.0.1:4000', writer);
      Object.assign(configuration, models[agent.type]);
      if (agent.type === 'workflow') configuration.workflow_id = workflows[configuration.workflow_id];
      await call('POST', '/agents', { ...agent, configuration });
    }
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  // oxlint-disable-next-line node/no-process-env -- a script of its own, not a part of the product
  const { env } = process;
  const { CADENZA = 'http://127.0.0.1:3000', TOKEN, WRITER, LLM_API_KEY } = env;
  if (!TOKEN) throw new Error('Set TOKEN; the README explains how to log in.');
  const { LLM_BASE_URL, LLM_MODEL, VISION_MODEL, AUDIO_BASE_URL } = env;
  const overrides = (base_url, model) => ({ ...(base_url ? { base_url } : {}), ...(model ? { model } : {}) });
  const models = {
    llm: overrides(LLM_BASE_URL, LLM_MODEL),
    vision: overrides(LLM_BASE_URL, VISION_MODEL),
    audio: overrides(AUDIO_BASE_URL),
  };
  const workflows = await installExamples({
    cadenza: CADENZA,
    token: TOKEN,
    writer: WRITER,
    models,
    llmApiKey: LLM_API_KEY,
  });
  for (const [name, id] of Object.entries(workflows)) process.stdout.write(`${id}  ${name}\n`);
}
