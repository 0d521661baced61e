/**
 * The DSL's `call: a2a` (dsl-reference.md "A2A Call"): calls one JSON-RPC method of an unregistered agent.
 */
import { v5 as uuidv5 } from 'uuid';
import type { AgentCard } from '@a2a-js/sdk';
import { cutTo } from '../../contracts/cut-text.ts';
import { fault } from '../../contracts/fault.ts';
import { INVOCATION_METADATA } from '../../contracts/invocation-key.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { HttpCall, HttpResult } from '../../domain/ports.ts';
import { endpointOf, exchange, standardHeaders, type HttpTools, type Send } from '../http/call-exchange.ts';
import { contentOf, statusFault, type Words } from '../http/message.ts';
import { chooseInterface, parseCard } from './agent-card.ts';
import { currentMethod, currentParameters } from './current-names.ts';

const MAX_REASON_LENGTH = 1_000;
/** Ids of messages are derived from the idempotency key in this namespace. */
const NAMESPACE = '0c3f0a9e-5e0d-5b43-8f5c-6e2b1a7d9c21';
const STREAM_METHODS = new Set(['message/stream', 'tasks/resubscribe']);
const SEND_METHODS = new Set(['message/send', 'message/stream']);

interface Target {
  url: string;
  authentication: unknown;
  /**
   * Whether the agent speaks 1.0. Workflows use the methods and parameters of 0.3, which are translated for
   * 1.0.
   */
  current: boolean;
}

/**
 * Output: the JSON-RPC result; for streams, the array of all results. A JSON-RPC error is a `runtime` fault,
 * as the reference requires; connection errors become the same faults as in `call: http`. The message's id is
 * derived from the call, so a repeat sends the same message.
 */
export function createA2aCaller(tools: HttpTools): { a2a(call: HttpCall): Promise<HttpResult> } {
  return {
    async a2a(call) {
      const { method, agentCard, server } = call.with;
      if (typeof method !== 'string') throw fault('configuration', '"method" must name a method of A2A');
      const streamed = STREAM_METHODS.has(method);
      const { output, ...rest } = await exchange(tools, call, async (send, words) => {
        const { url, authentication, current } =
          agentCard === undefined ? atServer(server) : await byCard(agentCard, send, words);
        const given = parametersOf(call, method);
        const request = {
          jsonrpc: '2.0',
          id: 1,
          method: current ? currentMethod(method) : method,
          params: current ? currentParameters(given) : given,
        };
        const headers = {
          ...standardHeaders(call),
          accept: streamed ? 'text/event-stream' : 'application/json',
          'content-type': 'application/json',
          'a2a-version': current ? '1.0' : '0.3',
        };
        return {
          method: 'POST',
          shownMethod: 'POST',
          url,
          headers,
          body: JSON.stringify(request),
          authentication,
          output: 'content',
          redirect: false,
        };
      });
      const results = answersIn(output).map(resultOf);
      return { ...rest, output: streamed ? results : (results[0] ?? null) };
    },
  };
}

function atServer(server: unknown): Target {
  const { uri, authentication } = endpointOf(server, 'server');
  return { url: uri, authentication, current: false };
}

async function byCard(resource: unknown, send: Send, words: Words): Promise<Target> {
  const { uri, authentication } = endpointOf(
    isRecord(resource) ? resource['endpoint'] : undefined,
    'agentCard.endpoint',
  );
  const { answer } = await send(
    { url: uri, method: 'GET', headers: { accept: 'application/json', 'a2a-version': '1.0' } },
    authentication,
  );
  if (answer.status !== 200) throw statusFault(answer, 'GET', words);
  const card: AgentCard | null = parseCard(contentOf(answer, () => null));
  if (card === null)
    throw fault('communication', `What is at ${new URL(uri).origin} is not an agent card of A2A 1.0 or 0.3`, {
      status: 502,
    });
  const chosen = chooseInterface(card, 'JSONRPC');
  // Send credentials only to the origin for which they were configured.
  const isSameOrigin = URL.canParse(chosen.url) && new URL(chosen.url).origin === new URL(uri).origin;
  return {
    url: chosen.url,
    authentication: isSameOrigin ? authentication : undefined,
    current: chosen.protocolVersion?.startsWith('1') === true,
  };
}

function parametersOf(call: HttpCall, method: string): Record<string, unknown> {
  const { parameters = {} } = call.with;
  if (!isRecord(parameters)) throw fault('validation', '"parameters" must be an object');
  if (!SEND_METHODS.has(method)) return parameters;
  const { message } = parameters;
  const given = isRecord(message) ? message : {};
  const { metadata = {} } = given;
  return {
    ...parameters,
    message: {
      kind: 'message',
      role: 'user',
      messageId: uuidv5(call.idempotencyKey, NAMESPACE),
      ...given,
      metadata: isRecord(metadata) ? { ...metadata, [INVOCATION_METADATA]: call.idempotencyKey } : metadata,
    },
  };
}

/** One JSON-RPC response, or the `data` of each event. */
function answersIn(output: unknown): unknown[] {
  if (typeof output !== 'string') return [output];
  return output.split(/\r?\n\r?\n/).flatMap((block) => {
    const lines = block
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).replace(/^ /, '')] : []));
    if (lines.length === 0) return [];
    try {
      return [JSON.parse(lines.join('\n')) as unknown];
    } catch {
      throw fault('communication', 'The agent answered with an event that is not valid JSON', {
        status: 502,
      });
    }
  });
}

function resultOf(answer: unknown): unknown {
  if (isRecord(answer) && isRecord(answer['error'])) {
    const { code, message } = answer['error'];
    const reason = typeof message === 'string' ? cutTo(message, MAX_REASON_LENGTH) : 'no reason given';
    throw fault('runtime', `The agent refused: ${reason} (${String(code)})`);
  }
  if (!isRecord(answer) || !('result' in answer))
    throw fault('communication', 'The agent did not answer with JSON-RPC', { status: 502 });
  return answer['result'];
}
