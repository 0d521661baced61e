/** A2A end to end: real API, real worker, two copies of the API on one database. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { createLocalJWKSet, jwtVerify, type JWK } from 'jose';
import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startRemoteAgent } from '../../support/a2a-agent.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { openStream, type SseReader } from '../../support/sse-client.ts';
import { startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { workflowAgent } from '../../support/workflow-agent.ts';
import { humanTask } from '../../support/definitions.ts';
import { keepIdle } from '../../support/http-server.ts';

let platform: TestPlatform;
let copy: TestApp;
let builder: Client;
let token: string;
let plain: string;
let human: string;
let echo: string;

const V1 = { 'A2A-Version': '1.0' };
let counter = 0;
const messageId = (): string => `m-${process.pid}-${++counter}`;

beforeAll(async () => {
  platform = await startTestPlatform({
    lookup: async (name) =>
      name === 'inside.example' ? [{ address: '169.254.169.254', family: 4 }] : lookup(name, { all: true }),
  });
  copy = await startTestApp({
    databaseUrl: platform.databaseUrl,
    temporal: platform.app.deps.temporal,
    env: { BASE_URL: platform.url },
  });
  builder = await platform.as('builder');
  token = (await platform.user('builder')).token;
  plain = await agentOf({ do: [{ answer: { set: { text: '${ "Hello " + .text }' } } }] });
  human = await agentOf({
    do: [
      { review: humanTask('Approve it?', { subject: { amount: 7 } }) },
      { done: { set: { text: '${ .decision }' } } },
    ],
  });
  echo = await agentOf(
    { do: [{ back: { set: { files: '${ .files }' } } }] },
    { modalities: ['text', 'file'] },
  );
});
afterAll(async () => {
  await copy.close();
  await platform.close();
});

/** Registers a workflow agent. @returns the path of its A2A endpoint. */
const agentOf = async (definition: unknown, more?: Record<string, unknown>): Promise<string> =>
  `/api/v1/a2a/${await workflowAgent(builder, definition, more)}`;

const rpc = async (
  base: string,
  method: string,
  params: unknown,
  client: Client = builder,
  headers: Record<string, string> = V1,
) => (await client.post(base, { jsonrpc: '2.0', id: 1, method, params }, { headers })).body;
const message = (more: Record<string, unknown> = {}) => ({
  messageId: messageId(),
  role: 'ROLE_USER',
  parts: [{ text: 'Ada' }],
  ...more,
});
const send = (base: string, more: Record<string, unknown> = {}, configuration?: unknown) =>
  rpc(base, 'SendMessage', { message: message(more), configuration });
const get = async (base: string, id: string) => (await rpc(base, 'GetTask', { id })).result;

interface Event {
  id: string;
  data: any;
}

/** Reads a stream to its end. */
async function stream(
  url: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Event[]> {
  const response = await fetch(url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...V1, ...headers },
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const events: Event[] = [];
  let text = '';
  for await (const chunk of response.body!.pipeThrough(
    new TextDecoderStream() as any,
  ) as any as AsyncIterable<string>) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined)
        events.push({ id: /^id: (.*)$/m.exec(block)?.[1] ?? '', data: JSON.parse(data) });
    }
  }
  return events;
}
const states = (events: Event[]) => events.flatMap(({ data }) => data.statusUpdate?.status.state ?? []);

describe('the version of a request', () => {
  const legacy = {
    message: { kind: 'message', messageId: 'x', role: 'user', parts: [{ kind: 'text', text: 'Ada' }] },
    configuration: { blocking: true },
  };

  test('is named in the error if a 1.0 method comes without the header', async () => {
    const { error } = await rpc(plain, 'SendMessage', { message: message() }, builder, {});
    expect(error).toMatchObject({ code: -32601, message: expect.stringContaining('A2A-Version: 1.0') });
  });

  test('0.3 makes empty parts, a negative historyLength and missing fields errors', async () => {
    for (const params of [
      { message: { ...legacy.message, parts: [] } },
      { message: { ...legacy.message, messageId: undefined } },
      {},
      { ...legacy, configuration: { historyLength: -1 } },
    ]) {
      expect((await rpc(plain, 'message/send', params, builder, {})).error.code).toBe(-32602);
    }
  });
});

