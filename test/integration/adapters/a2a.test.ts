/**
 * The A2A client against the SDK's server: both protocol versions, all bindings, streams, polling, drops,
 * refusals.
 */
import { describe, expect, test } from '@jest/globals';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import type { RemoteAsk } from '../../../contracts/activities.ts';
import type { AgentCall, AgentResult, CallFiles, PartialSink } from '../../../domain/ports.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { startRemoteAgent, type RemoteA2aAgent, type RemoteOptions } from '../../support/a2a-agent.ts';
import { agentCall, faultOf, noFiles } from '../../support/agent-call.ts';
import { sendJson, startServer } from '../../support/http-server.ts';

const opened = closedAfterEach();
const remote = async (options: RemoteOptions = {}): Promise<RemoteA2aAgent> =>
  opened(await startRemoteAgent(options));

function invoke(call: AgentCall): Promise<AgentResult> {
  const egress = opened(createEgressPolicy({ allow: ['127.0.0.1'] }));
  return createAdapters({ egress }).invoke(call);
}

const agentAt = (url: string, configuration: Record<string, unknown> = {}) => ({
  type: 'a2a',
  name: 'remote',
  url,
  configuration,
});
const ask = (
  target: RemoteA2aAgent,
  input: unknown,
  more: Partial<AgentCall> = {},
  configuration: Record<string, unknown> = {},
) => invoke({ ...agentCall(agentAt(target.url, configuration), input), timeoutMs: 120_000, ...more });

const KINDS: [string, RemoteOptions][] = [
  ['1.0 JSON-RPC streaming', {}],
  ['1.0 JSON-RPC polling', { streaming: false }],
  ['1.0 REST streaming', { binding: 'HTTP+JSON' }],
  ['1.0 REST polling', { binding: 'HTTP+JSON', streaming: false }],
  ['1.0 gRPC streaming', { binding: 'GRPC' }],
  ['1.0 gRPC polling', { binding: 'GRPC', streaming: false }],
  ['0.3 JSON-RPC streaming', { version: '0.3' }],
  ['0.3 JSON-RPC polling', { version: '0.3', streaming: false }],
  ['0.3 REST streaming', { version: '0.3', binding: 'HTTP+JSON' }],
  ['0.3 REST polling', { version: '0.3', binding: 'HTTP+JSON', streaming: false }],
];

