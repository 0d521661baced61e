/**
 * Plays everybody outside whom the claim's agents need, at one address and without an engine or a key: models
 * that see, hear and write, an insurer's service, a moisture meter, another company's agent, a tool, and a
 * worker in the house. What the models say is written down here; put real ones in their place (README).
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { Aedes } from 'aedes';
import { createWebSocketStream, WebSocketServer } from 'ws';
import * as z from 'zod';

const SAID =
  'Hello, this is Mara Lind, policy four four seven one. ' +
  'Water is coming through my kitchen ceiling since this morning.';
const SEEN = { damage: 'A brown water stain on the ceiling', room: 'kitchen', square_metres: 1.5 };
const DIGITS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

/**
 * Listens until `close`.
 * @param address such as `http://127.0.0.1:4001`, where the claim's agents expect them
 */
export async function startPlayers(address) {
  const { port, hostname } = new URL(address);
  const tools = toNodeHandler(createMcpHandler(createTerms));
  const routes = {
    'POST /v1/audio/transcriptions': () => ({ text: SAID }),
    'POST /v1/chat/completions': completion,
    'POST /policies': findPolicy,
    'POST /payments': pay,
    'GET /a2a/.well-known/agent-card.json': () => repairerCard(address),
    'POST /a2a': repairer,
  };
  const server = createServer((request, response) => {
    const { method = '', url = '' } = request;
    if (url === '/mcp') void tools(Object.assign(request, { method, url }), response);
    else void respond(routes[`${method} ${url}`], request, response);
  });
  const meter = await startMeter(server);
  await once(server.listen(Number(port), hostname), 'listening').catch(async (error) => {
    await meter.close();
    throw error;
  });
  return {
    async close() {
      await meter.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function respond(route, request, response) {
  const answer = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (!route) return answer(404, { error: `There is no ${request.method} ${request.url}` });
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    const isJson = request.headers['content-type']?.startsWith('application/json');
    const given = isJson ? JSON.parse(Buffer.concat(chunks).toString()) : {};
    return answer(200, route(given, request.headers));
  } catch (error) {
    return answer(400, { error: String(error) });
  }
}

/** A model that looks, or one that gives advice, as an object of the schema that is asked for. */
function completion({ messages, model }) {
  const asked = messages.at(-1).content;
  const percent = Number(/"moisture":\s*(\d+)/.exec(JSON.stringify(asked).replaceAll('\\', ''))?.[1]);
  const advice = {
    advice: percent > 20 ? 'pay' : 'refuse',
    reason: `Words and photo agree, and the meter says ${percent} %.`,
  };
  const content = JSON.stringify(typeof asked === 'string' ? advice : SEEN);
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
  const usage = { prompt_tokens: 320, completion_tokens: 40, total_tokens: 360 };
  return { id: 'c', object: 'chat.completion', created: 1, model, choices, usage };
}

function findPolicy({ said = '' }) {
  const words = said.toLowerCase().split(/[^a-z0-9]+/);
  const number = words.map((word) => (DIGITS.includes(word) ? DIGITS.indexOf(word) : word)).join(' ');
  const policy = /policy ((?:\d ?)+)/.exec(number)?.[1]?.replaceAll(' ', '') ?? '4471';
  return { policy, holder: 'Mara Lind', flat: '12', deductible: 150 };
}

/** Equal keys are one payment. */
function pay({ policy, amount }, headers) {
  const key = String(headers['idempotency-key']);
  return { policy, paid: amount, reference: createHash('sha256').update(key).digest('hex').slice(0, 8) };
}

/** A tool of an MCP server. */
function createTerms() {
  const server = new McpServer({ name: 'terms', version: '1.0.0' });
  server.registerTool(
    'apply-terms',
    {
      description: 'What the terms of the insurance cover',
      inputSchema: z.object({ price: z.number(), deductible: z.number() }),
      outputSchema: z.object({ covered: z.number() }),
    },
    ({ price, deductible }) => {
      const covered = Math.max(0, price - deductible);
      return { content: [{ type: 'text', text: String(covered) }], structuredContent: { covered } };
    },
  );
  return server;
}

/** A broker of MQTT with the last reading of one meter. */
async function startMeter(server) {
  const broker = await Aedes.createBroker();
  const sockets = new WebSocketServer({ server, path: '/mqtt' });
  sockets.on('connection', (socket, request) => {
    const stream = createWebSocketStream(socket);
    stream.on('error', () => socket.terminate());
    broker.handle(stream, request);
  });
  // The server's own errors are told by the server.
  sockets.on('error', () => undefined);
  await new Promise((resolve, reject) => {
    const reading = { topic: 'flats/12/kitchen/moisture', payload: JSON.stringify({ percent: 38 }) };
    const packet = { cmd: 'publish', qos: 1, retain: true, dup: false, ...reading };
    broker.publish(packet, (error) => (error ? reject(error) : resolve()));
  });
  return {
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      await new Promise((resolve) => sockets.close(resolve));
      await new Promise((resolve) => broker.close(resolve));
    },
  };
}

const repairerCard = (address) => ({
  name: 'Repairer',
  description: 'Offers repairs of ceilings',
  version: '1.0.0',
  protocolVersion: '0.3.0',
  url: `${address}/a2a`,
  preferredTransport: 'JSONRPC',
  capabilities: { streaming: false },
  defaultInputModes: ['application/json'],
  defaultOutputModes: ['application/json'],
  skills: [{ id: 'offer', name: 'Offer', description: 'Offers a repair', tags: ['repair'] }],
});

/** Its task is done at once. */
function repairer({ id, params }) {
  const { messageId, parts = [] } = params.message ?? {};
  const { square_metres = 1 } = parts.find(({ kind }) => kind === 'data')?.data ?? {};
  const data = { price: 300 + 220 * square_metres, days: 3 };
  const result = {
    kind: 'task',
    id: `offer-${messageId}`,
    contextId: 'offers',
    status: { state: 'completed' },
    artifacts: [{ artifactId: 'offer', parts: [{ kind: 'data', data }] }],
  };
  return { jsonrpc: '2.0', id, result };
}

/**
 * An external worker, with a token for its agent only. It waits for a service that is away, and ends with
 * `signal`. Throws if a request is refused.
 */
export async function work({ cadenza, token, agent, signal }) {
  const post = async (path, body) => {
    const response = await fetch(cadenza + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    });
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  while (!signal.aborted) {
    try {
      const jobs = await post(`/agents/${agent}/jobs/poll`, { wait_seconds: 20, worker: 'house-12' });
      for (const { id, attempt, input } of jobs) {
        const output = { cause: `A pipe above flat ${input.flat} leaks`, closed_off: true };
        await post(`/jobs/${id}/complete`, { attempt, output });
      }
    } catch (error) {
      if (signal.aborted) return;
      // What `fetch` throws if nobody answers.
      if (!(error instanceof TypeError)) throw error;
      await sleep(1_000);
    }
  }
}