describe('access to agents and tasks', () => {
  test('hides private agents from other users, and everything from anonymous callers', async () => {
    const stranger = await platform.as(await platform.createUser({ roles: ['builder'] }));
    const hidden = await stranger.post(
      plain,
      { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } },
      { headers: V1 },
    );
    expect([hidden.status, hidden.body.error.code]).toEqual([404, -32000]);
    expect((await platform.anonymous.post(plain, {}, { headers: V1 })).status).toBe(401);
  });

  test('answers an undeclared capability with the error of the protocol', async () => {
    const minimal = await agentOf(
      { do: [{ a: { set: { text: 'x' } } }] },
      { capabilities_streaming: false, capabilities_push: false },
    );
    expect((await rpc(minimal, 'SendStreamingMessage', { message: message() })).error.code).toBe(-32004);
    const { id } = (await send(minimal)).result.task;
    expect(
      (await rpc(minimal, 'CreateTaskPushNotificationConfig', { taskId: id, url: 'https://example.com' }))
        .error.code,
    ).toBe(-32003);
    const strict = await agentOf(
      { do: [{ a: { set: { text: 'x' } } }] },
      { configuration: { a2a: { extensions: [{ uri: 'urn:x', required: true }] } } },
    );
    expect((await send(strict)).error.code).toBe(-32008);
  });
});

describe('content', () => {
  test('is checked for acceptable media types before a task exists', async () => {
    expect((await send(plain, { parts: [{ raw: 'eA==', mediaType: 'image/png' }] })).error.code).toBe(-32005);
    expect(
      (
        await rpc(plain, 'SendMessage', {
          message: message(),
          configuration: { acceptedOutputModes: ['image/png'] },
        })
      ).error.code,
    ).toBe(-32005);
    const { result } = await rpc(plain, 'SendMessage', {
      message: message(),
      configuration: { acceptedOutputModes: ['application/json'] },
    });
    expect(result.task.artifacts[0].parts).toEqual([
      { data: { text: 'Hello Ada' }, mediaType: 'application/json' },
    ]);
  });

  const bytes = Buffer.alloc(5 * 1024 * 1024, 'x');
  const raw = bytes.toString('base64');
  const file = { mediaType: 'application/octet-stream', filename: 'big.bin' };
  const legacyPart = {
    kind: 'file',
    file: { bytes: raw, mimeType: 'application/octet-stream', name: 'big.bin' },
  };
  test.each([
    [
      'JSON-RPC 1.0',
      '',
      V1,
      () => ({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: message({ parts: [{ raw, ...file }] }) },
      }),
      (body: any) => body.result.task.artifacts[0].parts[0],
    ],
    [
      'REST 1.0',
      '/message:send',
      V1,
      () => ({ message: message({ parts: [{ raw, ...file }] }) }),
      (body: any) => body.task.artifacts[0].parts[0],
    ],
    [
      'JSON-RPC 0.3',
      '',
      {},
      () => ({
        jsonrpc: '2.0',
        id: 1,
        method: 'message/send',
        params: { message: { ...message({ parts: [legacyPart] }), kind: 'message', role: 'user' } },
      }),
      (body: any) => body.result.artifacts[0].parts[0].file,
    ],
    [
      'REST 0.3, JSON',
      '/v1/message:send',
      {},
      () => ({ message: { ...message({ parts: [legacyPart] }), kind: 'message', role: 'user' } }),
      (body: any) => body.artifacts[0].parts[0].file,
    ],
    [
      'REST 0.3, ProtoJSON',
      '/v1/message:send',
      {},
      () => ({
        message: {
          messageId: messageId(),
          role: 'ROLE_USER',
          content: [{ file: { fileWithBytes: raw, mimeType: 'application/octet-stream', name: 'big.bin' } }],
        },
      }),
      (body: any) => body.task.artifacts[0].parts[0].file,
    ],
  ])('of 5 MB goes in as a file and comes back as a link: %s', async (_, path, headers, body, partOf) => {
    const answer = await builder.post(echo + path, body(), { headers: headers as Record<string, string> });
    const part = partOf(answer.body);
    expect([part.filename ?? part.name, part.mediaType ?? part.mimeType]).toEqual([
      'big.bin',
      'application/octet-stream',
    ]);
    const back = Buffer.from(await (await fetch(part.url ?? part.uri ?? part.fileWithUri)).arrayBuffer());
    expect(back.equals(bytes)).toBe(true);
  });
});

