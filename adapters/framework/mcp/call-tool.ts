/** One tool of an MCP server, as an agent: the invocation's skill or the configuration chooses it. */
import type { CallToolResult, Client, InputRequiredResult, Tool } from '@modelcontextprotocol/client';
import { cutTo } from '../../../contracts/cut-text.ts';
import { fault } from '../../../contracts/fault.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import type { AgentResult } from '../../../domain/ports.ts';
import { describeViolations, violations } from '../../../language/schema/validate-json.ts';
import { hostOf } from '../../egress/connection-fault.ts';
import { failureOf, farewell, FAREWELL_MS, type Connection, type Sdk } from '../../mcp/connection.ts';
import { mcpFetch } from '../../mcp/mcp-fetch.ts';
import type { FrameworkCall } from '../framework-call.ts';
import { askOfServer, responsesOf } from './elicitation.ts';
import { outputOf } from './tool-output.ts';

/** Of tools. */
const MAX_PAGES = 20;
const MAX_NAMED = 20;
const MAX_NAME_LENGTH = 100;
const MAX_PROGRESS_LENGTH = 500;

/**
 * Input: the tool's arguments. Output: its structured content, else its content. A tool that fails is a
 * fault. A server that asks for input (MCP 2026-07-28) asks a person.
 */
export async function callTool(prepared: FrameworkCall): Promise<AgentResult> {
  const { call, guard } = prepared;
  const answer = responsesOf(call);
  const sdk = await import('@modelcontextprotocol/client');
  const client = clientOf(sdk);
  const connection = connectionTo(sdk, prepared);
  const { leftMs } = guard;
  const signal = AbortSignal.any([guard.signal, connection.broken.signal]);
  try {
    await endEarlierSession(sdk, prepared);
    await client.connect(connection.transport, { signal, timeout: leftMs() });
    await keepSession(prepared, connection);
    const tool = await findTool(client, prepared, signal);
    const result = await client.request(
      {
        method: 'tools/call',
        params: { name: tool.name, arguments: argumentsOf(prepared, tool), ...answer },
      },
      {
        signal,
        timeout: leftMs(),
        maxTotalTimeout: leftMs(),
        allowInputRequired: true,
        onprogress: ({ progress, total, message }) => {
          const share = total === undefined ? String(progress) : `${progress} of ${total}`;
          call.partial?.progress(cutTo(message ?? share, MAX_PROGRESS_LENGTH));
        },
      },
    );
    if (isQuestion(result)) return { output: null, ask: askOfServer(result, prepared, tool.name) };
    return await outputOf(result as CallToolResult, prepared, tool.name);
  } catch (error) {
    throw failureOf(sdk, error, connection, guard);
  } finally {
    await farewell(client, connection);
  }
}

function clientOf(sdk: Sdk): Client {
  const client = new sdk.Client(
    { name: 'Cadenza', version: '1.0.0' },
    {
      versionNegotiation: { mode: 'auto' },
      inputRequired: { autoFulfill: false },
      capabilities: { elicitation: { form: {} } },
    },
  );
  // Its connection would have to stay open until a person has answered.
  client.setRequestHandler('elicitation/create', () => {
    throw new sdk.ProtocolError(
      sdk.ProtocolErrorCode.InvalidRequest,
      'Cadenza asks people only for servers of MCP 2026-07-28 or later',
    );
  });
  return client;
}

function connectionTo(sdk: Sdk, prepared: FrameworkCall, sessionId?: string): Connection {
  const { egress, guard, url, headers } = prepared;
  const broken = new AbortController();
  const transport = new sdk.StreamableHTTPClientTransport(url, {
    ...(sessionId === undefined ? {} : { sessionId }),
    fetch: mcpFetch({
      egress,
      credentials: { headers: {}, challenged: () => null },
      headers,
      timeoutMs: () => guard.leftMs() + FAREWELL_MS,
      failed: (error) => broken.abort(error),
    }),
  });
  return {
    transport,
    name: hostOf(url.href),
    url: url.href,
    broken,
    leave: () => transport.terminateSession(),
  };
}

/** So that a repeat of the call can end the session of a worker that was lost. */
async function keepSession({ call, configuration }: FrameworkCall, { transport }: Connection): Promise<void> {
  const { sessionId } = transport;
  // With a note, a call whose outcome is unknown would be repeated.
  if (sessionId === undefined || configuration.retry?.idempotent === false) return;
  await call.progress?.keep({ mcp_session: sessionId });
}

async function endEarlierSession(sdk: Sdk, prepared: FrameworkCall): Promise<void> {
  const { kept } = prepared.call.progress ?? {};
  const id = isRecord(kept) ? kept['mcp_session'] : undefined;
  if (typeof id !== 'string') return;
  const { transport, leave } = connectionTo(sdk, prepared, id);
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, FAREWELL_MS);
  await Promise.race([leave().catch(() => undefined), late]);
  clearTimeout(timer);
  await transport.close().catch(() => undefined);
}

async function findTool(
  client: Client,
  { call, configuration, guard }: FrameworkCall,
  signal: AbortSignal,
): Promise<Tool> {
  const { skill } = call;
  const wanted = configuration.tool ?? skill;
  if (configuration.tool !== undefined && skill !== undefined && skill !== configuration.tool)
    throw fault('configuration', `The agent ${call.agent.name} has only the skill ${configuration.tool}`);
  const found: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { tools, nextCursor } = await client.listTools(cursor === undefined ? {} : { cursor }, {
      signal,
      timeout: guard.leftMs(),
    });
    const tool = tools.find(({ name }) => name === wanted);
    if (tool) return tool;
    found.push(...tools);
    cursor = nextCursor;
    if (cursor === undefined) break;
  }
  const [only] = found;
  if (wanted === undefined && only !== undefined && found.length === 1) return only;
  const names = found.slice(0, MAX_NAMED).map(({ name }) => guard.sensitive.quote(name, MAX_NAME_LENGTH));
  const known = `its server has ${names.length === 0 ? 'none' : names.join(', ')}`;
  throw fault(
    'configuration',
    wanted === undefined
      ? `Name the tool of the agent as "tool" of its configuration or as "skill" of the call: ${known}`
      : `There is no tool ${JSON.stringify(wanted)}: ${known}`,
  );
}

/** Checked here, because a server's own words about wrong arguments may be poor. */
function argumentsOf({ call }: FrameworkCall, { name, inputSchema }: Tool): Record<string, unknown> {
  const { input } = call;
  const given = input === null || input === undefined ? {} : input;
  if (!isRecord(given)) throw fault('validation', `The tool ${name} takes an object of arguments`);
  const found = violations(inputSchema, given);
  if (found.length > 0)
    throw fault('validation', `The input does not fit the tool ${name}: ${describeViolations(found)}`);
  return given;
}

function isQuestion(result: unknown): result is InputRequiredResult {
  return isRecord(result) && result['resultType'] === 'input_required';
}