describe.each(KINDS)('%s', (_, options) => {
  test('a message arrives with its parts, and the artifacts come back as the output', async () => {
    const target = await remote(options);
    const result = await ask(target, 'hello', { skill: 'books' });
    expect(result.output).toMatchObject({
      said: 'hello',
      parts: [{ kind: 'text', value: 'hello' }],
      metadata: { skill: 'books', 'io.cadenza.invocation': expect.any(String) },
    });
    expect(result.usage).toMatchObject({ requests: 1 });
    expect((await ask(target, { city: 'Rome', n: [1] })).output).toMatchObject({
      parts: [{ kind: 'data', value: { city: 'Rome', n: [1] } }],
    });
    expect((await ask(target, 'two parts')).output).toEqual({
      artifacts: [
        { id: 'a', name: 'a', description: expect.anything(), output: 'first' },
        { id: 'b', name: 'b', description: expect.anything(), output: { second: true } },
      ],
    });
    expect((await ask(target, 'message please')).output).toBe('just a word');
    expect((await ask(target, 'status please')).output).toBe('said by status');
  });

  test('a task that failed or was rejected becomes a fault with its reason', async () => {
    const target = await remote(options);
    expect(await faultOf(ask(target, 'fail'))).toEqual({
      kind: 'communication',
      status: 500,
      detail: 'remote failed: the oven is cold',
    });
    expect(await faultOf(ask(target, 'reject'))).toEqual({
      kind: 'authorization',
      status: 403,
      detail: 'remote rejected the task: not my job',
    });
  });

  test('a question of the agent comes back as an ask, and the answer goes to the same task', async () => {
    const target = await remote(options);
    const first = askOf(await ask(target, 'ask me'));
    expect(first).toMatchObject({
      title: 'Which city?',
      description: 'Which city?\nFor the hotel.',
      remote: { answer: { as: 'text' } },
      decisions: [{ id: 'answer' }, { id: 'reject' }],
    });
    const answer = { decision: 'answer', payload: { text: 'Rome' }, comment: null };
    const second = askOf(
      await ask(target, 'ask me', {
        idempotencyKey: 'k:1',
        reply: { remote: first.remote, decision: answer },
      }),
    );
    expect(second).toMatchObject({
      title: 'And the date?',
      form_schema: { properties: { date: { type: 'string' } } },
      remote: { task_id: first.remote.task_id, answer: { as: 'data' } },
    });
    const last = await ask(target, 'ask me', {
      idempotencyKey: 'k:2',
      reply: {
        remote: second.remote,
        decision: { decision: 'answer', payload: { date: '1 May' }, comment: null },
      },
    });
    expect(last.output).toEqual({ answers: [{ date: '1 May' }] });
    expect(target.tasks.size).toBe(1);
  });

  test('a request for a credential comes back as an ask, and continuing sends nothing', async () => {
    const target = await remote(options);
    const question = askOf(await ask(target, 'auth'));
    expect(question).toMatchObject({
      title: 'remote asks for a credential',
      description: 'log in at example.org',
      subject: { type: 'credential_request' },
      decisions: [{ id: 'continue' }, { id: 'reject' }],
    });
    const reply = {
      remote: question.remote,
      decision: { decision: 'continue', payload: null, comment: null },
    };
    const call = ask(target, 'auth', { idempotencyKey: 'k:1', reply });
    target.release();
    expect((await call).output).toBe('what only you may see');
    expect([target.messages.length, target.tasks.size]).toEqual([1, 1]);
  });

  test('cancelling the run cancels the remote task, stopping the worker does not', async () => {
    const target = await remote(options);
    for (const cancelRequested of [true, false]) {
      const controller = new AbortController();
      let kept: unknown = null;
      const keep = async (value: unknown): Promise<void> => void (kept = value);
      const call = ask(target, 'hold on', {
        signal: controller.signal,
        idempotencyKey: `c-${cancelRequested}`,
        cancelRequested: async () => cancelRequested,
        progress: { repeated: false, kept: null, keep },
      });
      // Only a task that is known can be cancelled.
      await reached(() => kept !== null);
      controller.abort(new Error('stop'));
      await expect(call).rejects.toThrow('stop');
    }
    expect(target.cancelled).toEqual([[...target.tasks][0]]);
  });
});

function askOf(result: AgentResult): RemoteAsk {
  if (!result.ask) throw new Error(`no question: ${JSON.stringify(result)}`);
  return result.ask;
}

