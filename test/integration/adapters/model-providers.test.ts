/**
 * Language models of every provider: the provider's own package talks to a server that speaks the provider's
 * wire format, whole, streamed, and with its errors.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { configurationWarnings } from '../../../contracts/agent-configuration.ts';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import type { AgentCall, PartialSink } from '../../../domain/ports.ts';
import { agentCall, faultOf, noFiles } from '../../support/agent-call.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { startModelServer, WIRES, type ModelServer, type Wire } from '../../support/model-server.ts';

const opened = closedAfterEach();
const KEY = 'sk-very-secret-0123';
const secrets = { KEY, AWS_ID: 'AKIDEXAMPLE123', AWS_KEY: 'aws-very-secret-key' };
const schema = {
  type: 'object',
  properties: { mood: { type: 'string' } },
  required: ['mood'],
  additionalProperties: false,
};

function invoke(call: AgentCall) {
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  opened(egress);
  return createAdapters({ egress }).invoke(call);
}

/** The configuration with which an agent reaches the server. */
const CONFIGURATIONS: Record<Wire, (url: string) => Record<string, unknown>> = {
  'openai-compatible': (url) => ({ base_url: `${url}/v1`, api_key: '<KEY>' }),
  openai: (url) => ({ provider: 'openai', base_url: `${url}/v1`, api_key: '<KEY>' }),
  responses: (url) => ({ provider: 'openai', api: 'responses', base_url: `${url}/v1`, api_key: '<KEY>' }),
  anthropic: (url) => ({ provider: 'anthropic', base_url: `${url}/v1`, api_key: '<KEY>' }),
  google: (url) => ({ provider: 'google', base_url: `${url}/v1beta`, api_key: '<KEY>' }),
  azure: (url) => ({ provider: 'azure', base_url: url, api_key: '<KEY>', api_version: '2024-10-21' }),
  bedrock: (url) => ({
    provider: 'bedrock',
    base_url: url,
    region: 'eu-central-1',
    access_key_id: '<AWS_ID>',
    secret_access_key: '<AWS_KEY>',
  }),
  ollama: (url) => ({ provider: 'ollama', base_url: url }),
};
const wires = WIRES.map((wire) => [wire] as const);

async function start(wire: Wire): Promise<{
  server: ModelServer;
  call(input: unknown, more?: { configuration?: object; agent?: object }): AgentCall;
}> {
  const server = await startModelServer(wire);
  opened(server);
  return {
    server,
    call: (input, { configuration = {}, agent = {} } = {}) =>
      agentCall(
        {
          type: 'llm',
          configuration: { ...CONFIGURATIONS[wire](server.url), model: server.model, ...configuration },
          ...agent,
        },
        input,
        { secrets },
      ),
  };
}

function collectingSink() {
  const got = { text: '' };
  const sink: PartialSink = {
    redactBy: () => {},
    output: (text) => (got.text += text),
    restart: () => (got.text = ''),
    progress: () => {},
  };
  return { got, sink };
}

test.each(wires)('%s: an answer comes back with what it cost', async (wire) => {
  const { server, call } = await start(wire);
  const { output, usage, warnings } = await invoke(
    call('Hi', { configuration: { system: 'Be kind.', temperature: 0.5, max_tokens: 50 } }),
  );
  expect(output).toEqual({ text: 'Hello!', finish_reason: 'stop', model: server.answersAs });
  expect(usage).toMatchObject({ input_tokens: 11, output_tokens: 5, requests: 1, cached_input_tokens: 4 });
  expect(warnings).toEqual([]);
  const [request] = server.seen;
  expect(request?.headers['idempotency-key']).toBe('run-1/do/0/call/1/1');
  expect(request?.headers['user-agent']).toBe('Cadenza');
  expect(server.login(request)).toEqual(server.expectedLogin(secrets));
  expect(request?.body).toContain('Be kind.');
});

