/** The DSL's `call: grpc` (dsl-reference.md "gRPC Call"). */
import { fromBinary, fromJson, toBinary, toJson, type DescMethod, type JsonValue } from '@bufbuild/protobuf';
import { Metadata, status, type Client } from '@grpc/grpc-js';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { HttpCall, HttpResult } from '../../domain/ports.ts';
import { traceHeaders } from '../../tracing/context.ts';
import { dslCredentials } from '../authentication/dsl-authentication.ts';
import { headerSafe } from '../call-settings.ts';
import { guardedCall, type CallGuard } from '../guarded-call.ts';
import { guardedGet } from '../guarded-get.ts';
import { endpointOf, type HttpTools } from '../http/call-exchange.ts';
import { statusFault as httpStatusFault } from '../http/message.ts';
import { exchangeMessages, MAX_BYTES, MAX_MESSAGES } from './exchange-messages.ts';
import { jsonSizeOf } from './json-size.ts';
import { openChannel } from './open-channel.ts';
import { MAX_PROTO_BYTES, serviceByDocument } from './proto-document.ts';
import { serviceByReflection } from './reflection.ts';
import type { ServiceTypes } from './service-source.ts';
import { isServiceError, statusFault } from './status-fault.ts';

const TLS_PORT = 443;
/** The library's deadline may be over this long before our own clock says so. */
const CLOCKS_MS = 500;
/** Of all answers together. */
const MAX_JSON_SIZE = 2 * MAX_BYTES;

interface Target {
  service: string;
  method: string;
  /** Scheme (https: TLS), host and port. */
  origin: string;
  authentication: unknown;
}

interface Prepared {
  client: Client;
  target: Target;
  metadata: Metadata;
}

/**
 * Messages are JSON as Protocol Buffers map it. Output: the answer, or the array of all answers if the server
 * streams. Throws a `Fault` for every status but OK.
 */
export function createGrpcCaller(tools: HttpTools): { grpc(call: HttpCall): Promise<HttpResult> } {
  return {
    grpc: (call) =>
      guardedCall(call, 'The gRPC server', async (guard) => {
        const target = targetOf(call.with);
        const host = new URL(target.origin).host;
        const credentials = await dslCredentials(target.authentication, call, toolsOf(tools, guard));
        if (isRecord(target.authentication) && 'digest' in target.authentication)
          throw fault('configuration', 'The authentication "digest" is only for HTTP');
        const metadata = metadataOf(call, credentials.headers);
        const client = await openChannel(target.origin, { egress: tools.egress, maxBytes: MAX_BYTES });
        try {
          const types = await typesOf(tools, call, guard, { client, target, metadata });
          return await invoke(types, call, guard, { client, target, metadata });
        } catch (error) {
          if (!isServiceError(error) || guard.signal.aborted) throw error;
          if (error.code === status.DEADLINE_EXCEEDED && guard.leftMs() < CLOCKS_MS)
            throw fault('timeout', `${host} did not answer within ${call.timeoutMs} ms`, { cause: error });
          if (error.code === status.UNAUTHENTICATED)
            // Forgets a token that is no longer accepted.
            credentials.challenged(
              { status: 401, headers: {}, bytes: new Uint8Array(), url: target.origin },
              { method: 'POST', url: target.origin },
            );
          throw statusFault(error, host, guard.sensitive);
        } finally {
          client.close();
        }
      }),
  };
}

function toolsOf(tools: HttpTools, { sensitive, signal, leftMs }: CallGuard) {
  return { ...tools, sensitive, limits: { timeoutMs: leftMs(), signal } };
}

function targetOf(args: Record<string, unknown>): Target {
  const { service, method } = args;
  if (!isRecord(service) || typeof service['name'] !== 'string' || typeof service['host'] !== 'string')
    throw fault('configuration', '"service" must have a name and a host');
  if (typeof method !== 'string') throw fault('configuration', '"method" must name a method of the service');
  const { name, host, port, tls, authentication } = service;
  const number = typeof port === 'number' ? port : TLS_PORT;
  const secure = typeof tls === 'boolean' ? tls : number === TLS_PORT;
  const origin = `${secure ? 'https' : 'http'}://${host}:${number}`;
  if (!URL.canParse(origin) || number === 0)
    throw fault('configuration', 'The host and the port of the service are no address');
  return { service: name, method, origin: new URL(origin).origin, authentication };
}

function metadataOf(call: HttpCall, credentials: Record<string, string>): Metadata {
  const given = call.with['metadata'] ?? {};
  if (!isRecord(given)) throw fault('configuration', '"metadata" must be an object');
  const metadata = new Metadata();
  try {
    for (const [name, value] of Object.entries(traceHeaders())) metadata.set(name, value);
    metadata.set('idempotency-key', headerSafe(call.idempotencyKey));
    for (const [name, value] of Object.entries(given)) {
      if (value === null) continue;
      if (/^grpc-|^:/i.test(name)) throw new Error('a name of gRPC itself');
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      metadata.set(name, name.endsWith('-bin') ? Buffer.from(text, 'base64') : text);
    }
    for (const [name, value] of Object.entries(credentials)) metadata.set(name, value);
  } catch (error) {
    throw fault('configuration', 'The metadata has a name or a value that gRPC cannot send', {
      cause: error,
    });
  }
  return metadata;
}

