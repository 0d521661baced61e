/** MCP servers as tools of language models: what a server says is bounded. */
import { expect, test } from '@jest/globals';
import { callMcpTool, listMcpTools } from '../../../adapters/mcp/agent-tools.ts';

const server = { url: 'https://tools.example.com/mcp', headers: {} };
const call = {
  idempotencyKey: 'k',
  timeoutMs: 1_000,
  signal: new AbortController().signal,
  secret: async () => null,
};
const answering = (output: unknown) => ({ mcp: async () => ({ output }) });

test('what a tool says when it fails is cut, because errors are stored as a whole', async () => {
  const content = [{ type: 'text', text: 'x'.repeat(1_000_000) }];
  const failed = callMcpTool(answering({ isError: true, content }), server, 'add', {}, call);
  await expect(failed).rejects.toMatchObject({ message: 'x'.repeat(8_000) });
});

test('tools that are not chosen need not be usable', async () => {
  const inputSchema = { type: 'object', description: 'x'.repeat(100_000) };
  const tools = [{ name: 'huge', inputSchema }, { name: 'y'.repeat(1_000_000) }, { name: 'small' }];
  const list = (only?: string[]) => listMcpTools(answering({ tools }), server, only, call);
  await expect(list(['small'])).resolves.toMatchObject([{ name: 'small' }]);
  await expect(list()).rejects.toThrow(/The schema of the MCP tool huge has more than/);
});
