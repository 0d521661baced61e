/** The DSL's `call: asyncapi` (dsl-reference.md "AsyncAPI Call"). */
import { createHash } from 'node:crypto';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { HttpCall, HttpResult } from '../../domain/ports.ts';
import { traceHeaders } from '../../tracing/context.ts';
import { dslCredentials } from '../authentication/dsl-authentication.ts';
import { guardedCall, type CallGuard } from '../guarded-call.ts';
import { guardedGet } from '../guarded-get.ts';
import { endpointOf, type HttpTools } from '../http/call-exchange.ts';
import { createDocumentSource, type ApiDocument, type DocumentSource } from '../openapi/document.ts';
import { consume } from './consume.ts';
import { MAX_MESSAGE_BYTES, MessageQueue } from './message-queue.ts';
import { findAsyncOperation, valueAt, type AsyncOperation, type Wanted } from './operation.ts';
import { overAmqp } from './over-amqp.ts';
import { overHttp } from './over-http.ts';
import { overKafka } from './over-kafka.ts';
import { overMqtt } from './over-mqtt.ts';
import { overNats } from './over-nats.ts';
import { overWebSocket } from './over-websocket.ts';
import type { Connecting, OutboundMessage, Protocol } from './protocol.ts';

/** Limits the documents that one call may load through `$ref`. */
const MAX_DOCUMENTS = 20;

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  http: overHttp,
  ws: overWebSocket,
  mqtt: overMqtt,
  mqtt5: overMqtt,
  nats: overNats,
  amqp: overAmqp,
  kafka: overKafka,
};

/** Output: of a subscription, its messages; of a message over HTTP, the answer's content; else null. */
export function createAsyncApiCaller(
  tools: HttpTools,
  documents: DocumentSource = createDocumentSource(Date.now, 'AsyncAPI'),
): { asyncapi(call: HttpCall): Promise<HttpResult> } {
  return {
    asyncapi: (call) =>
      guardedCall(call, 'The counterpart of AsyncAPI', async (guard) => {
        const wanted = wantedBy(call);
        const { document, load } = await documentOf(tools, documents, call, guard);
        const operation = await findAsyncOperation(document, wanted, load);
        const protocol = PROTOCOLS[operation.target.protocol];
        if (protocol === undefined) throw new Error('a protocol without an implementation');
        const connecting = await connectingTo(tools, call, guard, operation);
        return wanted.action === 'send'
          ? protocol.send(connecting, traced(outbound(wanted.message, operation), operation))
          : messagesOf(protocol, connecting, call, operation);
      }),
  };
}

function wantedBy({ with: args }: HttpCall): Wanted {
  const { channel, operation, server, protocol, message, subscription } = args;
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return {
    ...(text(channel) === undefined ? {} : { channel: String(channel) }),
    ...(text(operation) === undefined ? {} : { operation: String(operation) }),
    ...(text(protocol) === undefined ? {} : { protocol: String(protocol) }),
    ...(isRecord(server)
      ? {
          server: {
            name: String(server['name']),
            variables: isRecord(server['variables']) ? server['variables'] : {},
          },
        }
      : {}),
    action: subscription === undefined ? 'send' : 'receive',
    message: isRecord(message)
      ? { payload: message['payload'], headers: message['headers'] }
      : { payload: undefined, headers: undefined },
  };
}

/** The document's credentials are sent only to its own origin. */
async function documentOf(
  tools: HttpTools,
  documents: DocumentSource,
  call: HttpCall,
  guard: CallGuard,
): Promise<{ document: ApiDocument; load: (url: string) => Promise<ApiDocument> }> {
  const { document: resource } = call.with;
  const { uri, authentication } = endpointOf(
    isRecord(resource) ? resource['endpoint'] : undefined,
    'document.endpoint',
  );
  if (!URL.canParse(uri)) throw fault('configuration', 'The address of the AsyncAPI document is not a URL');
  let count = 0;
  const load = (url: string): Promise<ApiDocument> => {
    if (++count > MAX_DOCUMENTS)
      throw fault('configuration', `The AsyncAPI document needs more than ${MAX_DOCUMENTS} others`);
    const access =
      URL.canParse(url) && new URL(url).origin === new URL(uri).origin ? authentication : undefined;
    return documents.load(
      url,
      (address, headers, maxBytes) =>
        guardedGet(tools, call, guard, { url: address, headers, maxBytes, authentication: access }),
      { shared: access === undefined },
    );
  };
  return { document: await load(uri), load };
}