async function reached(ready: () => boolean): Promise<void> {
  for (let i = 0; !ready(); i++) {
    if (i > 2_400) throw new Error('not reached');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test.each(KINDS.filter(([name]) => name.endsWith('streaming')))(
  '%s: the pieces of a stream are joined to one text',
  async (_, options) => {
    const target = await remote(options);
    let shown = '';
    const partial: PartialSink = {
      redactBy: () => {},
      output: (text) => (shown += text),
      restart: () => (shown = ''),
      progress: () => {},
    };
    expect((await ask(target, 'pieces', { partial })).output).toBe('Once upon a time');
    expect(shown).toBe('Once upon a time');
  },
);

test.each(KINDS.filter(([name]) => name.endsWith('streaming')))(
  '%s: a dropped stream is resumed, and nothing is lost or sent twice',
  async (_, options) => {
    const target = await remote(options);
    const call = ask(target, 'hold on');
    await reached(() => target.tasks.size === 1);
    for (let i = 0; i < 2; i++) {
      target.drop();
      await new Promise((resolve) => setTimeout(resolve, 700));
    }
    target.release();
    expect((await call).output).toMatch(/^before \n?and after$/);
    expect(target.messages).toHaveLength(1);
  },
);

test.each(KINDS.filter(([name]) => name.endsWith('streaming')))(
  '%s: a dropped stream that cannot be resumed is replaced by polling',
  async (_, options) => {
    const target = await remote({ ...options, resubscribe: false });
    const call = ask(target, 'hold on', {}, { poll_interval: 'PT0.1S' });
    await reached(() => target.tasks.size === 1);
    target.drop();
    await reached(
      () => target.requests.filter(({ path, method }) => /subscribe/i.test(path + method)).length > 0,
    );
    target.release();
    expect((await call).output).toMatch(/^before \n?and after$/);
    expect(target.messages).toHaveLength(1);
  },
);

test('a repeated call follows the known task, or sends the message again under the same id', async () => {
  const target = await remote();
  let kept: unknown = null;
  const keep = async (value: unknown): Promise<void> => void (kept = value);
  const lost = new AbortController();
  const first = ask(target, 'hold on', {
    signal: lost.signal,
    cancelRequested: async () => false,
    progress: { repeated: false, kept: null, keep },
  });
  await reached(() => kept !== null);
  lost.abort(new Error('the worker is gone'));
  await expect(first).rejects.toThrow('gone');
  const again = ask(target, 'hold on', { progress: { repeated: true, kept, keep } });
  await new Promise((resolve) => setTimeout(resolve, 200));
  target.release();
  expect((await again).output).toMatch(/before\s+and after/);
  expect(target.messages).toHaveLength(1);

  await ask(target, 'something else', {
    idempotencyKey: 'x',
    progress: { repeated: false, kept: null, keep },
  });
  await ask(target, 'something else', {
    idempotencyKey: 'x',
    progress: { repeated: true, kept: null, keep },
  });
  const [, firstMessage, secondMessage] = target.messages;
  expect(secondMessage === undefined || secondMessage.messageId === firstMessage?.messageId).toBe(true);
});

test('a request for a decision is answered as a decision, and its title is not evaluated', async () => {
  const target = await remote();
  const question = askOf(await ask(target, 'approve'));
  expect(question).toMatchObject({
    title: 'May I ${ .spend }?',
    decisions: [
      { id: 'yes', label: 'Yes' },
      { id: 'no', requires_comment: true },
    ],
    remote: { answer: { as: 'decision', request_id: 'r-1' } },
  });
  const reply = { remote: question.remote, decision: { decision: 'no', payload: null, comment: 'too much' } };
  expect((await ask(target, 'approve', { idempotencyKey: 'k:1', reply })).output).toEqual({
    type: 'hitl_request',
    id: 'r-1',
    decision: 'no',
    comment: 'too much',
  });
});

test('rejecting a question cancels the remote task', async () => {
  const target = await remote();
  const question = askOf(await ask(target, 'ask'));
  const reply = {
    remote: question.remote,
    decision: { decision: 'reject', payload: null, comment: 'no time' },
  };
  expect(await faultOf(ask(target, 'ask', { reply, idempotencyKey: 'k:1' }))).toMatchObject({
    kind: 'authorization',
    detail: expect.stringContaining('no time'),
  });
  expect(target.cancelled).toEqual([question.remote.task_id]);
});

test('files are sent as bytes or links, and received as references', async () => {
  const target = await remote();
  const stored: { bytes: string; name: string }[] = [];
  const files: CallFiles = {
    ...noFiles,
    store: async (bytes, { name, media_type }) => {
      stored.push({ bytes: Buffer.from(bytes as Uint8Array).toString(), name });
      return { file_id: `f${stored.length}`, name, media_type };
    },
    open: async (id) =>
      id === 'large'
        ? {
            name: 'film.mp4',
            media_type: 'video/mp4',
            size: 50_000_000,
            chunks: async () => Promise.reject(new Error('not by bytes')),
          }
        : null,
    link: async (id) => `https://cadenza.example/files/${id}?token=t`,
    read: async (id) =>
      id === 'mine' ? { bytes: Buffer.from('hello'), name: 'note.txt', media_type: 'text/plain' } : null,
  };
  const input = {
    text: 'see',
    data: { a: 1 },
    files: [
      { file_id: 'mine' },
      { url: 'https://files.example/y.pdf', name: 'y.pdf', media_type: 'application/pdf' },
    ],
    context_id: 'ctx-1',
  };
  expect((await ask(target, input, { files })).output).toMatchObject({
    context: 'ctx-1',
    parts: [
      { kind: 'text', value: 'see' },
      { kind: 'data', value: { a: 1 } },
      { kind: 'raw', value: 'hello', filename: 'note.txt', mediaType: 'text/plain' },
      { kind: 'url', value: 'https://files.example/y.pdf', filename: 'y.pdf', mediaType: 'application/pdf' },
    ],
  });
  expect((await ask(target, { text: '', files: [{ file_id: 'large' }] }, { files })).output).toMatchObject({
    parts: [
      {
        kind: 'url',
        value: 'https://cadenza.example/files/large?token=t',
        filename: 'film.mp4',
        mediaType: 'video/mp4',
      },
    ],
  });
  expect(await faultOf(ask(target, { files: [{ file_id: 'theirs' }] }, { files }))).toMatchObject({
    kind: 'validation',
  });
  expect((await ask(target, 'file', { files })).output).toEqual({
    text: 'see the file',
    files: [
      { file_id: 'f1', name: 'table.csv', media_type: 'text/csv' },
      { url: 'https://files.example/x.png', name: 'x.png', media_type: 'image/png' },
    ],
  });
  expect(stored).toEqual([{ bytes: 'a,b\n1,2\n', name: 'table.csv' }]);
});

test('an agent that takes text only gets JSON as text', async () => {
  const target = await remote({ inputModes: ['text/plain'] });
  expect((await ask(target, { city: 'Rome' })).output).toMatchObject({
    parts: [{ kind: 'text', value: '{"city":"Rome"}' }],
  });
});

test('an expired OAuth token is renewed once, and no secret comes back', async () => {
  let issued = 0;
  const tokens = opened(
    await startServer((_request, response) =>
      sendJson(response, { access_token: `token-number-${++issued}`, expires_in: 3600 }),
    ),
  );
  let valid = 'token-number-1';
  const target = await remote({ authorization: () => `Bearer ${valid}` });
  const agent = {
    ...agentAt(target.url),
    authentication_type: 'oauth',
    authentication_config: { token_url: tokens.url, client_id: 'me', client_secret: '<SECRET>' },
  };
  const egress = opened(createEgressPolicy({ allow: ['127.0.0.1'] }));
  const adapters = createAdapters({ egress });
  const call = (input: unknown, key: string) =>
    adapters.invoke({
      ...agentCall(agent, input, { secrets: { SECRET: 'a-long-secret' } }),
      idempotencyKey: key,
    });
  expect((await call('hello', 'a')).output).toMatchObject({ said: 'hello' });
  valid = 'token-number-2';
  expect((await call('echo token-number-2 back', 'b')).output).toMatchObject({ said: 'echo <TOKEN> back' });
  valid = 'none';
  expect(await faultOf(call('hello', 'c'))).toMatchObject({ kind: 'authentication', status: 401 });
});

test('a gRPC call carries tenant, headers and credentials, and refuses private addresses', async () => {
  let valid = 'Bearer open-sesame-1234';
  const target = await remote({ binding: 'GRPC', authorization: () => valid });
  const agent = {
    ...agentAt(target.url, { headers: { 'X-Trace': '${ .text }' }, extensions: ['urn:ours'] }),
    authentication_type: 'jwt',
    authentication_config: { token: '<SECRET>' },
  };
  const call = (key: string) =>
    invoke({
      ...agentCall(agent, { text: 'hello' }, { secrets: { SECRET: 'open-sesame-1234' } }),
      idempotencyKey: key,
    });
  expect((await call('a')).output).toMatchObject({ said: 'hello' });
  const sent = target.requests.find(({ method }) => method === 'sendStreamingMessage');
  expect(sent).toMatchObject({
    path: 'the-tenant',
    headers: { authorization: valid, 'a2a-version': '1.0', 'a2a-extensions': 'urn:ours', 'x-trace': 'hello' },
  });
  const card = (await (
    await fetch(`${target.url}/.well-known/agent-card.json`, { headers: { authorization: valid } })
  ).json()) as { supportedInterfaces: { url: string }[] };
  const url = card.supportedInterfaces[0]?.url ?? '';
  const elsewhere = async (change: object, egress = createEgressPolicy({ allow: ['127.0.0.1'] })) => {
    const cards = opened(
      await startServer((_request, response) =>
        sendJson(response, { ...card, supportedInterfaces: [{ ...card.supportedInterfaces[0], ...change }] }),
      ),
    );
    return faultOf(
      createAdapters({ egress: opened(egress) }).invoke(
        agentCall({ ...agent, url: cards.url }, { text: 'hi' }, { secrets: { SECRET: 'open-sesame-1234' } }),
      ),
    );
  };
  expect(await elsewhere({ url: '10.0.0.1:50051' })).toMatchObject({
    kind: 'authorization',
    detail: expect.stringContaining('a private address'),
  });
  expect(await elsewhere({ url: 'dns:///169.254.169.254:80' })).toMatchObject({ kind: 'authorization' });
  expect(await elsewhere({ url: 'evil@10.0.0.1' })).toMatchObject({ kind: 'configuration' });
  expect(await elsewhere({ protocolVersion: '0.3' })).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('GRPC 0.3'),
  });
  // TLS to a server without TLS.
  expect(await elsewhere({ url: `https://${url}` })).toMatchObject({ kind: 'communication', status: 503 });
  // The name is looked up once, so a later answer of DNS has no effect.
  let lookups = 0;
  const rebinding = createEgressPolicy({
    allow: ['127.0.0.1'],
    lookup: async () => [{ address: lookups++ === 0 ? '10.0.0.1' : '127.0.0.1', family: 4 }],
  });
  expect(await elsewhere({ url: url.replace('127.0.0.1', 'rebinding.example') }, rebinding)).toMatchObject({
    kind: 'authorization',
  });
  expect(lookups).toBe(1);
  valid = 'Bearer another';
  expect(await faultOf(call('b'))).toMatchObject({ kind: 'authentication', status: 401 });
});