test.each(wires)('%s: a streamed answer arrives in pieces and has the same result', async (wire) => {
  const { server, call } = await start(wire);
  const { got, sink } = collectingSink();
  const { output, usage } = await invoke({ ...call('Hi'), partial: sink });
  expect(output).toMatchObject({ text: 'Hello!', finish_reason: 'stop' });
  expect(usage).toMatchObject({ input_tokens: 11, output_tokens: 5 });
  expect(got.text).toBe('Hello!');
  expect(server.seen).toHaveLength(1);
});

test.each(wires)('%s: the output schema is sent, and an image with it', async (wire) => {
  const { server, call } = await start(wire);
  server.says('{"mood":"good"}');
  const file_id = '0198c7a0-0000-7000-8000-0000000000a1';
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNg', 'base64');
  const { output } = await invoke({
    ...call({ text: 'How?', files: [{ file_id }] }, { agent: { output_schema: schema } }),
    files: { ...noFiles, read: async () => ({ bytes: png, name: 'a.png', media_type: 'image/png' }) },
  });
  expect(output).toEqual({ mood: 'good' });
  expect(server.seen[0]?.body).toContain('"mood"');
  expect(server.seen[0]?.body).toContain(png.toString('base64').slice(0, 40));
});

test.each(wires)('%s: what the provider refuses is a fault that says why', async (wire) => {
  const { server, call } = await start(wire);
  const refused = async (failure: Parameters<ModelServer['fails']>[0]) => {
    server.fails(failure);
    return faultOf(invoke(call('Hi')));
  };
  expect(await refused('key')).toMatchObject({ kind: 'authentication', status: 401 });
  expect((await refused('key')).detail).not.toContain(KEY);
  expect(await refused('forbidden')).toMatchObject({ kind: 'authorization', status: 403 });
  const limited = await refused('limit');
  expect(limited).toMatchObject({ kind: 'communication', status: 429 });
  expect(limited.detail).toContain('Slow down');
  expect(limited.detail).toContain('try again after 7 s');
  expect(await refused('long')).toMatchObject({
    kind: 'validation',
    detail: expect.stringContaining('too long for the model'),
  });
  expect(await refused('model')).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('no such model'),
  });
  expect(await refused('down')).toMatchObject({ kind: 'communication', status: 503 });
  const before = server.seen.length;
  expect(before).toBe(7);
  server.fails(null);
  server.stopsBy('filter');
  expect(await faultOf(invoke(call('Hi')))).toMatchObject({
    kind: 'validation',
    detail: expect.stringContaining('content filter'),
  });
});

test.each(wires)('%s: an error within a stream is a fault', async (wire) => {
  const { server, call } = await start(wire);
  server.breaksStream();
  const fault = await faultOf(invoke({ ...call('Hi'), partial: collectingSink().sink }));
  expect(fault).toMatchObject({ kind: 'communication' });
  expect(fault.detail).toContain('Out of capacity');
});

test.each(wires)('%s: a refused address gets no packet', async (wire) => {
  const { call } = await start(wire);
  const refused = call('Hi', { configuration: { base_url: 'http://10.0.0.1/v1' } });
  expect(await faultOf(invoke(refused))).toMatchObject({ kind: 'authorization' });
});

test('credentials go the way of the provider, or of authentication_type', async () => {
  const anthropic = await start('anthropic');
  await invoke(
    anthropic.call('Hi', {
      configuration: { api_key: undefined },
      agent: { authentication_type: 'api_key', authentication_config: { api_key: '<KEY>' } },
    }),
  );
  await invoke(
    anthropic.call('Hi', {
      configuration: { api_key: undefined },
      agent: { authentication_type: 'jwt', authentication_config: { token: '<KEY>' } },
    }),
  );
  expect(
    anthropic.server.seen.map(({ headers }) => [headers['x-api-key'], headers['authorization']]),
  ).toEqual([
    [KEY, undefined],
    [undefined, `Bearer ${KEY}`],
  ]);
  const bedrock = await start('bedrock');
  await invoke(
    bedrock.call('Hi', {
      configuration: { access_key_id: undefined, secret_access_key: undefined, api_key: '<KEY>' },
    }),
  );
  expect(bedrock.server.seen[0]?.headers['authorization']).toBe(`Bearer ${KEY}`);
  const azure = await start('azure');
  await invoke(azure.call('Hi', { configuration: { deployment: 'my-model', model: undefined } }));
  expect(azure.server.seen[0]?.path).toBe(
    '/openai/deployments/my-model/chat/completions?api-version=2024-10-21',
  );
});