describe('a task', () => {
  test('is found again by its messageId, also by concurrent requests', async () => {
    const same = message();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => rpc(plain, 'SendMessage', { message: same })),
    );
    expect(new Set(answers.map(({ result }) => result.task.id)).size).toBe(1);
    expect((await rpc(plain, 'SendMessage', { message: same })).result.task.id).toBe(
      answers[0].result.task.id,
    );
    const { totalSize } = (await rpc(plain, 'ListTasks', { contextId: answers[0].result.task.contextId }))
      .result;
    expect(totalSize).toBe(1);
  });

  test('is created once by 200 sends of one messageId to two copies', async () => {
    const same = message();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: same } });
    const sends = Array.from({ length: 200 }, async (_, n): Promise<any> =>
      (
        await fetch((n % 2 === 0 ? platform : copy).url + plain, {
          method: 'POST',
          body,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...V1 },
        })
      ).json(),
    );
    const answers = await Promise.all(sends);
    expect(new Set(answers.map(({ result, error }) => result?.task.id ?? error))).toEqual(
      new Set([answers[0].result.task.id]),
    );
    expect(answers.every(({ result }) => result.task.status.state === 'TASK_STATE_COMPLETED')).toBe(true);
  });

  test.each(['disabled', 'logged out', 'no builder any more'])(
    'does not stream any longer to a caller who is %s',
    async (what) => {
      const waiting = await agentOf({ do: [{ review: humanTask('Go on?') }] }, { visibility: 'public' });
      const user = await platform.createUser({ roles: ['builder'] });
      const client = await platform.as(user);
      const admin = await platform.as('admin');
      const { task } = (await rpc(waiting, 'SendMessage', { message: message() }, client)).result;
      const reader = await openStream(`${platform.url}${waiting}/tasks/${task.id}:subscribe`, {
        headers: { authorization: `Bearer ${user.token}`, ...V1 },
      });
      await until(
        async () => reader.events.length,
        (count) => count > 0,
      );
      const done =
        what === 'logged out'
          ? await client.post('/auth/revoke', { token: user.token })
          : await admin.patch(
              `/users/${user.id}`,
              what === 'disabled' ? { status: 'disabled' } : { roles: ['viewer'] },
            );
      expect(done.status).toBe(200);
      await rpc(waiting, 'CancelTask', { id: task.id }, admin);
      await reader.ended;
      expect(reader.events.at(-1)?.data).toMatchObject({ error: { code: 401 } });
      expect(JSON.stringify(reader.events)).not.toContain('CANCELED');
    },
  );

  test('is finished by an agent that was switched off, which accepts no new one', async () => {
    const waiting = await agentOf({ do: [{ review: humanTask('Go on?') }] });
    const mine = (await send(waiting)).result.task;
    expect(
      (await builder.patch(`/agents/${waiting.split('/').at(-1) ?? ''}`, { status: 'inactive' })).status,
    ).toBe(200);
    expect((await send(waiting)).error.code).toBe(-32004);
    expect(
      (await send(waiting, { taskId: mine.id, parts: [{ text: 'yes' }] })).result.task.status.state,
    ).toBe('TASK_STATE_COMPLETED');
  });

  test('streams the same events on two copies, resumes, and can be cancelled from either', async () => {
    const slow = await agentOf({ do: [{ a: { set: { x: 1 } } }, { wait: { wait: { minutes: 10 } } }] });
    const { id } = (await send(slow, {}, { returnImmediately: true })).result.task;
    await until(
      () => get(slow, id),
      ({ status }) => status.state === 'TASK_STATE_WORKING',
    );
    const follow = (url: string) =>
      openStream(`${url}${slow}/tasks/${id}:subscribe`, {
        method: 'POST',
        body: '{}',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...V1 },
      });
    const readers = await Promise.all([platform.url, copy.url, platform.url].map(follow));
    await until(
      async () => readers.map(({ events }) => events.length),
      (counts) => counts.every((count) => count > 0),
    );
    const [first, second, third] = readers as [SseReader, SseReader, SseReader];
    third.drop();
    const dropped = third.events[0];
    const cancelled: any = await (
      await fetch(`${copy.url}${slow}/tasks/${id}:cancel`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, ...V1 },
      })
    ).json();
    expect(cancelled.status.state).toBe('TASK_STATE_CANCELED');
    await Promise.all([first.ended, second.ended]);
    const [fromFirst, fromSecond] = [first.events, second.events];
    expect(states(fromFirst).at(-1)).toBe('TASK_STATE_CANCELED');
    // Each stream begins with the task at its own time. After the later start both are the same.
    const from = Math.max(Number(fromFirst[0]!.id), Number(fromSecond[0]!.id));
    const afterBothStarted = (events: Event[]) => events.slice(1).filter((event) => Number(event.id) > from);
    expect(afterBothStarted(fromFirst).length).toBeGreaterThan(0);
    expect(afterBothStarted(fromFirst)).toEqual(afterBothStarted(fromSecond));

    const missed = await stream(
      copy.url,
      `${slow}/tasks/${id}:subscribe`,
      {},
      { 'last-event-id': dropped!.id },
    );
    const known = new Set([...fromFirst.slice(1), ...fromSecond.slice(1)].map((event) => event.id));
    expect(missed.map((event) => event.id)).toEqual(
      [...new Set([...known, ...missed.map((event) => event.id)])]
        .filter((seq) => Number(seq) > Number(dropped!.id))
        .toSorted((a, b) => Number(a) - Number(b)),
    );
    expect((await rpc(slow, 'CancelTask', { id })).error.code).toBe(-32002);
    expect((await rpc(slow, 'SubscribeToTask', { id })).error.code).toBe(-32004);
  });

  test('is listed by filters and pages', async () => {
    const contextId = `ctx-${messageId()}`;
    for (let n = 0; n < 3; n++) await send(plain, { contextId });
    const first = (await rpc(plain, 'ListTasks', { contextId, pageSize: 2, status: 'TASK_STATE_COMPLETED' }))
      .result;
    expect([first.tasks.length, first.totalSize, first.tasks[0].artifacts]).toEqual([2, 3, undefined]);
    const second = (
      await rpc(plain, 'ListTasks', {
        contextId,
        pageSize: 2,
        pageToken: first.nextPageToken,
        includeArtifacts: true,
      })
    ).result;
    expect([second.tasks.length, second.nextPageToken, second.tasks[0].artifacts.length]).toEqual([1, '', 1]);
    expect((await rpc(plain, 'ListTasks', { contextId, status: 'TASK_STATE_FAILED' })).result.totalSize).toBe(
      0,
    );
  });
});