test('the card is found at each usual place, and a missing card becomes a fault', async () => {
  const below = await remote({ cardPath: '/agents/one/.well-known/agent-card.json' });
  expect((await invoke(agentCall(agentAt(`${below.url}/agents/one/`), 'hi'))).output).toMatchObject({
    said: 'hi',
  });
  const former = await remote({ cardPath: '/.well-known/agent.json', version: '0.3' });
  expect((await invoke(agentCall(agentAt(former.url), 'hi'))).output).toMatchObject({ said: 'hi' });
  const endpoint = await remote();
  expect((await invoke(agentCall(agentAt(`${endpoint.url}/rpc`), 'hi'))).output).toMatchObject({
    said: 'hi',
  });
  expect(await faultOf(invoke(agentCall(agentAt(`${endpoint.url}/somebody-else`), 'hi')))).toMatchObject({
    kind: 'communication',
    status: 404,
  });
  expect(
    (
      await invoke(
        agentCall(
          agentAt('https://unused.example', { card_url: `${endpoint.url}/.well-known/agent-card.json` }),
          'hi',
        ),
      )
    ).output,
  ).toMatchObject({ said: 'hi' });
  expect(await faultOf(invoke(agentCall({ ...agentAt(''), url: null }, 'hi')))).toMatchObject({
    kind: 'configuration',
  });
  expect(
    await faultOf(invoke(agentCall(agentAt(endpoint.url, { binding: 'HTTP+JSON' }), 'hi'))),
  ).toMatchObject({ kind: 'configuration', detail: expect.stringContaining('JSONRPC 1.0') });
  const other = opened(await startServer((_request, response) => sendJson(response, { hello: 'world' })));
  expect(await faultOf(invoke(agentCall(agentAt(other.url), 'hi')))).toMatchObject({
    kind: 'communication',
    status: 502,
  });
});

test('a slow task is cancelled by its timeout, and an unreachable or private agent is a fault', async () => {
  const target = await remote();
  expect(await faultOf(ask(target, 'hold', { timeoutMs: 5_000 }))).toMatchObject({
    kind: 'timeout',
    status: 408,
  });
  expect(target.cancelled).toHaveLength(1);
  await target.close();
  expect(await faultOf(ask(target, 'hi'))).toMatchObject({ kind: 'communication', status: 503 });
  expect(await faultOf(invoke(agentCall(agentAt('http://10.0.0.1'), 'hi')))).toMatchObject({
    kind: 'authorization',
  });
});

test('a failure on our side is not reported as a fault of the agent', async () => {
  const target = await remote();
  const progress = {
    repeated: false,
    kept: null,
    keep: async () => Promise.reject(new Error('the database is away')),
  };
  await expect(ask(target, 'hello', { progress })).rejects.toThrow('the database is away');
  await expect(
    ask(target, 'file', {
      files: { ...noFiles, store: async () => Promise.reject(new Error('the disk is full')) },
    }),
  ).rejects.toThrow('the disk is full');
});
