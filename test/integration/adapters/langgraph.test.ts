/** Agents of LangGraph: what its development server does is tested in test/engines, the rest by a script. */
import { expect, test } from '@jest/globals';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import type { RemoteAsk } from '../../../contracts/activities.ts';
import type { AgentCall, PartialSink } from '../../../domain/ports.ts';
import { agentCall, faultOf } from '../../support/agent-call.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { sendJson } from '../../support/http-server.ts';
import { startScriptedGraph, type ScriptedGraph } from '../../support/langgraph/scripted-server.ts';
import { until } from '../../support/platform.ts';

const opened = closedAfterEach();

const agentOf = (target: ScriptedGraph, more: Record<string, unknown> = {}) => ({
  type: 'api',
  execution_type: 'framework',
  configuration: { framework: 'langgraph', base_url: `${target.url}/`, assistant_id: 'graph', ...more },
});

function invoke(call: AgentCall) {
  const egress = opened(createEgressPolicy({ allow: ['127.0.0.1'] }));
  return createAdapters({ egress }).invoke(call);
}

const done = (values: unknown) => ({ values, next: [], tasks: [] });
const interrupted = (...interrupts: { id?: string; value: unknown }[]) => ({
  values: {},
  next: ['node'],
  tasks: [{ name: 'node', interrupts }],
});
const replyTo = (
  ask: RemoteAsk | undefined,
  decision: string,
  payload: unknown = null,
  comment: string | null = null,
): Pick<AgentCall, 'reply'> => {
  if (!ask) throw new Error('no question');
  return { reply: { remote: ask.remote, decision: { decision, payload, comment } } };
};

test('the state of the graph is the output, or the last text of a conversation', async () => {
  const messages = [
    { type: 'human', content: 'Hi' },
    { type: 'ai', content: [{ type: 'text', text: 'Hello' }] },
  ];
  const target = opened(await startScriptedGraph({ state: () => done({ n: 2, messages }) }));
  const secrets = { GRAPH_KEY: 'a-very-secret-key' };
  const agent = agentOf(target, {
    api_key: '<GRAPH_KEY>',
    config: { configurable: { place: '${ .place }' } },
  });
  expect(await invoke(agentCall(agent, { n: 1, place: 'here' }, { secrets }))).toMatchObject({
    output: { n: 2, messages },
  });
  expect(target.created[0]).toMatchObject({
    assistant_id: 'graph',
    input: { n: 1 },
    config: { configurable: { place: 'here' } },
    multitask_strategy: 'reject',
  });
  expect(target.seen.every(({ headers }) => headers['x-api-key'] === secrets.GRAPH_KEY)).toBe(true);
  expect(await invoke(agentCall(agentOf(target), 'Hi'))).toMatchObject({ output: 'Hello' });
  expect(target.created[1]?.['input']).toEqual({ messages: [{ role: 'user', content: 'Hi' }] });
  expect(await faultOf(invoke(agentCall(agentOf(target), [1])))).toMatchObject({ kind: 'validation' });
});

test('a repeat follows the run of the earlier attempt, whatever is known of it', async () => {
  const target = opened(await startScriptedGraph({ state: () => done({ n: 1 }) }));
  const kept: unknown[] = [];
  const keep = async (value: unknown): Promise<void> => void kept.push(value);
  const call = agentCall(agentOf(target), {});
  await invoke({ ...call, progress: { repeated: false, kept: null, keep } });
  await invoke({ ...call, progress: { repeated: true, kept: null, keep } });
  await invoke({ ...call, progress: { repeated: true, kept: kept[0], keep } });
  expect(kept).toEqual([{ run_id: expect.any(String) }, kept[0]]);
  expect(target.created).toHaveLength(1);
  // Its own thread is busy: the first request for a run has arrived after all.
  let refused = 0;
  const busy = opened(
    await startScriptedGraph({
      state: () => done({}),
      instead: (path, method, response) => {
        if (!path.endsWith('/runs') || method !== 'POST' || refused++ === 0) return false;
        sendJson(response, { detail: 'Thread is already running a task' }, 409);
        return true;
      },
    }),
  );
  await invoke(agentCall(agentOf(busy), {}));
  await invoke(agentCall(agentOf(busy), {}));
  expect([busy.created.length, refused]).toEqual([1, 2]);
});