describe('a human task', () => {
  const question = (task: any) => task.status.message.parts.find((part: any) => part.data)?.data;

  test('asks with form and decisions, refuses an invalid answer, and resumes by a valid one', async () => {
    const { task } = (await send(human)).result;
    expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(task.status.message.metadata).toEqual({ answerable: true });
    expect(question(task)).toMatchObject({
      type: 'hitl_request',
      decisions: [{ id: 'approve' }, { id: 'reject' }],
      form_schema: null,
      subject: { amount: 7 },
    });
    expect((await send(human, { taskId: task.id, parts: [{ text: 'perhaps' }] })).error.code).toBe(-32602);
    expect((await send(human, { taskId: task.id, contextId: 'another' })).error.code).toBe(-32602);
    const { task: done } = (
      await send(human, { taskId: task.id, parts: [{ data: { decision: 'approve' } }] })
    ).result;
    expect([done.id, done.status.state, done.artifacts[0].parts[0].text]).toEqual([
      task.id,
      'TASK_STATE_COMPLETED',
      'approve',
    ]);
    expect((await send(human, { taskId: task.id })).error.code).toBe(-32004);
    expect(done.history.map((entry: any) => entry.role)).toEqual(['ROLE_USER', 'ROLE_AGENT', 'ROLE_USER']);
    const lengths = [];
    for (const historyLength of [0, 1, 2, 9])
      lengths.push(
        ((await rpc(human, 'GetTask', { id: task.id, historyLength })).result.history ?? []).map(
          (entry: any) => entry.role,
        ),
      );
    expect(lengths).toEqual([
      [],
      ['ROLE_USER'],
      ['ROLE_AGENT', 'ROLE_USER'],
      ['ROLE_USER', 'ROLE_AGENT', 'ROLE_USER'],
    ]);
  });

  test('takes a decision as words and by the extension', async () => {
    const { task } = (await send(human)).result;
    expect((await send(human, { taskId: task.id, parts: [{ text: 'Yes!' }] })).result.task.status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
    const uri = 'https://kagent.dev/extensions/hitl/v1';
    const headers = { ...V1, 'A2A-Extensions': uri };
    const question = (await rpc(human, 'SendMessage', { message: message() }, builder, headers)).result.task;
    expect(question.status.message.extensions).toEqual([uri]);
    const [tool] = question.status.message.metadata[uri].tools;
    const reply = {
      taskId: question.id,
      parts: [{ text: 'no' }],
      extensions: [uri],
      metadata: {
        [uri]: {
          type: 'tool_approval_response',
          approvals: [{ id: tool.id, approved: false, rejection_reason: 'too dear' }],
        },
      },
    };
    const { task: done } = (await rpc(human, 'SendMessage', { message: message(reply) }, builder, headers))
      .result;
    expect(done.artifacts[0].parts[0].text).toBe('reject');
  });

  test('that is answered by REST shows in the stream before and after', async () => {
    const { task } = (await send(human)).result;
    const reader = await openStream(`${copy.url}${human}/tasks/${task.id}:subscribe`, {
      method: 'POST',
      body: '{}',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...V1 },
    });
    await until(
      async () => reader.events.length,
      (count) => count > 0,
    );
    const decided = await builder.post(`/hitl/tasks/${question(task).id}/decision`, { decision: 'approve' });
    expect(decided.status).toBe(200);
    await reader.ended;
    const seen = reader.events;
    expect(seen[0]!.data.task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(states(seen).at(-1)).toBe('TASK_STATE_COMPLETED');
  });

  test('for the credential of a remote agent is AUTH_REQUIRED until somebody confirms it', async () => {
    const remote = await startRemoteAgent();
    try {
      const created = await builder.post('/agents', {
        name: 'Elsewhere',
        type: 'a2a',
        version: '1.0.0',
        visibility: 'private',
        url: remote.url,
        capabilities_streaming: true,
        capabilities_push: true,
      });
      const base = `/api/v1/a2a/${created.body.id}`;
      const { task } = (await send(base, { parts: [{ text: 'auth' }] })).result;
      expect(task.status).toMatchObject({
        state: 'TASK_STATE_AUTH_REQUIRED',
        message: {
          parts: [
            { text: expect.stringContaining('log in at example.org') },
            { data: { subject: { type: 'credential_request' } } },
          ],
        },
      });
      expect(
        (await rpc(base, 'ListTasks', { status: 'TASK_STATE_AUTH_REQUIRED' })).result.tasks,
      ).toMatchObject([{ id: task.id }]);
      remote.release();
      const { task: done } = (await send(base, { taskId: task.id, parts: [{ text: 'continue' }] })).result;
      expect(done).toMatchObject({
        id: task.id,
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ parts: [{ text: 'what only you may see' }] }],
      });
      const seen = await stream(copy.url, `${base}/tasks/${task.id}:subscribe`, {}, { 'last-event-id': '0' });
      expect(states(seen).filter((state) => !state.endsWith('WORKING'))).toEqual([
        'TASK_STATE_AUTH_REQUIRED',
        'TASK_STATE_COMPLETED',
      ]);
      expect(remote.messages).toHaveLength(1);
    } finally {
      await remote.close();
    }
  });

  test('refuses an answer from anybody but a candidate, with the reason', async () => {
    const others = await agentOf({
      do: [{ review: humanTask('Boss?', { candidates: { groups: ['bosses'] } }) }],
    });
    const { task } = (await send(others)).result;
    expect(task.status.message.metadata.answerable).toBe(false);
    expect((await send(others, { taskId: task.id, parts: [{ text: 'yes' }] })).error.code).toBe(-32004);
  });
});

