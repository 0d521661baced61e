/** Prints which packages of model providers are loaded before and after an agent of one is called. */
import { registerHooks } from 'node:module';

const SHARED = new Set(['gateway', 'provider', 'provider-utils']);
const loaded = new Set<string>();
registerHooks({
  load(url, context, next) {
    const name = /\/@ai-sdk\/([^/]+)\//.exec(url)?.[1];
    if (name !== undefined && !SHARED.has(name)) loaded.add(name);
    return next(url, context);
  },
});

const { createAdapters, createEgressPolicy } = await import('../../adapters/index.ts');
const egress = createEgressPolicy({ allow: [] });
const before = [...loaded];
const configuration = { provider: 'anthropic', model: 'm', api_key: 'k', base_url: 'http://127.0.0.1:9' };
const agent = {
  id: 'a',
  owner_id: 'o',
  name: 'a',
  version: '1.0.0',
  type: 'llm',
  execution_type: null,
  url: null,
  configuration,
  input_schema: {},
  output_schema: {},
  authentication_type: null,
  authentication_config: null,
  capabilities_streaming: false,
};
const signal = new AbortController().signal;
await createAdapters({ egress })
  .invoke({ agent, input: 'Hi', idempotencyKey: 'k', timeoutMs: 1000, signal, secret: async () => null })
  .catch(() => undefined);
await egress.close();
process.stdout.write(JSON.stringify({ before, after: [...loaded] }));
