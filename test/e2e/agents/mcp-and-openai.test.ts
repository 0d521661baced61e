/** Agents and workflows through the OpenAI-compatible API and the MCP server, with the official clients. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import OpenAI from 'openai';
import { agentBody } from '../../support/agent-body.ts';
import type { Client, TestUser } from '../../support/app.ts';
import { agentTask, humanTask } from '../../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { connectMcp, type Connected } from '../../support/mcp-client.ts';
import { endOf, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { startStreamingModel, type StreamingModel } from '../../support/streaming-model.ts';
import { workflowAgent } from '../../support/workflow-agent.ts';

let platform: TestPlatform;
let builder: Client;
let owner: TestUser;
let model: StreamingModel;
let target: TestServer;
let openai: OpenAI;
let echo: string;

beforeAll(async () => {
  platform = await startTestPlatform();
  owner = await platform.user('builder');
  builder = await platform.as(owner);
  model = await startStreamingModel();
  target = await startServer((request, response) => {
    if (request.path === '/held') return;
    if (request.path === '/broken') return sendJson(response, { no: 'luck' }, 500);
    sendJson(response, { echo: JSON.parse(request.body), chain: request.headers['idempotency-key'] });
  });
  const llm = { base_url: `${model.url}/v1`, model: 'tiny' };
  await builder.post('/agents', agentBody({ name: 'poet', type: 'llm', configuration: llm }));
  for (const path of ['echo', 'held', 'broken'])
    await builder.post(
      '/agents',
      agentBody({ name: path, configuration: { endpoint: `${target.url}/${path}` } }),
    );
  echo = (await builder.get('/agents?name=echo')).body[0].id;
  await workflowAgent(
    builder,
    {
      input: {
        schema: {
          document: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
        },
      },
      do: [{ ask: humanTask('Publish it?') }, { say: { set: { text: '${ "It is " + .decision }' } } }],
    },
    { name: 'Review & publish', description: 'Asks an editor.' },
  );
  openai = new OpenAI({ baseURL: `${platform.url}/v1`, apiKey: owner.token, maxRetries: 0 });
});
afterAll(async () => {
  await platform.close();
  await Promise.all([model.close(), target.close()]);
});

/** Reads a body until it has said something, or to its end. */
function piecesOf({ body }: Response): { until(text: string | null): Promise<string> } {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  return {
    async until(text) {
      let all = '';
      while (text === null || !all.includes(text)) {
        const { done = true, value = '' } = (await reader?.read()) ?? {};
        if (done && text === null) return all;
        if (done) throw new Error(`the body ended before ${text}: ${all}`);
        all += value;
      }
      return all;
    },
  };
}

const runOf = async (response: Response) =>
  (await builder.get(`/runs/${response.headers.get('x-run-id')}`)).body;

