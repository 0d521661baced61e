/** The DSL's `call: mcp` against a server made with the official SDK. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { faultOf, httpCall } from '../../support/agent-call.ts';
import { until } from '../../support/platform.ts';
import { startMcpServer, type McpTestServer } from '../../support/mcp-server.ts';

const opened = closedAfterEach();
const program = join(import.meta.dirname, '../../support/mcp-server.ts');
const argv = [process.execPath, '--no-warnings', program, '--stdio'];
const commands = { tests: { argv, environment: ['TOOL_TOKEN', 'WAIT_MARK'] } };
const remote = async (options: { token?: string } = {}): Promise<McpTestServer> =>
  opened(await startMcpServer(options));

interface Options {
  secrets?: Record<string, string>;
  timeoutMs?: number;
  signal?: AbortSignal;
}

// Tests read any property of a result.
async function call(args: Record<string, unknown>, options: Options = {}): Promise<any> {
  const egress = opened(createEgressPolicy({ allow: ['127.0.0.1'] }));
  return (await createAdapters({ egress, mcpCommands: commands }).mcp(httpCall(args, options))).output;
}

const overHttp = (target: McpTestServer, more: Record<string, unknown> = {}, path = '/mcp') => ({
  transport: { http: { endpoint: { uri: `${target.url}${path}`, ...more } } },
});
const overStdio = (environment: Record<string, string> = {}) => ({
  transport: { stdio: { command: 'tests', environment } },
});
const add = { method: 'tools/call', parameters: { name: 'add', arguments: { a: 2, b: 3 } } };

test('tools, resources and prompts over HTTP, each in a session that is ended', async () => {
  const target = await remote();
  const names = (list: { name: string }[]) => list.map(({ name }) => name);
  const listed = await call({ method: 'tools/list', ...overHttp(target) });
  expect(names(listed.tools)).toEqual(['add', 'fail', 'echo', 'large', 'wait']);
  expect(await call({ ...add, ...overHttp(target) })).toEqual({
    content: [{ type: 'text', text: '5' }],
    structuredContent: { sum: 5 },
  });
  const resources = await call({ method: 'resources/list', ...overHttp(target) });
  expect(names(resources.resources)).toEqual(['readme']);
  expect(
    await call({ method: 'resources/read', parameters: { uri: 'doc://readme' }, ...overHttp(target) }),
  ).toMatchObject({ contents: [{ text: 'Read me' }] });
  const prompt = { name: 'greet', arguments: { name: 'Ada' } };
  expect(await call({ method: 'prompts/get', parameters: prompt, ...overHttp(target) })).toMatchObject({
    messages: [{ content: { text: 'Greet Ada' } }],
  });
  expect(target.sessions.size).toBe(0);
  const [initialize, ...rest] = target.requests;
  expect(initialize?.headers['mcp-session-id']).toBeUndefined();
  expect(rest[0]?.headers['mcp-session-id']).toMatch(/\S+/);
  expect(rest[0]?.headers['mcp-protocol-version']).toBe('2025-06-18');
  expect(target.requests.every(({ headers }) => headers['idempotency-key'] === 'run-1/do/0/call/1/1')).toBe(
    true,
  );
});

test("today's version of the protocol needs no session, and an unknown version is refused", async () => {
  const target = await remote();
  const output = await call({ ...add, protocolVersion: '2026-07-28', ...overHttp(target, {}, '/stateless') });
  expect(output).toMatchObject({ structuredContent: { sum: 5 } });
  expect(target.requests.at(-1)?.headers['mcp-protocol-version']).toBe('2026-07-28');
  expect(await call({ ...add, protocolVersion: '2025-11-25', ...overHttp(target) })).toMatchObject({
    structuredContent: { sum: 5 },
  });
  expect(await faultOf(call({ ...add, protocolVersion: '2020-01-01', ...overHttp(target) }))).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('2025-06-18'),
  });
});

test('a failing tool is a result, a refusal of the protocol is a runtime error', async () => {
  const target = await remote();
  const failed = { method: 'tools/call', parameters: { name: 'fail', arguments: {} } };
  expect(await call({ ...failed, ...overHttp(target) })).toMatchObject({
    isError: true,
    content: [{ text: 'it broke' }],
  });
  const missing = { method: 'resources/read', parameters: { uri: 'doc://none' } };
  expect(await faultOf(call({ ...missing, ...overHttp(target) }))).toMatchObject({
    kind: 'runtime',
    detail: expect.stringContaining('doc://none'),
  });
  expect(await faultOf(call({ ...add, ...overHttp(target, {}, '/plain') }))).toMatchObject({
    kind: 'communication',
    status: 502,
  });
});

test('credentials are sent, and never shown', async () => {
  const target = await remote({ token: 'tool-secret-1' });
  const bearer = { authentication: { bearer: { use: 'TOKEN' } } };
  const secrets = { TOKEN: 'tool-secret-1' };
  expect(await call({ ...add, ...overHttp(target, bearer) }, { secrets })).toMatchObject({
    structuredContent: { sum: 5 },
  });
  const refused = await faultOf(
    call({ ...add, ...overHttp(target, bearer) }, { secrets: { TOKEN: 'tool-secret-2' } }),
  );
  expect(refused).toMatchObject({ kind: 'authentication', status: 401 });
  expect(refused.detail).toContain('no: Bearer <TOKEN>');
});

test('the egress policy holds, also for redirects', async () => {
  const target = await remote();
  expect(await call({ ...add, ...overHttp(target, {}, '/elsewhere') })).toMatchObject({
    structuredContent: { sum: 5 },
  });
  expect(await faultOf(call({ ...add, ...overHttp(target, {}, '/away') }))).toMatchObject({
    kind: 'communication',
    status: 307,
  });
  const egress = opened(createEgressPolicy());
  const refused = createAdapters({ egress }).mcp(httpCall({ ...add, ...overHttp(target) }));
  expect(await faultOf(refused)).toMatchObject({ kind: 'authorization' });
});

test('a large answer is refused, a slow one ends at the time limit', async () => {
  const target = await remote();
  const large = (bytes: number) => ({
    method: 'tools/call',
    parameters: { name: 'large', arguments: { bytes } },
  });
  expect((await call({ ...large(1_000_000), ...overHttp(target) })).content[0].text).toHaveLength(1_000_000);
  expect(await faultOf(call({ ...large(9_000_000), ...overHttp(target) }))).toMatchObject({
    kind: 'communication',
    detail: expect.stringContaining('more than 8388608 bytes'),
  });
  const wait = { method: 'tools/call', parameters: { name: 'wait', arguments: {} } };
  expect(await faultOf(call({ ...wait, ...overHttp(target) }, { timeoutMs: 800 }))).toMatchObject({
    kind: 'timeout',
    status: 408,
  });
});

test('cancelling reaches the server, and its session ends', async () => {
  const target = await remote();
  const cancel = new AbortController();
  const wait = { method: 'tools/call', parameters: { name: 'wait', arguments: {} } };
  const waiting = call({ ...wait, ...overHttp(target) }, { signal: cancel.signal });
  await until(async () => target.waiting.begun === 1, Boolean);
  cancel.abort(new Error('cancelled by the test'));
  await expect(waiting).rejects.toThrow('cancelled by the test');
  await until(async () => target.waiting.cancelled === 1, Boolean);
  expect(target.sessions.size).toBe(0);
});

test('a listed program is called over its standard streams, with the listed variables only', async () => {
  const echo = { method: 'tools/call', parameters: { name: 'echo', arguments: { text: 'hi' } } };
  expect(await call({ ...echo, ...overStdio({ TOOL_TOKEN: 'token-of-the-tool' }) })).toMatchObject({
    content: [{ text: 'hi <TOOL_TOKEN>' }],
  });
  const [command = '', ...args] = argv;
  const exact = { transport: { stdio: { command, arguments: args } } };
  expect(await call({ ...add, ...exact })).toMatchObject({ structuredContent: { sum: 5 } });
  const refusals = [
    { command: 'other' },
    { command: process.execPath, arguments: ['-e', '1'] },
    { command: 'tests', arguments: ['--more'] },
    { command: 'tests', environment: { LD_PRELOAD: '/tmp/x.so' } },
    { command: '__proto__' },
  ];
  for (const stdio of refusals)
    expect(await faultOf(call({ ...add, transport: { stdio } }))).toMatchObject({ kind: 'authorization' });
});

test('a program ends with its call, whatever it does', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-'));
  const mark = join(folder, 'pid');
  const cancel = new AbortController();
  const wait = { method: 'tools/call', parameters: { name: 'wait', arguments: {} } };
  const waiting = call({ ...wait, ...overStdio({ WAIT_MARK: mark }) }, { signal: cancel.signal });
  await until(async () => existsSync(mark) && readFileSync(mark, 'utf8') !== '', Boolean);
  cancel.abort(new Error('cancelled by the test'));
  await expect(waiting).rejects.toThrow('cancelled by the test');
  await until(async () => !isAlive(Number(readFileSync(mark, 'utf8'))), Boolean);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
