/** The kinds of agents that pass the contract of adapters. */
import { createServer } from 'node:http';
import { keepIdle } from '../../../support/http-server.ts';
import {
  ANSWER,
  HUGE_BYTES,
  httpCounterpart,
  type Behaviour,
  type ContractKind,
  type Counterpart,
} from './counterpart.ts';
import { startGraphCounterpart } from './graph-counterpart.ts';
import { startSensorCounterpart } from './sensor-counterpart.ts';

const PNG = `data:image/png;base64,${Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64')}`;
const OGG = `data:audio/ogg;base64,${Buffer.from('OggS').toString('base64')}`;

function completion(text: string, body: string) {
  const message = { role: 'assistant', content: text };
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const chunk = (choices: unknown[], more: object = {}): string =>
    JSON.stringify({ id: 'c', created: 1, model: 'm', choices, ...more });
  const pieces = [text.slice(0, 4), text.slice(4)].map((content) =>
    chunk([{ index: 0, delta: { content } }]),
  );
  const end = [chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]), chunk([], { usage }), '[DONE]'];
  return {
    body: { id: 'c', created: 1, model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }], usage },
    ...(body.includes('"stream":true') ? { events: [...pieces, ...end] } : {}),
  };
}

const modelAt = (url: string) => ({ base_url: url, model: 'm', api_key: '<CONTRACT_KEY>' });

/** Kinds whose counterparts are not one server of this machine, or that have no entry yet. */
export const NOT_HERE: Readonly<Record<string, string>> = {
  workflow: 'a run of a workflow is no call of a counterpart',
  docker: 'its counterpart is an engine, which `npm test` does not need',
  edge: 'its workers pull jobs from the platform: test/e2e/agents/external-workers.test.ts',
};

export const KINDS: ContractKind[] = [
  {
    kind: 'api',
    lacks: { streaming: 'an answer of HTTP is one value' },
    start: () =>
      httpCounterpart(
        (text) => ({ body: { text } }),
        (url) => ({
          agent: {
            type: 'api',
            configuration: { endpoint: url, headers: { authorization: 'Bearer <CONTRACT_KEY>' } },
          },
          input: {},
        }),
      ),
  },
  {
    kind: 'llm',
    start: () =>
      httpCounterpart(completion, (url) => ({
        agent: { type: 'llm', configuration: modelAt(url) },
        input: {},
      })),
  },
  {
    kind: 'vision',
    start: () =>
      httpCounterpart(completion, (url) => ({
        agent: { type: 'vision', configuration: modelAt(url) },
        input: { image: PNG },
      })),
  },
  {
    kind: 'audio',
    start: () =>
      httpCounterpart(
        (text) => ({ body: { text } }),
        (url) => ({
          agent: { type: 'audio', configuration: { ...modelAt(url), task: 'transcribe' } },
          input: { audio: OGG },
        }),
      ),
  },
  {
    kind: 'a2a',
    lacks: {
      streaming: 'its streams are tested against the SDK of A2A',
      refusal: 'it says what it refuses in the status of its task',
    },
    start: startA2aCounterpart,
  },
  {
    kind: 'sensor',
    lacks: { streaming: 'a reading is one value', refusal: 'brokers refuse a login without a status' },
    start: startSensorCounterpart,
  },
  { kind: 'framework', start: startGraphCounterpart },
];

/** An agent of A2A 0.3 over JSON-RPC, whose task is done when it is asked for. */
async function startA2aCounterpart(): Promise<Counterpart> {
  const calls: Counterpart['calls'] = [];
  const held = new Set<string>();
  const cancelled = new Set<string>();
  let behaviour: Behaviour = 'answer';
  let url = '';
  const taskOf = (id: string, credential: string): object => {
    const state = cancelled.has(id) ? 'canceled' : held.has(id) ? 'working' : 'completed';
    const text = behaviour === 'echo' ? `${ANSWER} ${credential}` : ANSWER;
    const artifacts = [
      {
        artifactId: 'a',
        parts: [{ kind: 'text', text: behaviour === 'huge' ? 'x'.repeat(HUGE_BYTES) : text }],
      },
    ];
    return {
      kind: 'task',
      id,
      contextId: 'c',
      status: { state },
      ...(state === 'completed' ? { artifacts } : {}),
    };
  };
  const card = (): object => ({
    name: 'Contract',
    description: 'x',
    version: '1',
    protocolVersion: '0.3.0',
    url: `${url}/rpc`,
    preferredTransport: 'JSONRPC',
    capabilities: { streaming: false },
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  });
  const server = createServer(keepIdle, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const reply = (value: object, status = 200): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (request.method === 'GET') return reply(card());
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
      id: unknown;
      method: string;
      params: { id: string; message: { metadata?: Record<string, string>; messageId: string } };
    };
    const credential = request.headers.authorization ?? '';
    if (method === 'message/send') {
      const key = params.message.metadata?.['io.cadenza.invocation'] ?? '';
      calls.push({ key, credential });
      if (behaviour === 'hold') held.add(`task-${calls.length}`);
      return reply({ jsonrpc: '2.0', id, result: taskOf(`task-${calls.length}`, credential) });
    }
    if (method === 'tasks/cancel') cancelled.add(params.id);
    reply({ jsonrpc: '2.0', id, result: taskOf(params.id, credential) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  url = `http://127.0.0.1:${address.port}`;
  return {
    agent: {
      type: 'a2a',
      url,
      configuration: { headers: { authorization: 'Bearer <CONTRACT_KEY>' }, poll_interval: 20 },
    },
    input: { text: 'Hello' },
    behave: (next) => (behaviour = next),
    release() {
      behaviour = 'answer';
      held.clear();
    },
    calls,
    left: () => cancelled.size,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