describe('the OpenAI-compatible API', () => {
  test('agents are models, by name or id, and answer a chat', async () => {
    const models = (await openai.models.list()).data;
    expect(models.map(({ id }) => id)).toEqual(expect.arrayContaining(['poet', 'echo', 'Review & publish']));
    expect(await openai.models.retrieve(echo)).toMatchObject({ id: echo, object: 'model' });
    const { data, response } = await openai.chat.completions
      .create({
        model: 'poet',
        temperature: 0.7,
        messages: [
          { role: 'developer', content: 'Be short.' },
          { role: 'user', content: [{ type: 'text', text: 'A poem, please' }] },
        ],
      })
      .withResponse();
    expect(data).toMatchObject({
      object: 'chat.completion',
      model: 'poet',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'all at once' } }],
      usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 },
    });
    expect(model.bodies.at(-1)?.['messages']).toEqual([
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'A poem, please' },
    ]);
    const run = await runOf(response);
    expect(run).toMatchObject({ status: 'completed', owner_id: owner.id, workflow_name: 'poet' });
    expect(data.id).toBe(`chatcmpl-${run.id}`);
    const other = await openai.chat.completions.create({
      model: echo,
      messages: [
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
        { role: 'user', content: 'three' },
      ],
    });
    const history = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
    ];
    expect(JSON.parse(other.choices[0]?.message.content ?? '').echo).toEqual({ text: 'three', history });
  });

  test('a stream shows the text while the model writes it, and the usage if asked', async () => {
    const before = await openai.chat.completions.create({
      model: 'poet',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'Sing' }],
    });
    let text = '';
    let usage: unknown;
    const reasons: unknown[] = [];
    await model.begun(1);
    model.say('Once ');
    for await (const chunk of before) {
      const delta = chunk.choices[0]?.delta.content ?? '';
      text += delta;
      if (delta === 'Once ') model.say('upon ');
      if (delta === 'upon ') model.finish();
      if (chunk.choices[0]?.finish_reason) reasons.push(chunk.choices[0].finish_reason);
      usage = chunk.usage ?? usage;
    }
    expect([text, reasons]).toEqual(['Once upon ', ['stop']]);
    expect(usage).toEqual({ prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 });
  });

  test('a workflow streams the text of its last step, and that of the others beside it', async () => {
    const step = (more: object) => agentTask('poet', { input: 'go', ...more });
    await workflowAgent(
      builder,
      { do: [{ draft: step({}) }, { write: step({}) }] },
      { name: 'Drafts', description: null },
    );
    const begun = model.bodies.filter(({ stream: isStreamed }) => isStreamed === true).length;
    const stream = await openai.chat.completions.create({
      model: 'Drafts',
      stream: true,
      messages: [{ role: 'user', content: 'Sing' }],
    });
    const { length } = model.bodies;
    const seen: [string, string][] = [];
    let said = '';
    const saying = (async () => {
      for (const text of ['rough', 'fine']) {
        await model.begun(begun + 1 + ['rough', 'fine'].indexOf(text));
        model.say(text);
        await until(
          async () => seen.length,
          (count) => count > ['rough', 'fine'].indexOf(text),
        );
        model.finish();
      }
    })();
    for await (const chunk of stream) {
      const delta = (chunk.choices[0]?.delta ?? {}) as { content?: string; reasoning_content?: string };
      if (delta.reasoning_content) seen.push(['reasoning', delta.reasoning_content]);
      if (delta.content) seen.push(['answer', delta.content]);
      said += delta.content ?? '';
    }
    await saying;
    expect(seen).toEqual([
      ['reasoning', 'rough'],
      ['answer', 'fine'],
    ]);
    expect([said, model.bodies.length]).toEqual(['fine', length + 2]);
  });

  test('a request that is repeated with its key follows the same run', async () => {
    const ask = (text: string, key: string) =>
      fetch(`${platform.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${owner.token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify({ model: 'echo', messages: [{ role: 'user', content: text }] }),
      });
    const answers = await Promise.all([ask('once', 'k1'), ask('once', 'k1')]);
    const ids = answers.map(({ headers }) => headers.get('x-run-id'));
    expect(new Set(ids).size).toBe(1);
    expect((await ask('once', 'k1')).headers.get('x-run-id')).toBe(ids[0]);
    const other = await ask('twice', 'k1');
    expect([other.status, ((await other.json()) as { error: object }).error]).toMatchObject([
      400,
      { code: 'idempotency_key_reused' },
    ]);
    expect((await ask('once', 'k2')).headers.get('x-run-id')).not.toBe(ids[0]);
    expect((await ask('once', 'ä')).status).toBe(400);
    // A run that failed is no answer: the next attempt is a new one.
    const broken = (key: string) =>
      openai.chat.completions
        .create({ model: 'broken', messages: [{ role: 'user', content: 'go' }] }, { idempotencyKey: key })
        .catch((error: unknown) => error);
    const count = async () => (await builder.get('/runs?q=broken')).body.length;
    const before = await count();
    await broken('k3');
    await broken('k3');
    expect((await count()) - before).toBe(2);
  });

  test('images go to the agent as files', async () => {
    const pixel = Buffer.from('not a real image').toString('base64');
    const { response } = await openai.chat.completions
      .create({
        model: 'poet',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is it?' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
            ],
          },
        ],
      })
      .withResponse();
    expect((await runOf(response)).status).toBe('completed');
    expect(model.bodies.at(-1)?.['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
        ],
      },
    ]);
  });

  test('a run that fails is an error, streamed or not, and is not tried again', async () => {
    const messages = [{ role: 'user' as const, content: 'go' }];
    const count = async () => (await builder.get('/runs?q=broken')).body.length;
    const before = await count();
    const failed = await openai.chat.completions
      .create({ model: 'broken', messages }, { maxRetries: 2 })
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({ status: 502, code: 'run_failed', type: 'server_error' });
    expect((await count()) - before).toBe(1);
    const stream = await openai.chat.completions.create({ model: 'broken', messages, stream: true });
    await expect(
      (async () => {
        for await (const _chunk of stream);
      })(),
    ).rejects.toMatchObject({ code: 'run_failed' });
  });

  test('closing the connection cancels the run', async () => {
    const stop = new AbortController();
    const messages = [{ role: 'user' as const, content: 'go' }];
    const seen = target.seen.length;
    const asked = openai.chat.completions
      .create({ model: 'held', messages }, { signal: stop.signal })
      .catch((error: unknown) => error);
    await until(
      async () => target.seen.length,
      (count) => count > seen,
    );
    stop.abort();
    await asked;
    const [run] = (await builder.get('/runs?q=held')).body;
    expect((await endOf(builder, run)).status).toBe('cancelled');
  });

  test('a chat waits for a person, and says so to those who look at the stream', async () => {
    const response = await fetch(`${platform.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'Review & publish',
        stream: true,
        messages: [{ role: 'user', content: 'A text' }],
      }),
    });
    const stream = piecesOf(response);
    let text = await stream.until('waits for a person');
    const run = await runOf(response);
    expect(run.input_params).toEqual({ text: 'A text' });
    const [task] = (await builder.get(`/hitl/tasks?run_id=${run.id}`)).body;
    await builder.post(`/hitl/tasks/${task.id}/decision`, { decision: 'approve' });
    text += await stream.until(null);
    expect(text).toContain('"content":"It is approve"');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });
});

