/**
 * What dashboards and alerts name is in real answers of api and worker, with what has happened. Both export
 * traces.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';

import { registeredAgent } from '../support/agent-body.ts';
import { agentTask, humanTask } from '../support/definitions.ts';
import { sendJson, startServer } from '../support/http-server.ts';
import { ownPort } from '../support/machine.ts';
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { startScriptedModel } from '../support/scripted-model.ts';
import { createClient } from '../support/app.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';

const TOKEN = 'a token of at least thirty-two bytes'.replaceAll(' ', '-');
const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

let platform: TestPlatform;
let api: Program;
let worker: Program;
let workerMetrics: string;
let receiver: OtlpReceiver;

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  receiver = await startOtlpReceiver();
  const traces = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    TRACE_URL_TEMPLATE: 'https://traces.example.com/{trace_id}',
  };
  const address = `127.0.0.1:${await ownPort()}`;
  workerMetrics = `http://${address}/metrics`;
  [api, worker] = await Promise.all([
    startProgram('api', platform, { METRICS_TOKEN: TOKEN, ...traces }),
    startProgram('worker', platform, { WORKER_METRICS_ADDRESS: address, ...traces }),
  ]);
});
afterAll(async () => {
  await api?.kill();
  await worker?.kill();
  await platform.close();
  await receiver.close();
});

/** Of api and worker, after at least one request. */
async function scrape(): Promise<string> {
  const client = createClient(api.url);
  const { body } = await client.get('/metrics', { headers: { authorization: `Bearer ${TOKEN}` } });
  return `${body}\n${await (await fetch(workerMetrics)).text()}`;
}

const EXPRESSIONS = [
  ...(JSON.parse(read('docker/grafana/cadenza.json')) as { panels: { targets: { expr: string }[] }[] }).panels
    .flatMap(({ targets }) => targets)
    .map(({ expr }) => expr),
  ...(parse(read('docker/alerts.yml')) as { groups: { rules: { expr: string }[] }[] }).groups
    .flatMap(({ rules }) => rules)
    .map(({ expr }) => expr),
];
const NAMES = new Set(
  EXPRESSIONS.flatMap((expr) => expr.match(/\b(?:cadenza|temporal|nodejs|process)_\w+/g) ?? []),
);

test('runs, their durations and decisions of people are counted for their workflow', async () => {
  const builder = await platform.as('builder');
  const { id, workflow_id: workflow } = await startRun(builder, {
    do: [{ ask: { call: 'human', with: { title: 'Well?', candidates: { users: ['the-builder'] } } } }],
  });
  const { body: list } = await until(
    () => builder.get(`/hitl/tasks?run_id=${id}`),
    ({ body }) => body.length === 1,
  );
  const task = `/hitl/tasks/${list[0].id}`;
  expect((await builder.post(`${task}/claim`)).status).toBe(200);
  expect((await builder.post(`${task}/decision`, { decision: 'approve' })).status).toBe(200);
  await endOf(builder, { id });
  const error = { type: 'https://example.com/refused', status: 400 };
  const faulted = await startRun(builder, { do: [{ refuse: { raise: { error } } }] }, {}, 30);
  expect(faulted['status']).toBe('faulted');
  const text = await until(scrape, (answer) =>
    answer.includes(`{workflow="${faulted['workflow_id']}",change="faulted"} 1`),
  );
  for (const line of [
    `cadenza_workflow_runs_total{workflow="${workflow}",change="started"} 1`,
    `cadenza_workflow_runs_total{workflow="${workflow}",change="completed"} 1`,
    `cadenza_human_task_claim_seconds_bucket{workflow="${workflow}",le="60"} 1`,
    `cadenza_human_task_decide_seconds_bucket{workflow="${workflow}",le="+Inf"} 1`,
    `cadenza_human_task_decide_seconds_count{workflow="${workflow}"} 1`,
  ])
    expect(text.split('\n')).toContain(line);
  const ofWorkflow = text
    .split('\n')
    .filter((line) => line.startsWith('cadenza_workflow_run_duration_seconds') && line.includes(workflow));
  expect(ofWorkflow).toContain(
    `cadenza_workflow_run_duration_seconds_bucket{workflow="${workflow}",le="86400"} 1`,
  );
  expect(ofWorkflow).toContain(`cadenza_workflow_run_duration_seconds_count{workflow="${workflow}"} 1`);
  expect(ofWorkflow.some((line) => /_sum\{.*\} 0\.0*[1-9]|_sum\{.*\} [1-9]/.test(line))).toBe(true);
});