test('words and progress are shown while the run goes on', async () => {
  const chunk = (type: string, content: unknown, id = 'm1') =>
    `event: messages\ndata: ${JSON.stringify([{ type, content, id }, {}])}\n\n`;
  const events =
    `event: custom\ndata: {"progress": "reading"}\n\n${chunk('human', 'Hi', 'm0')}` +
    `${chunk('AIMessageChunk', 'Hel')}${chunk('AIMessageChunk', [{ type: 'text', text: 'lo' }])}` +
    `${chunk('ai', 'Hello')}${chunk('ai', 'Bye', 'm2')}`;
  const target = opened(await startScriptedGraph({ state: () => done({}), events }));
  const shown: string[] = [];
  const partial: PartialSink = {
    redactBy: () => undefined,
    output: (text) => void shown.push(text),
    restart: () => void shown.push('restart'),
    progress: (text) => void shown.push(`[${text}]`),
  };
  await invoke({ ...agentCall(agentOf(target), {}), partial });
  expect(shown).toEqual(['[reading]', 'Hel', 'lo', '\n\nBye']);
});

test('an event that never ends is given up', async () => {
  let left = false;
  const target = opened(
    await startScriptedGraph({
      state: () => done({ n: 1 }),
      instead(path, _method, response) {
        if (!path.endsWith('/stream')) return false;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const lines = 'data: 1\r\n'.repeat(5_000);
        const write = (): void => void (response.write(lines) ? setImmediate(write) : undefined);
        response.on('drain', write).on('close', () => (left = true));
        write();
        return true;
      },
    }),
  );
  expect(await invoke(agentCall(agentOf(target), {}, { timeoutMs: 10_000 }))).toMatchObject({
    output: { n: 1 },
  });
  await until(
    async () => left,
    (gone) => gone,
  );
});

test('an interrupt asks a person, and the decision resumes the graph', async () => {
  const form = { type: 'object', properties: { colour: { type: 'string' } } };
  const action = { name: 'pay', args: { amount: 5 } };
  const review = {
    action_requests: [action],
    review_configs: [{ action_name: 'pay', allowed_decisions: ['approve', 'edit', 'reject'] }],
  };
  const cases: [
    unknown,
    object,
    Pick<AgentCall, 'reply'> | ((ask: RemoteAsk) => Pick<AgentCall, 'reply'>),
    unknown,
  ][] = [
    [
      'Which colour?',
      { title: 'Which colour?', description: null, decisions: [{ id: 'answer' }, { id: 'reject' }] },
      (ask) => replyTo(ask, 'answer', { text: 'red' }),
      'red',
    ],
    [
      { question: 'Which?', form },
      { title: 'Which?', form_schema: form, subject: { question: 'Which?', form } },
      (ask) => replyTo(ask, 'answer', { colour: 'red' }),
      { colour: 'red' },
    ],
    [
      review,
      {
        title: 'Review the call of pay',
        subject: [action],
        decisions: [{ id: 'approve' }, { id: 'edit' }, { id: 'reject' }],
      },
      (ask) => replyTo(ask, 'edit', { args: { amount: 4 } }),
      { decisions: [{ type: 'edit', edited_action: { name: 'pay', args: { amount: 4 } } }] },
    ],
    [
      review,
      {},
      (ask) => replyTo(ask, 'reject', null, 'too much'),
      { decisions: [{ type: 'reject', message: 'too much' }] },
    ],
  ];
  for (const [value, asked, reply, resume] of cases) {
    const state = (run: number) => (run === 0 ? interrupted({ id: 'i1', value }) : done({ run }));
    const target = opened(await startScriptedGraph({ state }));
    const call = agentCall(agentOf(target), {});
    const { ask } = await invoke(call);
    if (!ask) throw new Error('no question');
    expect(ask).toMatchObject(asked);
    const answered = {
      ...call,
      ...(typeof reply === 'function' ? reply(ask) : reply),
      idempotencyKey: 'round 1',
    };
    expect(await invoke(answered)).toMatchObject({ output: { run: 1 } });
    expect(target.created[1]?.['command']).toEqual({ resume: { i1: resume } });
  }
});

test('a question that is rejected, or answered elsewhere, is an error', async () => {
  let value: unknown = 'Go on?';
  const target = opened(await startScriptedGraph({ state: () => interrupted({ id: String(value), value }) }));
  const call = agentCall(agentOf(target), {});
  const { ask } = await invoke(call);
  expect(await faultOf(invoke({ ...call, ...replyTo(ask, 'reject', null, 'not today') }))).toMatchObject({
    kind: 'authorization',
    detail: 'The question of tester was not answered: not today',
  });
  value = 'Another?';
  expect(await faultOf(invoke({ ...call, ...replyTo(ask, 'answer', { text: 'yes' }) }))).toMatchObject({
    detail: 'tester does not wait for this answer any more',
  });
  expect(target.created).toHaveLength(1);
});