describe.each([false, true])('the MCP server, modern: %s', (modern) => {
  let mcp: Connected;
  beforeAll(async () => {
    mcp = await connectMcp(platform.url, owner.token, { modern });
  });
  afterAll(() => mcp.close());
  const nameOf = async (title: string): Promise<string> =>
    (await mcp.client.listTools()).tools.find((tool) => tool.title === title)?.name ?? '';

  test('a tool runs an agent, with structured output', async () => {
    const name = await nameOf('echo');
    expect(name).toMatch(/^echo-a[0-9a-f]{12}$/);
    const result = await mcp.client.callTool({ name, arguments: { q: 1 } });
    expect(result).toMatchObject({
      structuredContent: { status: 'completed', output: { echo: { q: 1 } } },
      content: [{ type: 'text' }],
    });
    const failed = await mcp.client.callTool({ name: await nameOf('broken'), arguments: {} });
    expect(failed).toMatchObject({ isError: true, structuredContent: { status: 'faulted' } });
  });

  test('a run reports its progress, and the person that it waits for', async () => {
    const name = await nameOf('Review & publish');
    const heard: string[] = [];
    let decided: Promise<unknown> | undefined;
    const result = await mcp.client.callTool(
      { name, arguments: { text: 'A text' } },
      {
        onprogress: ({ message }) => {
          heard.push(message ?? '');
          if (message?.includes('waits for a person'))
            decided ??= (async () => {
              const { body } = await builder.get('/hitl/tasks');
              return builder.post(`/hitl/tasks/${body[0].id}/decision`, { decision: 'approve' });
            })();
        },
        resetTimeoutOnProgress: true,
      },
    );
    await decided;
    expect(heard.some((message) => message.includes('waits for a person'))).toBe(true);
    expect(result).toMatchObject({ structuredContent: { output: { text: 'It is approve' } } });
  });

  test('cancelling a call cancels its run', async () => {
    const stop = new AbortController();
    const seen = target.seen.length;
    const call = mcp.client
      .callTool({ name: await nameOf('held'), arguments: {} }, { signal: stop.signal })
      .catch((error: unknown) => error);
    await until(
      async () => target.seen.length,
      (count) => count > seen,
    );
    stop.abort('no longer wanted');
    await call;
    const [run] = (await builder.get('/runs?q=held')).body;
    expect((await endOf(builder, run)).status).toBe('cancelled');
  });

  test('files come in and go out', async () => {
    const uploaded = await mcp.client.callTool({
      name: 'upload_file',
      arguments: { name: 'a.txt', media_type: 'text/plain', content_base64: 'aGVsbG8=' },
    });
    const file = uploaded.structuredContent as { file_id: string };
    const result = await mcp.client.callTool({ name: await nameOf('echo'), arguments: { files: [file] } });
    const link = result.content.find((block) => block.type === 'resource_link');
    expect(link).toMatchObject({ uri: `cadenza://files/${file.file_id}`, mimeType: 'text/plain' });
    const { contents } = await mcp.client.readResource({ uri: `cadenza://files/${file.file_id}` });
    expect(contents).toMatchObject([{ text: 'hello', mimeType: 'text/plain' }]);
    const { structuredContent: run } = result as { structuredContent: { run_id: string } };
    const read = await mcp.client.readResource({ uri: `cadenza://runs/${run.run_id}` });
    expect(JSON.parse((read.contents[0] as { text: string }).text)).toMatchObject({ status: 'completed' });
  });
});