const CALLER = { trace: '4bf92f3577b34da6a3ce929d0e0e4736', id: '00f067aa0ba902b7' };
const DECIDER = { trace: '0af7651916cd43dd8448eb211c80319c', id: 'b7ad6b7169203331' };
const traceparentOf = ({ trace, id }: { trace: string; id: string }) => `00-${trace}-${id}-01`;

test('one trace leads from a request to the calls of agents, also over a killed worker', async () => {
  const builder = createClient(api.url, (await platform.user('builder')).token);
  let hold: ((value: void) => void) | null = null;
  const server = await startServer(async ({ path }, response) => {
    const isFirst = server.seen.filter((request) => request.path === path).length === 1;
    if (path === '/slow' && isFirst) return new Promise<void>((resolve) => (hold = resolve));
    if (path === '/shaky' && isFirst) return sendJson(response, { reason: 'an-unlucky-answer' }, 503);
    return sendJson(response, { fine: path });
  });
  const model = await startScriptedModel();
  try {
    await builder.put('/secrets/AGENT_KEY', { value: 'the-key-of-the-agent' });
    const key = { api_key: '<AGENT_KEY>', in: 'header', name: 'X-Key' };
    const ofServer = (name: string) => ({
      name,
      type: 'api',
      configuration: { endpoint: `${server.url}/${name}` },
      authentication_type: 'api_key',
      authentication_config: key,
    });
    await registeredAgent(builder, ofServer('slow'));
    const shaky = await registeredAgent(builder, ofServer('shaky'));
    await registeredAgent(builder, {
      name: 'clerk',
      type: 'llm',
      configuration: { base_url: `${model.url}/v1`, model: 'tiny', tools: [{ agent: 'shaky' }] },
    });
    model.script((_request, turn) =>
      turn === 1 ? { calls: [{ name: 'shaky', arguments: { input: 1 } }] } : { text: 'All is well' },
    );
    const part = await builder.post('/workflows', {
      name: 'part',
      definition: { do: [{ only: agentTask('slow') }] },
    });
    await registeredAgent(builder, {
      name: 'inner',
      type: 'workflow',
      configuration: { workflow_id: part.body.id },
    });
    const created = await builder.post('/workflows', {
      name: 'traced',
      definition: {
        do: [
          { wait: agentTask('slow', { input: { text: 'a-private-input' } }) },
          {
            again: {
              try: [{ call: agentTask('shaky') }],
              catch: { retry: { limit: { attempt: { count: 2 } } } },
            },
          },
          { think: agentTask('clerk', { input: 'Help me' }) },
          { below: agentTask('inner') },
          { ask: humanTask('Well?', { candidates: { users: ['the-builder'] } }) },
        ],
      },
    });
    const started = await builder.post(
      `/workflows/${created.body.id}/run`,
      { input_params: {} },
      { headers: { traceparent: traceparentOf(CALLER) } },
    );
    const { id } = started.body;
    expect(started.body).toMatchObject({
      trace_id: CALLER.trace,
      trace_url: `https://traces.example.com/${CALLER.trace}`,
    });

    await until(
      async () => server.seen.length,
      (count) => count > 0,
    );
    await worker.kill();
    await worker.start();
    const { body: list } = await until(
      () => builder.get(`/hitl/tasks?run_id=${id}`),
      ({ body }) => body.length === 1,
    );
    const decided = await builder.post(
      `/hitl/tasks/${list[0].id}/decision`,
      { decision: 'approve' },
      { headers: { traceparent: traceparentOf(DECIDER) } },
    );
    expect(decided.status).toBe(200);
    await endOf(builder, { id });

    const ofRun = (span: ReceivedSpan): boolean => span.attributes['cadenza.run.id'] === id;
    const named = (name: string): ReceivedSpan[] => receiver.spans.filter((span) => span.name === name);
    const ofCaller = () => named('POST /workflows/{id}/run').filter(({ trace }) => trace === CALLER.trace);
    const ofDecider = () =>
      named('POST /hitl/tasks/{id}/decision').filter(({ trace }) => trace === DECIDER.trace);
    // Of the worker and of the API, which export their spans by themselves.
    await until(
      async () => [named('run traced'), ofCaller(), ofDecider()].map(({ length }) => length),
      (counts) => counts.every((count) => count > 0),
    );
    const [run] = named('run traced');
    const [request] = ofCaller();
    expect(request).toMatchObject({
      parent: CALLER.id,
      kind: 2,
      resource: { 'service.name': 'cadenza-api' },
    });
    expect(request?.attributes).toMatchObject({
      'http.route': '/workflows/{id}/run',
      'http.response.status_code': 201,
    });
    expect(run).toMatchObject({ trace: CALLER.trace, parent: request?.id, failed: false });
    expect(run?.resource).toMatchObject({ 'service.name': 'cadenza-worker' });

    const calls = (await scrape())
      .split('\n')
      .filter((line) => line.startsWith('cadenza_agent_call_seconds_count'));
    expect(calls.filter((line) => line.includes(`agent="${shaky.id}"`) && line.endsWith(' 1'))).toHaveLength(
      1,
    );
    expect(calls.some((line) => line.includes(`agent="${shaky.id}"`) && line.includes('end="faulted"'))).toBe(
      true,
    );

    // The call of the killed worker was cut off; its repetition is in the same trace.
    const [task] = named('agent wait').filter(ofRun);
    expect(task).toMatchObject({ trace: CALLER.trace, parent: run?.id });
    const [call] = named('invoke_agent slow').filter(ofRun);
    expect(call).toMatchObject({ parent: task?.id, kind: 3 });
    expect(call?.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'slow',
      'cadenza.call.attempt': 2,
    });
    const slow = server.seen.filter(({ path }) => path === '/slow');
    const sent = slow.map(({ headers }) => String(headers['traceparent']));
    expect(sent.map((header) => header.split('-')[1])).toEqual(slow.map(() => CALLER.trace));
    const exchange = receiver.spans.find(({ parent, kind }) => parent === call?.id && kind === 3);
    expect(sent).toContain(traceparentOf({ trace: CALLER.trace, id: String(exchange?.id) }));

    // Each attempt of `retry` is a task, and a call, of its own, in the task that tries.
    const attempts = named('agent call').filter(ofRun);
    const [tries] = named('try again').filter(ofRun);
    expect(attempts.map((span) => [span.attributes['cadenza.task.attempt'], span.failed]).toSorted()).toEqual(
      [
        [1, true],
        [2, false],
      ],
    );
    expect(new Set(attempts.map(({ parent }) => parent))).toEqual(new Set([tries?.id]));
    const failedCall = named('invoke_agent shaky').filter(({ failed }) => failed);
    expect(failedCall.map((span) => span.attributes['error.type'])).toEqual(['communication']);

    // A model and its tool.
    const turns = named('chat tiny').filter(ofRun);
    expect(turns.filter((span) => span.attributes['gen_ai.usage.input_tokens'] === 11)).toHaveLength(2);
    expect(turns.at(-1)?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'tiny',
      'gen_ai.usage.output_tokens': 5,
    });
    expect(named('execute_tool shaky')[0]).toMatchObject({
      trace: CALLER.trace,
      attributes: { 'gen_ai.tool.name': 'shaky', 'gen_ai.agent.name': 'shaky' },
    });

    // A child run is below the task that started it.
    const [below] = named('agent below').filter(ofRun);
    expect(named('run part')[0]).toMatchObject({ trace: CALLER.trace, parent: below?.id });

    // A decision is in the trace of the person, and both are linked.
    const [person] = ofDecider();
    const [asked] = named('human ask').filter(ofRun);
    expect(asked?.links).toEqual([{ trace: DECIDER.trace, id: person?.id }]);
    expect(person).toMatchObject({ parent: DECIDER.id, links: [{ trace: CALLER.trace, id: run?.id }] });

    const exported = receiver.bytes();
    for (const hidden of ['the-key-of-the-agent', 'a-private-input', 'an-unlucky-answer', 'select '])
      expect([hidden, exported.includes(hidden)]).toEqual([hidden, false]);
  } finally {
    (hold as (() => void) | null)?.();
    await Promise.all([server.close(), model.close()]);
  }
});