test('what a provider needs is warned of, and missing when the agent is invoked', async () => {
  const warned = (configuration: Record<string, unknown>) =>
    configurationWarnings({ type: 'llm', execution_type: null, configuration }).map(({ pointer }) => pointer);
  expect(warned({ provider: 'openai', model: 'm', api_key: '<KEY>' })).toEqual([]);
  expect(warned({ provider: 'ollama', model: 'm' })).toEqual([]);
  expect(warned({ provider: 'anthropic' })).toEqual(['/configuration/model', '/configuration/api_key']);
  expect(warned({ provider: 'azure', deployment: 'd', api_key: '<KEY>' })).toEqual([
    '/configuration/resource',
  ]);
  expect(warned({ provider: 'bedrock', model: 'm' })).toEqual([
    '/configuration/region',
    '/configuration/access_key_id',
    '/configuration/secret_access_key',
  ]);
  expect(warned({ provider: 'mistral', model: 'm', base_url: 'http://m' })).toEqual([
    '/configuration/provider',
  ]);
  const call = (configuration: Record<string, unknown>) => agentCall({ type: 'llm', configuration }, 'Hi');
  expect(await faultOf(invoke(call({ provider: 'mistral', model: 'm' })))).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('provider'),
  });
  expect(await faultOf(invoke(call({ provider: 'google', model: 'm' })))).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('"api_key" is missing'),
  });
  const elsewhere = { provider: 'azure', model: 'm', api_key: 'k', resource: 'evil.example/x?' };
  expect(await faultOf(invoke(call(elsewhere)))).toMatchObject({ kind: 'configuration' });
});

test("the worker's own credentials and addresses are never used", async () => {
  const names = [
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'AWS_BEARER_TOKEN_BEDROCK',
  ];
  const own = [
    'OPENAI_API_KEY',
    'ANTHROPIC_API_KEY',
    'GOOGLE_GENERATIVE_AI_API_KEY',
    'AZURE_API_KEY',
    ...names,
  ];
  // oxlint-disable-next-line node/no-process-env -- the packages read it
  const environment = process.env;
  for (const name of own) environment[name] = 'the-platforms-own-key';
  try {
    for (const wire of WIRES) {
      const { server, call } = await start(wire);
      const none = { api_key: undefined, access_key_id: undefined, secret_access_key: undefined };
      await invoke(
        call('Hi', {
          configuration: none,
          agent: { authentication_type: 'jwt', authentication_config: { token: '<KEY>' } },
        }),
      );
      expect(JSON.stringify(server.seen[0]?.headers)).not.toContain('the-platforms-own-key');
      expect(server.seen[0]?.headers['authorization']).toBe(`Bearer ${KEY}`);
    }
  } finally {
    for (const name of own) delete environment[name];
  }
});

test('a frame of a stream that never ends is refused', async () => {
  const { server, call } = await start('bedrock');
  server.announcesFrame(500 * 1024 * 1024);
  const fault = await faultOf(invoke({ ...call('Hi'), partial: collectingSink().sink }));
  expect(fault).toMatchObject({ kind: 'communication', status: 502 });
  expect(fault.detail).toContain('larger than');
});

test('the package of a provider is loaded when an agent of it is called, and no other', async () => {
  const program = join(import.meta.dirname, '../../support/loaded-packages.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', program]);
  expect(JSON.parse(stdout)).toEqual({ before: [], after: ['anthropic'] });
});