test('a graph that stops before a node goes on without an answer', async () => {
  const state = (run: number) => (run === 0 ? { values: {}, next: ['pay'], tasks: [] } : done({}));
  const target = opened(
    await startScriptedGraph({ state, status: (run) => (run === 0 ? 'interrupted' : 'success') }),
  );
  const call = agentCall(agentOf(target), {});
  const { ask } = await invoke(call);
  expect(ask).toMatchObject({ title: 'tester waits before pay' });
  await invoke({ ...call, ...replyTo(ask, 'continue'), idempotencyKey: 'round 1' });
  expect(target.created[1]).toMatchObject({ input: null });
  expect(target.created[1]?.['command']).toBeUndefined();
});

test('failures of the graph and of its server are errors without secrets', async () => {
  const secrets = { GRAPH_KEY: 'a-very-secret-key' };
  const failing = opened(
    await startScriptedGraph({
      state: () => done({}),
      status: () => 'error',
      events: `event: error\ndata: {"error": "ValueError", "message": "bad key a-very-secret-key"}\n\n`,
    }),
  );
  const agent = agentOf(failing, { api_key: '<GRAPH_KEY>' });
  expect(await faultOf(invoke(agentCall(agent, {}, { secrets })))).toEqual({
    kind: 'communication',
    status: 502,
    detail: 'The graph of tester failed: ValueError: bad key <GRAPH_KEY>',
  });
  const answering = async (status: number, body: unknown): Promise<unknown> => {
    const target = opened(
      await startScriptedGraph({
        state: () => done({}),
        instead: (_path, _method, response) => (sendJson(response, body, status), true),
      }),
    );
    return faultOf(invoke(agentCall(agentOf(target), {})));
  };
  expect(await answering(401, { detail: 'who?' })).toMatchObject({ kind: 'authentication' });
  expect(await answering(200, { run_id: '../../evil' })).toMatchObject({
    detail: expect.stringContaining('no UUID'),
  });
  expect(
    await faultOf(invoke(agentCall({ ...agent, configuration: { framework: 'langgraph' } }, {}))),
  ).toMatchObject({
    kind: 'configuration',
  });
});

test('cancelling a call, and its time limit, reach the run', async () => {
  const target = opened(await startScriptedGraph({ state: () => done({}), status: () => 'running' }));
  const cancel = new AbortController();
  const call = { ...agentCall(agentOf(target), {}, { signal: cancel.signal }) };
  const running = invoke({ ...call, cancelRequested: async () => true });
  running.catch(() => undefined);
  await until(
    async () => target.created.length,
    (count) => count === 1,
  );
  cancel.abort(new Error('cancelled by the test'));
  await expect(running).rejects.toThrow('cancelled by the test');
  expect(target.cancelled).toEqual([target.created[0]?.['run_id']]);
  const stops = new AbortController();
  const other = agentCall(agentOf(target), {}, { signal: stops.signal });
  const continued = invoke({ ...other, idempotencyKey: 'b', cancelRequested: async () => false });
  continued.catch(() => undefined);
  await until(
    async () => target.created.length,
    (count) => count === 2,
  );
  stops.abort(new Error('the worker stops'));
  await expect(continued).rejects.toThrow('the worker stops');
  expect(target.cancelled).toHaveLength(1);
  const late = { ...agentCall(agentOf(target, { timeout: 3_000 }), {}), idempotencyKey: 'c' };
  expect(await faultOf(invoke(late))).toMatchObject({ kind: 'timeout' });
  expect(target.cancelled).toHaveLength(2);
});

test('the thread is removed once the outcome is stored, unless an answer or its owner needs it', async () => {
  const removed = (target: ScriptedGraph) => target.seen.filter(({ method }) => method === 'DELETE').length;
  const ended = async (state: unknown, more: Record<string, unknown> = {}) => {
    const target = opened(await startScriptedGraph({ state: () => state as never }));
    let work: (() => Promise<void>) | undefined;
    const call = {
      ...agentCall(agentOf(target, more), {}),
      cleanUp: (given: () => Promise<void>) => (work = given),
    };
    await invoke(call).catch(() => undefined);
    const before = removed(target);
    await work?.();
    return [before, removed(target)];
  };
  expect(await ended(done({ n: 1 }))).toEqual([0, 1]);
  expect(await ended(done({ n: 1 }), { keep_threads: true })).toEqual([0, 0]);
  expect(await ended(interrupted({ id: 'i', value: 'Go on?' }))).toEqual([0, 0]);
});