test('a call whose connection broke is resumed from the last event that the client saw', async () => {
  const headers = {
    authorization: `Bearer ${owner.token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  };
  const mcp = await connectMcp(platform.url, owner.token);
  const { tools } = await mcp.client.listTools();
  await mcp.close();
  const name = tools.find(({ title }) => title === 'Review & publish')?.name;
  const message = {
    jsonrpc: '2.0',
    id: 'call-1',
    method: 'tools/call',
    params: { name, arguments: { text: 'x' }, _meta: { progressToken: 7 } },
  };
  const stop = new AbortController();
  const response = await fetch(`${platform.url}/mcp`, {
    method: 'POST',
    headers,
    body: JSON.stringify(message),
    signal: stop.signal,
  });
  const text = await piecesOf(response).until('waits for a person');
  const lastId = [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '';
  stop.abort();
  const [task] = (await builder.get('/hitl/tasks')).body;
  expect((await builder.get(`/runs/${task.run_id}`)).body.status).toBe('waiting');
  await builder.post(`/hitl/tasks/${task.id}/decision`, { decision: 'reject' });
  const resumed = await fetch(`${platform.url}/mcp`, { headers: { ...headers, 'last-event-id': lastId } });
  const events = (await resumed.text()).split('\n').filter((line) => line.startsWith('data: '));
  const messages = events.map((line) => JSON.parse(line.slice(6)));
  expect(messages.at(-1)).toMatchObject({
    id: 'call-1',
    result: { structuredContent: { status: 'completed', output: { text: 'It is reject' } } },
  });
  expect(messages[0]).toMatchObject({ method: 'notifications/progress', params: { progressToken: 7 } });
  const stranger = await platform.createUser();
  const refused = await fetch(`${platform.url}/mcp`, {
    headers: { ...headers, authorization: `Bearer ${stranger.token}`, 'last-event-id': lastId },
  });
  expect(refused.status).toBe(404);
});

test('a run that calls the MCP server is known by its key', async () => {
  const definition = {
    do: [
      {
        tools: {
          call: 'mcp',
          with: {
            method: 'tools/list',
            transport: {
              http: {
                endpoint: { uri: `${platform.url}/mcp`, authentication: { bearer: { token: owner.token } } },
              },
            },
          },
        },
      },
    ],
  };
  const run = await platform.runToEnd(definition);
  expect(run['output'].tools.map(({ name }: { name: string }) => name)).toContain('get_run');
  expect(agentTask('echo')).toBeDefined();
});