function typesOf(
  tools: HttpTools,
  call: HttpCall,
  guard: CallGuard,
  { client, target, metadata }: Prepared,
): Promise<ServiceTypes> {
  const { proto } = call.with;
  const { signal, leftMs, sensitive } = guard;
  if (proto === undefined || proto === null) {
    const { host } = new URL(target.origin);
    const deadline = new Date(Date.now() + leftMs());
    return serviceByReflection(client, target.service, host, { metadata, deadline, signal });
  }
  const { uri, authentication } = endpointOf(
    isRecord(proto) ? proto['endpoint'] : undefined,
    'proto.endpoint',
  );
  if (!URL.canParse(uri) || !/^https?:$/.test(new URL(uri).protocol))
    throw fault('configuration', 'The address of the .proto document must begin with http:// or https://');
  return serviceByDocument(uri, target.service, async (url) => {
    const headers = { accept: 'text/plain, */*;q=0.8' };
    const request = { url, headers, maxBytes: MAX_PROTO_BYTES, authentication };
    const answer = await guardedGet(tools, call, guard, request);
    if (answer.status === 404) return null;
    if (answer.status !== 200) throw httpStatusFault(answer, 'GET', sensitive);
    return new TextDecoder().decode(answer.bytes);
  });
}

async function invoke(
  { service, registry }: ServiceTypes,
  call: HttpCall,
  { signal, leftMs }: CallGuard,
  { client, target, metadata }: Prepared,
): Promise<unknown> {
  const method = service.methods.find(({ name }) => name === target.method);
  if (method === undefined) {
    const known = service.methods.map(({ name }) => name).join(', ');
    throw fault(
      'configuration',
      `${service.typeName} has no method ${JSON.stringify(target.method)}: ${known}`,
    );
  }
  const requests = requestsOf(method, call.with['arguments']).map((message, index) => {
    try {
      // JSON, as everything in `with`.
      return toBinary(method.input, fromJson(method.input, message as JsonValue, { registry }));
    } catch (error) {
      const reason = error instanceof Error ? error.message.slice(0, 300) : '';
      const place = index === 0 ? 'arguments' : `arguments[${index}]`;
      throw fault('validation', `"${place}" is not a ${method.input.typeName}: ${reason}`, { cause: error });
    }
  });
  checkSize(requests);
  const answers = await exchangeMessages(client, {
    path: `/${service.typeName}/${method.name}`,
    requests,
    metadata,
    deadline: new Date(Date.now() + leftMs()),
    signal,
  });
  checkJsonSize(method, answers);
  const messages = answers.map((answer) => decoded(method, answer, registry, target));
  if (isServerStream(method)) return messages;
  const [message] = messages;
  if (messages.length === 1 && message !== undefined) return message;
  throw fault('communication', `${method.name} answered with ${messages.length} messages instead of one`, {
    status: 502,
  });
}

function decoded(
  { output }: DescMethod,
  bytes: Uint8Array,
  registry: ServiceTypes['registry'],
  { origin }: Target,
): JsonValue {
  try {
    // Fields without presence are written too, so that expressions find them.
    return toJson(output, fromBinary(output, bytes), { registry, alwaysEmitImplicit: true });
  } catch (error) {
    throw fault('communication', `${new URL(origin).host} did not answer with a ${output.typeName}`, {
      status: 502,
      cause: error,
    });
  }
}

/** Before anything is decoded: a few bytes can become thousands of values. */
function checkJsonSize({ name, output }: DescMethod, answers: readonly Uint8Array[]): void {
  let size = 0;
  for (const answer of answers) {
    size += jsonSizeOf(output, answer, MAX_JSON_SIZE - size);
    if (size > MAX_JSON_SIZE)
      throw fault('communication', `${name} answered with more than ${MAX_JSON_SIZE} characters of JSON`, {
        status: 502,
      });
  }
}

function isServerStream({ methodKind }: DescMethod): boolean {
  return methodKind === 'server_streaming' || methodKind === 'bidi_streaming';
}

/** A list if the client streams, else one message. */
function requestsOf({ methodKind, name }: DescMethod, given: unknown): unknown[] {
  if (methodKind === 'client_streaming' || methodKind === 'bidi_streaming') {
    if (given === undefined || given === null) return [];
    const messages = Array.isArray(given) ? given : [given];
    if (messages.length > MAX_MESSAGES)
      throw fault('validation', `"arguments" has more than ${MAX_MESSAGES} messages`);
    return messages;
  }
  if (Array.isArray(given))
    throw fault('validation', `"arguments" must be one message: ${name} takes no stream`);
  return [given ?? {}];
}

function checkSize(requests: readonly Uint8Array[]): void {
  const bytes = requests.reduce((total, { length }) => total + length, 0);
  if (bytes > MAX_BYTES) throw fault('validation', `"arguments" has more than ${MAX_BYTES} bytes`);
}
