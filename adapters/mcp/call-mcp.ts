/** The DSL's `call: mcp` (dsl-reference.md "MCP Call"): one request to a Model Context Protocol server. */
import type { ClientOptions, RequestMethod } from '@modelcontextprotocol/client';
import { Fault, fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { McpCommands } from '../../contracts/mcp-commands.ts';
import type { HttpCall, HttpResult } from '../../domain/ports.ts';
import { traceHeaders } from '../../tracing/context.ts';
import { dslCredentials } from '../authentication/dsl-authentication.ts';
import { headerSafe } from '../call-settings.ts';
import { hostOf } from '../egress/connection-fault.ts';
import { webUrl } from '../egress/web-url.ts';
import { guardedCall, type CallGuard } from '../guarded-call.ts';
import { endpointOf, type HttpTools } from '../http/call-exchange.ts';
import { headersOf } from '../http/message.ts';
import { programOf } from './commands.ts';
import { failureOf, farewell, FAREWELL_MS, type Connection, type Sdk } from './connection.ts';
import { mcpFetch } from './mcp-fetch.ts';
import { StdioTransport } from './stdio-transport.ts';

/** As the reference has it. */
const DEFAULT_VERSION = '2025-06-18';

export interface McpTools extends HttpTools {
  commands: McpCommands;
}

/**
 * Output: the JSON-RPC result; a tool that fails says so in it (`isError`). A JSON-RPC error is a `runtime`
 * fault, as the reference requires.
 */
export function createMcpCaller(tools: McpTools): { mcp(call: HttpCall): Promise<HttpResult> } {
  return {
    mcp: (call) =>
      guardedCall(call, 'The MCP server', async (guard) => {
        const sdk = await import('@modelcontextprotocol/client');
        const { method, parameters, client: given } = call.with;
        if (typeof method !== 'string') throw fault('configuration', '"method" must name a method of MCP');
        if (parameters !== undefined && parameters !== null && !isRecord(parameters))
          throw fault('validation', '"parameters" must be an object');
        const client = new sdk.Client(identityOf(given), optionsOf(sdk, call.with['protocolVersion']));
        const connection = await connectionTo(sdk, tools, call, guard);
        const { leftMs } = guard;
        const signal = AbortSignal.any([guard.signal, connection.broken.signal]);
        client.onerror = (error) => {
          if (error instanceof Fault) connection.broken.abort(error);
        };
        try {
          await client.connect(connection.transport, { signal, timeout: leftMs() });
          return await client.request(
            // The validator knows the methods; the server refuses any other.
            { method: method as RequestMethod, params: withTrace(connection, parameters ?? {}) },
            { signal, timeout: leftMs(), maxTotalTimeout: leftMs() },
          );
        } catch (error) {
          throw failureOf(sdk, error, connection, guard);
        } finally {
          await farewell(client, connection);
        }
      }),
  };
}

/** Over HTTP the request has the trace; a program gets it with the parameters. */
function withTrace({ url }: Connection, parameters: Record<string, unknown>): Record<string, unknown> {
  const trace = url === null ? traceHeaders() : {};
  if (Object.keys(trace).length === 0) return parameters;
  const { _meta: meta } = parameters;
  return { ...parameters, _meta: { ...trace, ...(isRecord(meta) ? meta : {}) } };
}

function identityOf(given: unknown): { name: string; version: string } {
  if (!isRecord(given)) return { name: 'Cadenza', version: '1.0.0' };
  return { name: String(given['name']), version: String(given['version']) };
}

/**
 * The version asked for, and older ones that a server may answer with. From 2026-07-28 on there is no
 * handshake that would settle on another.
 */
function optionsOf(sdk: Sdk, version: unknown): ClientOptions {
  const asked = typeof version === 'string' && version !== '' ? version : DEFAULT_VERSION;
  if (/^\d{4}-\d{2}-\d{2}$/.test(asked) && asked > sdk.LATEST_PROTOCOL_VERSION)
    return { versionNegotiation: { mode: { pin: asked } } };
  const known = sdk.SUPPORTED_PROTOCOL_VERSIONS;
  if (!known.includes(asked))
    throw fault(
      'configuration',
      `"protocolVersion" must be one of ${[...known, '2026-07-28'].toSorted().join(', ')}`,
    );
  return { supportedProtocolVersions: [asked, ...known.filter((other) => other < asked)] };
}

async function connectionTo(
  sdk: Sdk,
  tools: McpTools,
  call: HttpCall,
  guard: CallGuard,
): Promise<Connection> {
  const broken = new AbortController();
  const transport = isRecord(call.with['transport']) ? call.with['transport'] : {};
  if (isRecord(transport['stdio'])) {
    const program = programOf(tools.commands, transport['stdio']);
    // What a definition puts into the environment is usually a credential.
    for (const [name, value] of Object.entries(program.environment))
      guard.sensitive.protect(value, `<${name}>`);
    const { command } = transport['stdio'];
    return {
      transport: new StdioTransport(program),
      name: `The program ${String(command)}`,
      url: null,
      broken,
      leave: async () => undefined,
    };
  }
  if (!isRecord(transport['http'])) throw fault('configuration', '"transport" must have "http" or "stdio"');
  const { uri, authentication } = endpointOf(transport['http']['endpoint'], 'transport.http.endpoint');
  const url = webUrl(uri);
  const credentials = await dslCredentials(authentication, call, {
    ...tools,
    sensitive: guard.sensitive,
    limits: { timeoutMs: guard.leftMs(), signal: guard.signal },
  });
  const http = new sdk.StreamableHTTPClientTransport(url, {
    fetch: mcpFetch({
      egress: tools.egress,
      credentials,
      headers: {
        'user-agent': 'Cadenza',
        'idempotency-key': headerSafe(call.idempotencyKey),
        ...headersOf(transport['http']['headers']),
      },
      timeoutMs: () => guard.leftMs() + FAREWELL_MS,
      failed: (error) => broken.abort(error),
    }),
  });
  return { transport: http, name: hostOf(uri), url: uri, broken, leave: () => http.terminateSession() };
}