describe('cards and push notifications', () => {
  test('are signed with a key of the JWKS, and fit both versions if none is asked for', async () => {
    const card = await builder.get(`${plain}/.well-known/agent-card.json`, { headers: V1 });
    expect(card.headers.get('vary')).toContain('A2A-Version');
    expect(
      (
        await builder.get(`${plain}/.well-known/agent-card.json`, {
          headers: { ...V1, 'if-none-match': card.headers.get('etag') ?? '' },
        })
      ).status,
    ).toBe(304);
    const { keys } = (await platform.anonymous.get('/.well-known/jwks.json')).body as { keys: JWK[] };
    const verify = verifyAgentCardSignature(async (kid) => keys.find((key) => key.kid === kid)!);
    await verify(AgentCard.fromJSON(card.body));
    const union = (await builder.get(`${plain}/.well-known/agent.json`)).body;
    expect(union).toMatchObject({
      protocolVersion: '0.3.0',
      preferredTransport: 'JSONRPC',
      supportedInterfaces: expect.any(Array),
      securitySchemes: { bearer: { type: 'http' } },
    });
    expect(union).not.toHaveProperty('authentication');
  });

  test('never go to a private address, literal or by name, and the log tells why', async () => {
    expect(
      (
        await send(
          plain,
          {},
          { taskPushNotificationConfig: { id: 'inside', url: 'https://169.254.169.254/latest' } },
        )
      ).error,
    ).toMatchObject({ code: -32602, message: expect.stringContaining('EGRESS_ALLOW') });
    const { task } = (
      await send(
        plain,
        {},
        { taskPushNotificationConfig: { id: 'inside', url: 'https://inside.example/latest' } },
      )
    ).result;
    const log = await until(
      async () => (await builder.get(`${plain}/tasks/${task.id}/deliveries`)).body,
      ([config]) => config.deliveries.some((delivery: any) => delivery.error !== null),
    );
    // An attempt is counted when it begins, and logged when it has failed.
    expect(log[0].deliveries.find((delivery: any) => delivery.error !== null)).toMatchObject({
      response_status: null,
      error: expect.stringContaining('not allowed'),
      status: 'pending',
    });
  });

  test('are dropped with a deleted agent', async () => {
    const base = await agentOf({ do: [{ a: { set: { text: 'x' } } }] });
    // No server listens at this address.
    const { task } = (
      await send(
        base,
        {},
        { taskPushNotificationConfig: { id: 'away', url: 'http://127.0.0.1:1/', token: 'opaque' } },
      )
    ).result;
    const targets = () =>
      platform.orm.em.fork().execute('select id from delivery_target where run_id = ?', [task.id]);
    expect(await targets()).toHaveLength(1);
    expect((await builder.delete(`/agents/${base.split('/').at(-1) ?? ''}`)).status).toBe(204);
    expect(await targets()).toEqual([]);
  });

  test('are refused with a token that no header can have', async () => {
    const config = { id: 'torn', url: 'https://example.com/hook', token: 'a\r\nHost: b' };
    const { error } = await send(plain, {}, { taskPushNotificationConfig: config });
    expect(JSON.stringify(error)).toContain('invalid_header');
  });

  test('arrive in order, signed, and are logged', async () => {
    const got: { headers: any; body: string }[] = [];
    const receiver = createServer(keepIdle, (request, response) => {
      let body = '';
      request
        .on('data', (chunk) => (body += chunk))
        .on('end', () => {
          got.push({ headers: request.headers, body });
          response.end();
        });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
      const { task } = (
        await send(plain, {}, { taskPushNotificationConfig: { id: 'mine', url, token: 'opaque' } })
      ).result;
      await until(
        async () => got.length,
        () => got.some(({ body }) => body.includes('TASK_STATE_COMPLETED')),
      );
      expect(
        got
          .map(({ body }) => JSON.parse(body))
          .map((update) => Object.keys(update)[0])
          .slice(-2),
      ).toEqual(['artifactUpdate', 'statusUpdate']);
      const last = got.at(-1)!;
      expect(last.headers).toMatchObject({
        'content-type': 'application/a2a+json',
        'x-a2a-notification-token': 'opaque',
      });
      const { payload } = await jwtVerify(
        String(last.headers.authorization).slice('Bearer '.length),
        createLocalJWKSet((await platform.anonymous.get('/.well-known/jwks.json')).body),
        { audience: url },
      );
      expect(payload['body_sha256']).toBe(createHash('sha256').update(last.body).digest('hex'));
      expect(payload.exp! - payload.iat!).toBeLessThanOrEqual(300);
      const log = (await builder.get(`${plain}/tasks/${task.id}/deliveries`)).body;
      expect(log[0]).toMatchObject({ config_id: 'mine', active: true });
      const shown = await platform.orm.em
        .fork()
        .execute('select token_encrypted from a2a_push_config where id = ?', ['mine']);
      expect(JSON.stringify(shown)).not.toContain('opaque');
    } finally {
      receiver.close();
    }
  });
});
