/** The tools of an MCP server: an agent each, or one agent with the tools as its skills. */
import type { Tool } from '@modelcontextprotocol/client';
import type { SourceOffer } from '../../domain/ports.ts';
import { failureOf, farewell, FAREWELL_MS, type Connection } from '../mcp/connection.ts';
import { mcpFetch } from '../mcp/mcp-fetch.ts';
import { hostOf } from '../egress/connection-fault.ts';
import type { SourceCall } from './source-call.ts';

const MAX_PAGES = 20;
const MAX_TOOLS = 500;
/** Selects all tools as the skills of one agent. */
const WHOLE_SERVER = '*';
const MAX_SKILLS = 100;

export async function mcpOffers(
  call: SourceCall,
  select: readonly string[] | null,
  outputs: boolean,
): Promise<SourceOffer[]> {
  const tools = await listTools(call);
  const common = { url: null, type: 'api', execution_type: 'framework', capabilities_streaming: false };
  if (select?.includes(WHOLE_SERVER)) {
    const name = hostOf(call.url);
    const configuration = { framework: 'mcp', base_url: call.url };
    const fields = {
      ...common,
      name,
      description: null,
      configuration,
      input_schema: null,
      output_schema: null,
      provider_name: null,
    };
    return [{ select: WHOLE_SERVER, fields, skills: tools.slice(0, MAX_SKILLS).map(skillOf) }];
  }
  return tools
    .filter(({ name }) => select === null || select.includes(name))
    .map((tool) => ({
      select: tool.name,
      fields: {
        ...common,
        name: tool.name.slice(0, 255),
        description: tool.description?.slice(0, 10_000) || null,
        configuration: { framework: 'mcp', base_url: call.url, tool: tool.name },
        input_schema: { ...tool.inputSchema },
        // Tools with this schema answer with structured content, which is the agent's output.
        output_schema: outputs && tool.outputSchema ? { ...tool.outputSchema } : null,
        provider_name: null,
      },
      skills: [],
    }));
}

function skillOf({ name, description }: Tool): SourceOffer['skills'][number] {
  const lists = { tags: [], examples: [], input_modes: [], output_modes: [] };
  return { name: name.slice(0, 100), description: description?.slice(0, 10_000) || null, ...lists };
}

/** Initializes and asks for all pages. */
export async function listTools({ url, egress, guard, credentials, agent }: SourceCall): Promise<Tool[]> {
  const sdk = await import('@modelcontextprotocol/client');
  const { api_key: key } = agent.configuration;
  const client = new sdk.Client(
    { name: 'Cadenza', version: '1.0.0' },
    { versionNegotiation: { mode: 'auto' } },
  );
  const broken = new AbortController();
  const transport = new sdk.StreamableHTTPClientTransport(new URL(credentials.withQuery(url)), {
    fetch: mcpFetch({
      egress,
      credentials: { headers: {}, challenged: () => null },
      headers: {
        'user-agent': 'Cadenza',
        ...(typeof key === 'string' ? { authorization: `Bearer ${guard.sensitive.fill(key)}` } : {}),
        ...credentials.headers,
      },
      timeoutMs: () => guard.leftMs() + FAREWELL_MS,
      failed: (error) => broken.abort(error),
    }),
  });
  const leave = (): Promise<void> => transport.terminateSession();
  const connection: Connection = { transport, name: hostOf(url), url, broken, leave };
  const signal = AbortSignal.any([guard.signal, broken.signal]);
  try {
    await client.connect(transport, { signal, timeout: guard.leftMs() });
    const tools: Tool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
      const answer = await client.listTools(cursor === undefined ? {} : { cursor }, {
        signal,
        timeout: guard.leftMs(),
      });
      tools.push(...answer.tools);
      cursor = answer.nextCursor;
      if (cursor === undefined) break;
    }
    return tools.slice(0, MAX_TOOLS);
  } catch (error) {
    throw failureOf(sdk, error, connection, guard);
  } finally {
    await farewell(client, connection);
  }
}
