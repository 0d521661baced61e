import { Readable } from 'node:stream';
import { request as undiciRequest } from 'undici';
import { isOperationsPath } from '../../contracts/egress-denied.ts';
import type { EgressRules } from '../../contracts/egress-rules.ts';
import { failed, inSpan, isInSpan, SpanKind, traceHeaders } from '../../tracing/context.ts';
import type { CheckedAgents } from './checked-agents.ts';
import type { EgressRequest } from './egress.ts';

/** An answer whose body has not been read yet. */
export interface UnreadAnswer {
  status: number;
  /** Names are in lower case. */
  headers: Record<string, string>;
  body: Awaited<ReturnType<typeof undiciRequest>>['body'];
}

/**
 * Sends one request to the URL, or to the origin that EGRESS_HOST_MAP puts in its place. In a trace it is a
 * span, until the answer begins, and the counterpart learns of it. The span has no path: that of a webhook,
 * for example, may be a secret.
 */
export async function sendRequest(
  tools: { rules: EgressRules; agents: CheckedAgents },
  url: URL,
  request: EgressRequest,
  signal: AbortSignal,
): Promise<UnreadAnswer> {
  if (!isInSpan()) return send(tools, url, request, signal);
  const attributes = {
    'http.request.method': request.method,
    'server.address': url.hostname,
    'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    'url.scheme': url.protocol.slice(0, -1),
  };
  return inSpan(request.method, { kind: SpanKind.CLIENT, attributes }, async (span) => {
    const answer = await send(tools, url, request, signal);
    span.setAttribute('http.response.status_code', answer.status);
    if (answer.status >= 400) failed(span, String(answer.status));
    return answer;
  });
}

async function send(
  { rules, agents }: { rules: EgressRules; agents: CheckedAgents },
  url: URL,
  request: EgressRequest,
  signal: AbortSignal,
): Promise<UnreadAnswer> {
  const mapped = rules.mapped(url.origin);
  const { headers: bodyHeaders, ...body } = await openBody(request.body);
  const agent = agents.agentFor({
    mapped: mapped !== null,
    plainOnlyAllowed: request.plainOnlyAllowed === true,
    operations: isOperationsPath(url.pathname),
  });
  const answer = await undiciRequest(mapped === null ? url : new URL(url.pathname + url.search, mapped), {
    dispatcher: agent,
    method: request.method,
    headers: {
      'accept-encoding': 'gzip, deflate, br',
      ...traceHeaders(),
      ...request.headers,
      ...bodyHeaders,
      ...(mapped === null ? {} : { host: url.host }),
    },
    ...body,
    signal,
    // The exchange has a time limit of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return { status: answer.statusCode, headers: flatHeaders(answer.headers), body: answer.body };
}

async function openBody(
  body: EgressRequest['body'],
): Promise<{ body?: string | Readable; headers?: Record<string, string> }> {
  if (body === undefined) return {};
  if (typeof body === 'string') return { body };
  return {
    body: Readable.from(await body.open(), { objectMode: false }),
    headers: { 'content-length': String(body.size) },
  };
}

function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}
