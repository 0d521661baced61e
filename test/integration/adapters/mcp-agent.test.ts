/** Agents that are tools of an MCP server, made with the official SDK. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { expect, test } from '@jest/globals';
import * as z from 'zod';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import type { AgentCall, CallFiles, PartialSink } from '../../../domain/ports.ts';
import { agentCall, faultOf, noFiles } from '../../support/agent-call.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { keepIdle } from '../../support/http-server.ts';
import { startMcpServer } from '../../support/mcp-server.ts';
import { until } from '../../support/platform.ts';

const opened = closedAfterEach();

const agentAt = (base_url: string, more: Record<string, unknown> = {}) => ({
  type: 'api',
  execution_type: 'framework',
  configuration: { framework: 'mcp', base_url, ...more },
});

function invoke(call: AgentCall) {
  const egress = opened(createEgressPolicy({ allow: ['127.0.0.1'] }));
  return createAdapters({ egress }).invoke(call);
}

const Colour = z.object({ colour: z.string() });

/** A server of MCP 2026-07-28 whose tools ask, tell their progress, and return files. */
async function startAskingServer(): Promise<{ url: string; close(): Promise<void> }> {
  const serve = toNodeHandler(
    createMcpHandler(() => {
      const server = new McpServer({ name: 'asking', version: '1.0.0' });
      server.registerTool(
        'paint',
        { inputSchema: z.object({ wall: z.string() }) },
        async ({ wall }, context) => {
          const answer = acceptedContent(context.mcpReq.inputResponses, 'colour', Colour);
          if (answer)
            return {
              content: [
                {
                  type: 'text',
                  text: `${wall} is ${answer.colour}, ${String(context.mcpReq.requestState())}`,
                },
              ],
            };
          if (context.mcpReq.inputResponses)
            return { content: [{ type: 'text', text: `${wall} stays as it is` }] };
          return inputRequired({
            requestState: 'state of the tool',
            inputRequests: {
              colour: inputRequired.elicit({
                message: 'Which colour?',
                requestedSchema: {
                  type: 'object',
                  properties: { colour: { type: 'string' } },
                  required: ['colour'],
                },
              }),
            },
          });
        },
      );
      server.registerTool('slow', { inputSchema: z.object({}) }, async (_given, { mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken;
        if (progressToken !== undefined)
          await mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken, progress: 1, total: 2, message: 'half' },
          });
        return { content: [{ type: 'image', data: 'R0lG', mimeType: 'image/gif' }] };
      });
      return server;
    }),
  );
  const http = createServer(keepIdle, (request, response) => {
    const { method = '', url = '' } = request;
    void serve(Object.assign(request, { method, url }), response);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: () =>
      new Promise((resolve) => {
        http.closeAllConnections();
        http.close(() => resolve());
      }),
  };
}

test('a tool is chosen by the configuration or by the skill, and its schema checks the input', async () => {
  const target = opened(await startMcpServer());
  const agent = agentAt(`${target.url}/mcp`);
  const add = { ...agentCall(agent, { a: 2, b: 3 }), skill: 'add' };
  expect(await invoke(add)).toMatchObject({ output: { sum: 5 } });
  expect(
    await invoke(agentCall(agentAt(`${target.url}/stateless`, { tool: 'echo' }), { text: 'Hi' })),
  ).toMatchObject({
    output: 'Hi',
  });
  expect(await faultOf(invoke({ ...add, input: { a: 'two' } }))).toMatchObject({
    kind: 'validation',
    detail: expect.stringContaining('The input does not fit the tool add'),
  });
  expect(await faultOf(invoke({ ...add, skill: 'missing' }))).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('There is no tool "missing": its server has add, fail, echo'),
  });
  expect(await faultOf(invoke(agentCall(agent, {})))).toMatchObject({
    detail: expect.stringContaining('Name the tool'),
  });
  const only = agentAt(`${target.url}/mcp`, { tool: 'echo' });
  expect(await faultOf(invoke({ ...agentCall(only, {}), skill: 'add' }))).toMatchObject({
    detail: 'The agent tester has only the skill echo',
  });
  expect(await faultOf(invoke({ ...add, input: {}, skill: 'fail' }))).toMatchObject({
    kind: 'runtime',
    detail: expect.stringContaining('it broke'),
  });
  expect(target.sessions.size).toBe(0);
});

test('a repeat ends the session of the attempt that was lost', async () => {
  const target = opened(await startMcpServer());
  const lost = new AbortController();
  const kept: Record<string, unknown>[] = [];
  const keep = async (value: Record<string, unknown>): Promise<void> => void kept.push(value);
  const wait = { ...agentCall(agentAt(`${target.url}/mcp`, { tool: 'wait' }), {}), signal: lost.signal };
  const first = invoke({ ...wait, progress: { repeated: false, kept: null, keep } });
  first.catch(() => undefined);
  await until(
    async () => target.waiting.begun,
    (begun) => begun === 1,
  );
  const [session] = target.sessions;
  expect(kept).toEqual([{ mcp_session: session }]);
  const echo = agentCall(agentAt(`${target.url}/mcp`, { tool: 'echo' }), { text: 'again' });
  expect(await invoke({ ...echo, progress: { repeated: true, kept: kept[0], keep } })).toMatchObject({
    output: 'again',
  });
  expect(target.sessions.size).toBe(0);
  lost.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
});

test('a tool asks a person, who may decline, and its state comes back to it', async () => {
  const target = opened(await startAskingServer());
  const call = agentCall(agentAt(target.url, { tool: 'paint' }), { wall: 'North' });
  const { ask } = await invoke(call);
  if (!ask) throw new Error('no question');
  expect(ask).toMatchObject({
    title: 'Which colour?',
    form_schema: { required: ['colour'] },
    decisions: [{ id: 'answer' }, { id: 'decline' }],
  });
  const decided = (decision: string, payload: unknown) =>
    invoke({ ...call, reply: { remote: ask.remote, decision: { decision, payload, comment: null } } });
  expect(await decided('answer', { colour: 'red' })).toMatchObject({
    output: 'North is red, state of the tool',
  });
  expect(await decided('decline', null)).toMatchObject({ output: 'North stays as it is' });
  const nobody = { ...call, reply: { remote: ask.remote, decision: null } };
  expect(await faultOf(invoke(nobody))).toMatchObject({ kind: 'authorization' });
});

test('progress is shown, and what is no text becomes a file', async () => {
  const target = opened(await startAskingServer());
  const shown: string[] = [];
  const partial: PartialSink = {
    redactBy: () => undefined,
    output: () => undefined,
    restart: () => undefined,
    progress: (text) => void shown.push(text),
  };
  const files: CallFiles = { ...noFiles, store: async (_content, file) => ({ file_id: 'f', ...file }) };
  expect(
    await invoke({ ...agentCall(agentAt(target.url, { tool: 'slow' }), null), partial, files }),
  ).toMatchObject({
    output: { files: [{ file_id: 'f', name: 'image', media_type: 'image/gif' }] },
  });
  expect(shown).toEqual(['half']);
});