test('events lead on to the runs that they start and wake, and webhooks name their trace', async () => {
  const builder = createClient(api.url, (await platform.user('builder')).token);
  const receivers = await startServer((_request, response) => sendJson(response, {}));
  const start = async (name: string, definition: object, headers: Record<string, string> = {}) => {
    const { body } = await builder.post('/workflows', { name, definition });
    return (await builder.post(`/workflows/${body.id}/run`, { input_params: {} }, { headers })).body.id;
  };
  try {
    const hook = await builder.post('/webhooks', { url: `${receivers.url}/hook`, types: ['*'] });
    expect(hook.status).toBe(201);
    const starts = { on: { any: [{ with: { type: 'traced.order' } }] } };
    const started = { name: 'by-event', definition: { schedule: starts, do: [{ a: { set: { x: 1 } } }] } };
    expect((await builder.post('/workflows', started)).status).toBe(201);
    const to = { one: { with: { type: 'traced.order' } } };
    const waits = await start('listener', { do: [{ hear: { listen: { to } } }] });
    await until(
      () => builder.get(`/runs/${waits}`),
      ({ body }) => body.status === 'waiting',
    );
    const order = { source: 'https://example.com/orders', type: 'traced.order' };
    const emits = await start(
      'emitter',
      { do: [{ tell: { emit: { event: { with: order } } } }] },
      { traceparent: traceparentOf(DECIDER), tracestate: 'vendor=1,other=2' },
    );
    const spanOf = (name: string, of: (span: ReceivedSpan) => boolean = () => true) =>
      until(
        async () => receiver.spans.find((span) => span.name === name && of(span)),
        (span) => span !== undefined,
      );
    const tell = await spanOf('emit tell', (span) => span.attributes['cadenza.run.id'] === emits);
    expect(tell).toMatchObject({ trace: DECIDER.trace, state: 'vendor=1,other=2' });
    expect(await spanOf('run by-event')).toMatchObject({
      trace: DECIDER.trace,
      parent: tell?.id,
      state: 'vendor=1,other=2',
    });
    expect((await spanOf('listen hear'))?.links).toEqual([{ trace: DECIDER.trace, id: tell?.id }]);
    const emitted = traceparentOf({ trace: DECIDER.trace, id: String(tell?.id) });
    const bodies = () => receivers.seen.map(({ body }) => JSON.parse(String(body)));
    const sent = await until(
      async () => bodies(),
      (events) =>
        events.some(({ type, source }) => type.includes('workflow.completed') && source.includes(emits)),
    );
    expect(sent.find(({ type }) => type === 'traced.order')).toMatchObject({
      traceparent: emitted,
      tracestate: 'vendor=1,other=2',
    });
    const ofTask = sent.filter(({ source, subject }) => source.includes(emits) && subject === '/do/0/tell');
    expect(ofTask.length).toBeGreaterThan(1);
    for (const event of ofTask) expect(event).toMatchObject({ traceparent: emitted });

    // What others send: the attributes of the event, or else the request. A state that is too long is left
    // out.
    const send = (id: string, more: object) =>
      builder.post(
        '/events',
        { specversion: '1.0', id, ...order, ...more },
        { headers: { 'content-type': 'application/cloudevents+json', traceparent: traceparentOf(CALLER) } },
      );
    const sender = { trace: 'a'.repeat(32), id: 'b'.repeat(16) };
    const attributes = { traceparent: traceparentOf(sender), tracestate: `v=${'x'.repeat(600)}` };
    expect((await send('with', attributes)).status).toBe(202);
    expect(await spanOf('run by-event', ({ trace }) => trace === sender.trace)).toMatchObject({
      parent: sender.id,
      state: '',
    });
    expect((await send('without', { traceparent: 'no trace' })).status).toBe(202);
    const last = await spanOf('run by-event', ({ trace }) => trace === CALLER.trace);
    expect(await spanOf('POST /events', ({ id }) => id === last?.parent)).toMatchObject({
      trace: CALLER.trace,
    });
  } finally {
    await receivers.close();
  }
});

test('every metric that a dashboard or an alert names is in an answer of api or worker', async () => {
  expect(NAMES.size).toBeGreaterThan(15);
  const missing = (answer: string): string[] =>
    [...NAMES].filter((name) => {
      const family = name.replace(/_(?:bucket|count|sum)$/, '');
      return !answer.includes(`# TYPE ${name} `) && !answer.includes(`# TYPE ${family} `);
    });
  expect(
    missing(await until(scrape, (answer) => missing(answer).length === 0, 30_000).catch(scrape)),
  ).toEqual([]);
});
