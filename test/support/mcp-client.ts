/** The official MCP client, connected to `/mcp`. */
import {
  Client,
  StreamableHTTPClientTransport,
  type ClientOptions,
  type StreamableHTTPClientTransportOptions,
} from '@modelcontextprotocol/client';

export interface Connected {
  client: Client;
  transport: StreamableHTTPClientTransport;
  close(): Promise<void>;
}

/** `modern`: the protocol from 2026-07-28 on, which has no sessions. */
export async function connectMcp(
  baseUrl: string,
  token: string | null,
  {
    modern = false,
    ...more
  }: { modern?: boolean; headers?: Record<string, string> } & StreamableHTTPClientTransportOptions = {},
): Promise<Connected> {
  const options: ClientOptions = modern ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {};
  const client = new Client({ name: 'tests', version: '1.0.0' }, options);
  const { headers, ...transportOptions } = more;
  const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), {
    requestInit: { headers: { ...authorization, ...headers } },
    ...transportOptions,
  });
  await client.connect(transport);
  return { client, transport, close: () => client.close() };
}