async function connectingTo(
  tools: HttpTools,
  call: HttpCall,
  guard: CallGuard,
  { target }: AsyncOperation,
): Promise<Connecting> {
  const { authentication, subscription } = call.with;
  const { headers } = await dslCredentials(authentication, call, {
    ...tools,
    sensitive: guard.sensitive,
    limits: { timeoutMs: guard.leftMs(), signal: guard.signal },
  });
  if (isRecord(authentication) && 'digest' in authentication)
    throw fault('configuration', 'The authentication "digest" is not for AsyncAPI');
  return {
    egress: tools.egress,
    guard,
    target,
    credentials: headers,
    account: accountOf(headers['authorization']),
    amount: amountOf(subscription),
    id: `cadenza-${createHash('sha256').update(call.idempotencyKey).digest('hex').slice(0, 14)}`,
  };
}

function amountOf(subscription: unknown): number | null {
  const { consume } = isRecord(subscription) ? subscription : {};
  const { amount } = isRecord(consume) ? consume : {};
  return typeof amount === 'number' ? amount : null;
}

/** User and password of the header that the scheme `basic` gives. */
function accountOf(authorization: string | undefined): Connecting['account'] {
  const [, encoded] = /^Basic (.+)$/.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return null;
  const [username = '', ...password] = Buffer.from(encoded, 'base64').toString().split(':');
  return { username, password: password.join(':') };
}

function outbound({ payload, headers }: Wanted['message'], { correlation }: AsyncOperation): OutboundMessage {
  const text = JSON.stringify(payload ?? {});
  if (Buffer.byteLength(text) > MAX_MESSAGE_BYTES)
    throw fault('validation', `The payload has more than ${MAX_MESSAGE_BYTES} bytes`);
  const entries = Object.entries(isRecord(headers) ? headers : {});
  const id = correlation === null ? undefined : valueAt(correlation, { payload, headers });
  return {
    correlationId: typeof id === 'string' || typeof id === 'number' ? String(id) : null,
    payload: text,
    headers: Object.fromEntries(
      entries.flatMap(([name, value]): [string, string][] => {
        if (value === null || value === undefined) return [];
        if (!/^[\w.-]{1,200}$/.test(name))
          throw fault('configuration', 'A header has a name that cannot be sent');
        return [[name.toLowerCase(), typeof value === 'string' ? value : JSON.stringify(value)]];
      }),
    ),
  };
}

/** Protocols whose messages have headers. That of HTTP has them by its request. */
const WITH_HEADERS: ReadonlySet<string> = new Set(['amqp', 'kafka', 'mqtt5', 'nats']);

/** Whoever gets the message can go on in the trace. */
function traced(message: OutboundMessage, { target }: AsyncOperation): OutboundMessage {
  if (!WITH_HEADERS.has(target.protocol)) return message;
  return { ...message, headers: { ...traceHeaders(), ...message.headers } };
}

async function messagesOf(
  protocol: Protocol,
  connecting: Connecting,
  call: HttpCall,
  { correlation }: AsyncOperation,
): Promise<unknown> {
  const subscription = isRecord(call.with['subscription']) ? call.with['subscription'] : {};
  const lifetime = isRecord(subscription['consume']) ? subscription['consume'] : {};
  const condition = (source: unknown): ((value: unknown) => boolean) | null => {
    const { test } = call;
    if (typeof source !== 'string') return null;
    if (test === undefined) throw new Error('a call with conditions, and nothing that tests them');
    return (value) => test(source, value);
  };
  const { for_ms: forMs } = lifetime;
  const queue = new MessageQueue(protocol.maxReceivedBytes);
  const leave = await protocol.subscribe(connecting, queue);
  let complete = false;
  try {
    const messages = await consume(queue, {
      filter: condition(subscription['filter']),
      amount: connecting.amount,
      while: condition(lifetime['while']),
      until: condition(lifetime['until']),
      forMs: typeof forMs === 'number' ? forMs : null,
      correlation,
      signal: connecting.guard.signal,
    });
    complete = true;
    return messages;
  } finally {
    queue.stop({ error: null });
    await leave(complete);
  }
}
