/**
 * Runs of every shape that has landed. A new task kind, or a change of the interpreter's commands, adds one.
 */
import type { Client as TemporalClient } from '@temporalio/client';
import { SCHEDULED_START_WORKFLOW } from '../../contracts/temporal.ts';
import { startRemoteAgent } from '../support/a2a-agent.ts';
import { agentBody } from '../support/agent-body.ts';
import { IMAGE } from '../support/container-engine.ts';
import { startShop } from '../support/grpc-server.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import { startMcpServer } from '../support/mcp-server.ts';
import { startScriptedModel } from '../support/scripted-model.ts';
import { startRun, until, type RunRecord, type TestPlatform } from '../support/platform.ts';
import { agentTask, humanTask } from '../support/definitions.ts';

interface Stage {
  platform: TestPlatform;
  counterpart: TestServer;
  temporal: TemporalClient['workflow'];
}
/** By part of the name: the runs whose histories are kept. '' is the scenario itself. */
type Scenario = (stage: Stage) => Promise<Record<string, RunRecord>>;

/**
 * `/ok`; `/missing`, 404; `/slow`, 5 s; `/busy`, 503 for the first two requests; `/once`, 500 for the first,
 * after a while.
 */
export async function startCounterpart(): Promise<TestServer> {
  let busy = 2;
  let once = true;
  return startServer(async (request, response) => {
    if (request.path === '/slow') await new Promise((resolve) => setTimeout(resolve, 5_000));
    if (request.path === '/busy' && busy-- > 0) return sendJson(response, { error: 'busy' }, 503);
    if (request.path === '/once' && once) {
      once = false;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return sendJson(response, { error: 'not yet' }, 500);
    }
    if (request.path === '/missing') return sendJson(response, { error: 'missing' }, 404);
    if (request.path === '/openapi')
      return sendJson(response, { openapi: '3.0.0', paths: { '/ok': { get: { operationId: 'ok' } } } });
    if (request.path === '/events' && request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const n of [1, 2, 3]) response.write(`data: {"n": ${n}}\n\n`);
      return;
    }
    if (request.path === '/asyncapi') {
      const servers = { main: { host: request.headers.host, protocol: 'http' } };
      const channels = { events: { address: 'events' }, told: { address: 'ok' } };
      return sendJson(response, { asyncapi: '3.0.0', servers, channels });
    }
    sendJson(response, { ok: true });
  });
}

const ended = async ({ platform }: Stage, run: RunRecord): Promise<RunRecord> => {
  const builder = await platform.as('builder');
  return until(
    async () => (await builder.get(`/runs/${run['id']}`)).body,
    ({ status }) => ['completed', 'faulted', 'cancelled'].includes(status),
  );
};
const started = async (
  { platform }: Stage,
  definition: unknown,
  input: Record<string, unknown> = {},
): Promise<RunRecord> => startRun(await platform.as('builder'), definition, input);
const toEnd = async (
  stage: Stage,
  definition: unknown,
  status = 'completed',
  input: Record<string, unknown> = {},
): Promise<RunRecord> => {
  const run = await ended(stage, await started(stage, definition, input));
  if (run['status'] !== status) throw new Error(`${run['status']}: ${JSON.stringify(run['error'])}`);
  return run;
};
const isWaiting = async ({ platform }: Stage, run: RunRecord): Promise<RunRecord> => {
  const builder = await platform.as('builder');
  return until(
    async () => (await builder.get(`/runs/${run['id']}`)).body,
    ({ status }) => status === 'waiting',
  );
};
const decide = async (
  stage: Stage,
  run: RunRecord,
  decision: string,
  payload?: unknown,
  title?: string,
): Promise<void> => {
  const builder = await stage.platform.as('builder');
  const asked = (task: RunRecord): boolean => title === undefined || task['title'] === title;
  const open = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${run['id']}`)).body as RunRecord[],
    (tasks) => tasks.some(asked),
  );
  const task = open.find(asked);
  await isWaiting(stage, run);
  const reply = await builder.post(`/hitl/tasks/${task?.['id']}/decision`, {
    decision,
    ...(payload === undefined ? {} : { payload }),
  });
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
};

const http = ({ counterpart }: Stage, path: string) => ({
  call: 'http',
  with: { method: 'get', endpoint: `${counterpart.url}${path}` },
});
const human = (more: Record<string, unknown> = {}) => humanTask('Go on?', { ...more });
const failing = { raise: { error: { type: 'https://example.com/broken', status: 500, title: 'Broken' } } };

const caught = (name: string, broken: unknown, retry?: unknown) => ({
  [name]: { try: [broken], catch: { retry, do: [{ go: { set: { on: true } } }] } },
});
/** An event of more than 2 Mi characters as they are counted, and errors with a detail of 30,000. */
const largeEntries = (stage: Stage) => ({
  do: [
    caught('publish', {
      tell: { emit: { event: { with: { type: 'com.example.told', data: '${ [range(450000) | 1] }' } } } },
    }),
    { ask: http(stage, '/ok') },
    caught(
      'broken',
      {
        outer: {
          do: [{ inner: { raise: { error: { ...failing.raise.error, detail: '${ "x" * 30000 }' } } } }],
        },
      },
      { limit: { attempt: { count: 1 } } },
    ),
    { last: http(stage, '/ok') },
  ],
});

/** Scenarios that need a container engine, which only root can start. */
export const CONTAINER_SCENARIOS: readonly string[] = ['container', 'boxed'];

export const scenarios: Record<string, Scenario> = {
  sequence: async (stage) => ({
    '': await toEnd(stage, {
      use: { functions: { ping: http(stage, '/ok') } },
      do: [
        { first: { set: { n: 1 }, export: { as: '.' } } },
        { skipped: { if: '.n > 1', ...http(stage, '/ok') } },
        { choose: { switch: [{ low: { when: '.n < 2', then: 'ask' } }, { high: { then: 'end' } }] } },
        { never: { set: { n: 0 } } },
        { ask: http(stage, '/ok') },
        { nested: { do: [{ ping: { call: 'ping', with: {} } }, { pause: { wait: { milliseconds: 20 } } }] } },
        { last: { set: { n: '${ $context.n + 1 }' } } },
      ],
    }),
  }),
  fork: async (stage) => ({
    '': await toEnd(stage, {
      do: [
        {
          both: {
            fork: {
              branches: [
                { a: { do: [{ one: http(stage, '/ok') }, { two: http(stage, '/ok') }] } },
                { b: { do: [{ nap: { wait: { milliseconds: 30 } } }, { three: http(stage, '/ok') }] } },
              ],
            },
          },
        },
        { after: http(stage, '/ok') },
      ],
    }),
    faulted: await toEnd(
      stage,
      {
        do: [
          {
            both: {
              fork: {
                branches: [
                  { slow: http(stage, '/slow') },
                  { ask: human() },
                  { fails: { do: [{ nap: { wait: { milliseconds: 300 } } }, { fail: failing }] } },
                ],
              },
            },
          },
        ],
      },
      'faulted',
    ),
  }),
  // Local activities, an ordinary call among them after the time was read, and a fault.
  short: async (stage) => {
    const soon = (path: string) => ({ ...http(stage, path), timeout: { after: { seconds: 5 } } });
    return {
      '': await toEnd(stage, {
        do: [
          { one: soon('/ok') },
          { two: soon('/ok') },
          { timed: { set: { now: '${ now }' } } },
          { three: soon('/ok') },
          { four: soon('/ok') },
          { guarded: { try: [{ fails: soon('/missing') }], catch: { do: [{ instead: soon('/ok') }] } } },
        ],
      }),
      faulted: await toEnd(stage, { do: [{ one: soon('/ok') }, { fails: soon('/missing') }] }, 'faulted'),
    };
  },
  // With rules of version 2; the histories of `short` have those of version 1.
  handed: async (stage) => {
    const slow = http(stage, '/slow');
    return {
      over: await toEnd(stage, {
        do: [{ one: http(stage, '/ok') }, { two: slow }, { three: http(stage, '/ok') }],
      }),
      timed: await toEnd(
        stage,
        { do: [{ one: http(stage, '/ok') }, { two: { ...slow, timeout: { after: { seconds: 1 } } } }] },
        'faulted',
      ),
    };
  },
  // With rules of version 3. A replay takes the workflow task of the first call and those that prolong it for
  // one, whose clock begins with the last.
  prolonged: async (stage) => {
    const em = stage.platform.orm.em.fork();
    await em.begin();
    // The statement that begins the first call waits.
    await em.execute('lock table invocation in share mode');
    const run = await started(stage, { do: [{ one: http(stage, '/ok') }, { two: http(stage, '/ok') }] });
    await until(
      async () => (await stage.temporal.getHandle(run['temporal'].workflow_id).fetchHistory()).events ?? [],
      (events) => events.some((event) => event.workflowTaskCompletedEventAttributes),
      30_000,
    );
    await em.commit();
    return { '': await ended(stage, run) };
  },
  listen: async (stage) => {
    const builder = await stage.platform.as('builder');
    const run = await started(stage, {
      do: [
        {
          each: {
            listen: { to: { any: [{ with: { type: 'told' } }], until: 'length == 3' } },
            foreach: { do: [{ keep: { set: { it: '${ $item }' } } }], output: { as: '.it' } },
          },
        },
        {
          both: {
            listen: { to: { all: [{ with: { type: 'a' } }, { with: { type: 'b' } }] }, read: 'envelope' },
          },
        },
        {
          late: {
            try: [
              {
                never: {
                  listen: { to: { one: { with: { type: 'never' } } } },
                  timeout: { after: { milliseconds: 200 } },
                },
              },
            ],
            catch: { do: [{ gone: { set: { late: true } } }] },
          },
        },
      ],
    });
    const waiting = (task: string): Promise<unknown> =>
      until(
        async () => (await builder.get(`/runs/${run['id']}`)).body.waiting_on,
        ([wait]) => wait?.task === task,
      );
    const send = (type: string, ids: string[]) =>
      builder.post(
        '/events',
        ids.map((id) => ({ specversion: '1.0', source: run['id'], type, id, data: id })),
        { headers: { 'content-type': 'application/cloudevents-batch+json' } },
      );
    await waiting('/do/0/each');
    await send('told', ['1', '2']);
    await send('told', ['3']);
    await waiting('/do/1/both');
    await send('a', ['4']);
    await send('b', ['5']);
    return { '': await ended(stage, run) };
  },
  // The first history is of a time when entries of the log had no limits.
  'large-entries': async (stage) => ({ '': await toEnd(stage, largeEntries(stage)) }),
  'limited-entries': async (stage) => ({ '': await toEnd(stage, largeEntries(stage)) }),
  // Of a time when questions had no limits.
  'large-question': async (stage) => {
    const people = '${ [range(1500) | "user\\(.)"] }';
    const ask = humanTask('${ "t" * 3000 }', { candidates: { users: people, roles: ['builder'] } });
    const run = await started(stage, { do: [{ ask }] });
    await decide(stage, run, 'approve');
    return { '': await ended(stage, run) };
  },
  emit: async (stage) => ({
    '': await toEnd(stage, {
      do: [
        { told: { emit: { event: { with: { type: 'com.example.told', data: '${ . }' } } } } },
        { ask: http(stage, '/ok') },
        { again: { emit: { event: { with: { type: 'com.example.told' } } } } },
      ],
    }),
  }),
  script: async (stage) => ({
    '': await toEnd(stage, {
      do: [
        { first: { run: { script: { language: 'js', code: 'console.error(1); console.log(2)' } } } },
        { alone: { run: { script: { language: 'js', code: 'console.log(3)' }, await: false } } },
      ],
    }),
  }),
  'process-waits': async (stage) => {
    const builder = await stage.platform.as('builder');
    const waiting = await started(stage, { do: [{ work: { run: { shell: { command: 'true' } } } }] });
    await until(
      async () => (await builder.get(`/runs/${waiting['id']}`)).body,
      ({ logs }: RunRecord) => logs.some(({ type }: RunRecord) => type === 'io.cadenza.process.waits.v1'),
    );
    await builder.post(`/runs/${waiting['id']}/cancel`, {});
    return { '': await ended(stage, waiting) };
  },
  'subscription-foreach': async (stage) => ({
    '': await toEnd(stage, {
      do: [
        {
          follow: {
            call: 'asyncapi',
            with: {
              document: { endpoint: `${stage.counterpart.url}/asyncapi` },
              channel: 'events',
              subscription: {
                consume: { amount: 3 },
                foreach: { do: [{ look: { set: { n: '${ .payload.n }' } } }, { ask: http(stage, '/ok') }] },
              },
            },
          },
        },
      ],
    }),
  }),
  // Calls of other protocols, and extensions around them. Nothing has to answer: its failure is caught.
  'other-calls': async (stage) => ({
    '': await toEnd(stage, {
      use: {
        extensions: [
          {
            watched: {
              extend: 'call',
              before: [{ note: { set: { before: true } } }],
              after: [{ rest: { wait: { milliseconds: 5 } } }],
            },
          },
        ],
      },
      do: [
        { ask: http(stage, '/ok') },
        {
          careful: {
            try: [
              {
                grpc: {
                  call: 'grpc',
                  with: {
                    service: {
                      name: 'a.B',
                      host: '127.0.0.1',
                      port: Number(new URL(stage.counterpart.url).port),
                      tls: false,
                    },
                    method: 'C',
                  },
                },
              },
            ],
            catch: { do: [{ caught: { set: { grpc: false } } }] },
          },
        },
        {
          again: {
            try: [
              {
                mcp: {
                  call: 'mcp',
                  with: {
                    method: 'tools/list',
                    transport: { http: { endpoint: `${stage.counterpart.url}/ok` } },
                  },
                },
              },
            ],
            catch: { do: [{ caught: { set: { mcp: false } } }] },
          },
        },
        {
          tell: {
            call: 'asyncapi',
            with: {
              document: { endpoint: `${stage.counterpart.url}/asyncapi` },
              channel: 'events',
              message: { payload: {} },
            },
          },
        },
      ],
    }),
  }),
  container: async (stage) => ({
    '': await toEnd(stage, {
      do: [
        { contained: { run: { container: { image: IMAGE, command: 'cat', stdin: 'in' }, return: 'all' } } },
        { told: { run: { shell: { command: 'echo', arguments: ['two'] } } } },
      ],
    }),
  }),
  boxed: async (stage) => {
    const builder = await stage.platform.as('builder');
    const configuration = { image: IMAGE, command: 'cat; echo why >&2' };
    await builder.post('/agents', agentBody({ name: 'boxed', type: 'docker', configuration }));
    return {
      '': await toEnd(stage, {
        do: [{ boxed: agentTask('boxed', { input: { n: 1 } }) }, { after: http(stage, '/ok') }],
      }),
    };
  },
  // One call by each function that calls a service with a description or a protocol of its own.
  services: async (stage) => {
    const [shop, tools, remote] = await Promise.all([
      startShop({ reflection: 'v1' }),
      startMcpServer(),
      startRemoteAgent(),
    ]);
    try {
      return {
        '': await toEnd(stage, {
          do: [
            {
              collect: {
                call: 'grpc',
                with: {
                  service: { name: 'shop.v1.Shop', host: '127.0.0.1', port: shop.port },
                  method: 'Collect',
                  arguments: [{ price: 3 }],
                },
              },
            },
            {
              add: {
                call: 'mcp',
                with: {
                  method: 'tools/call',
                  parameters: { name: 'add', arguments: { a: 1, b: 2 } },
                  transport: { http: { endpoint: `${tools.url}/mcp` } },
                  timeout: { seconds: 20 },
                },
              },
            },
            {
              ask: {
                call: 'a2a',
                with: {
                  method: 'message/send',
                  agentCard: { endpoint: `${remote.url}/.well-known/agent-card.json` },
                  parameters: { message: { parts: [{ kind: 'text', text: 'hello' }] } },
                },
              },
            },
            {
              tell: {
                call: 'asyncapi',
                with: {
                  document: { endpoint: `${stage.counterpart.url}/asyncapi` },
                  channel: 'told',
                  message: { payload: { n: 1 } },
                },
              },
            },
          ],
        }),
      };
    } finally {
      await Promise.all([shop.close(), tools.close(), remote.close()]);
    }
  },
  extended: async (stage) => ({
    '': await toEnd(stage, {
      use: {
        extensions: [
          {
            answers: {
              extend: 'call',
              when: '$task.name == "second"',
              before: [{ instead: { set: { ok: 'extended' }, then: 'exit' } }],
            },
          },
          {
            notes: {
              extend: 'all',
              before: [{ check: http(stage, '/ok') }],
              after: [{ note: { set: { noted: true } } }],
            },
          },
        ],
      },
      do: [{ first: http(stage, '/ok') }, { second: http(stage, '/ok') }],
    }),
  }),
  // From a task that had completed: what came after it runs again, and people are asked again.
  'retry-from': async (stage) => {
    const builder = await stage.platform.as('builder');
    const faulted = await toEnd(
      stage,
      {
        do: [
          { first: http(stage, '/ok') },
          { second: http(stage, '/ok') },
          { maybe: { if: '$workflow.input.fails', do: [{ fail: failing }] } },
        ],
      },
      'faulted',
      { fails: true },
    );
    const again = await builder.post(`/runs/${faulted['id']}/retry`, {
      from: '/do/1/second',
      input: { fails: false },
    });
    return { '': await ended(stage, again.body) };
  },
  // Runs that are calls of an agent with a budget: one goes through, one asks, one waits for its question.
  entered: async (stage) => {
    const builder = await stage.platform.as('builder');
    const workflow = await builder.post('/workflows', {
      name: 'entered',
      definition: { do: [{ note: { set: { done: true } } }] },
    });
    const agent = await builder.post('/agents', {
      ...agentBody({ name: 'Entered', type: 'workflow' }),
      configuration: { workflow_id: workflow.body.id },
      budget: { max_invocations: 1, on_exceed: 'ask' },
    });
    const invoke = async (): Promise<RunRecord> =>
      (await builder.post(`/agents/${agent.body.id}/invoke`, { input: {} })).body;
    const first = await ended(stage, await invoke());
    const asks = await isWaiting(stage, await invoke());
    const waits = await isWaiting(stage, await invoke());
    await decide(stage, asks, 'raise_once', { amount: 2 });
    return { '': first, asks: await ended(stage, asks), waits: await ended(stage, waits) };
  },
  // The execution of a workflow's schedule that asks for a run, which ends before the run does.
  'scheduled-start': async ({ platform, temporal }) => {
    const builder = await platform.as('builder');
    const { body } = await builder.post('/workflows', {
      name: 'by the clock',
      definition: { schedule: { every: { seconds: 1 } }, do: [{ note: { set: { done: true } } }] },
    });
    await until(
      async () => (await builder.get(`/runs?workflow_id=${body.id}`)).body.length as number,
      (count) => count > 0,
    );
    await builder.delete(`/workflows/${body.id}`);
    const query = `WorkflowType = '${SCHEDULED_START_WORKFLOW}' and ExecutionStatus = 'Completed'`;
    const execution = await until(
      async () => (await temporal.list({ query })[Symbol.asyncIterator]().next()).value,
      (found) => found !== undefined,
    );
    return { '': { temporal: { workflow_id: execution?.workflowId, run_id: execution?.runId } } };
  },
  openapi: async (stage) => ({
    '': await toEnd(stage, {
      do: [
        {
          ask: {
            call: 'openapi',
            with: { document: { endpoint: `${stage.counterpart.url}/openapi` }, operationId: 'ok' },
          },
        },
      ],
    }),
  }),
  linked: async (stage) => {
    const builder = await stage.platform.as('builder');
    const workflow = await builder.post('/workflows', {
      name: 'linked',
      definition: { do: [{ back: { set: { files: '${ .files }' } } }, { ask: http(stage, '/ok') }] },
    });
    const agent = await builder.post('/agents', {
      name: 'Linked',
      type: 'workflow',
      version: '1.0.0',
      visibility: 'private',
      configuration: { workflow_id: workflow.body.id },
      modalities: ['json'],
    });
    const message = {
      messageId: 'linked',
      role: 'ROLE_USER',
      parts: [{ url: `${stage.counterpart.url}/ok`, mediaType: 'application/json' }],
    };
    const sent = await builder.post(
      `/api/v1/a2a/${agent.body.id}`,
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } },
      { headers: { 'A2A-Version': '1.0' } },
    );
    return { '': await ended(stage, { id: sent.body.result.task.id }) };
  },
  map: async (stage) => {
    const builder = await stage.platform.as('builder');
    const map = (parameters: Record<string, unknown>) => ({
      do: [{ each: { call: 'map', with: parameters } }, { after: http(stage, '/ok') }],
    });
    const ask = (path: string) => ({ call: 'http', with: { method: 'get', endpoint: path } });
    const maybe = ask(`\${ "${stage.counterpart.url}" + (if $item == 1 then "/missing" else "/ok" end) }`);
    const faulted = await toEnd(
      stage,
      map({ in: '[range(4)]', concurrency: 2, do: [{ first: http(stage, '/ok') }, { maybe }] }),
      'faulted',
    );
    const again = (await builder.post(`/runs/${faulted['id']}/retry`, {})).body;
    return {
      '': await toEnd(stage, map({ in: '[range(14)]', concurrency: 3, do: [{ ask: http(stage, '/ok') }] })),
      collected: await toEnd(
        stage,
        map({
          in: '[range(3)]',
          on_error: 'collect',
          do: [{ maybe }, { keep: { set: { n: '${ $index }' } } }],
        }),
      ),
      faulted,
      again: await ended(stage, again),
    };
  },
  compete: async (stage) => ({
    '': await toEnd(stage, {
      do: [
        {
          race: {
            fork: {
              compete: true,
              branches: [
                { slow: http(stage, '/slow') },
                { ask: human() },
                { fast: { do: [{ nap: { wait: { milliseconds: 300 } } }, { won: { set: { won: true } } }] } },
              ],
            },
          },
        },
      ],
    }),
  }),
  continued: async (stage) => ({
    loop: await toEnd(stage, {
      do: [{ loop: { for: { each: 'x', in: '${ [range(14)] }' }, do: [{ ask: http(stage, '/ok') }] } }],
    }),
    waiting: await (async () => {
      const loop = {
        loop: { for: { each: 'x', in: '${ [range(12)] }' }, do: [{ ask: http(stage, '/ok') }] },
      };
      const run = await started(stage, {
        do: [
          { both: { fork: { branches: [loop, { ask: human({ expires: { hours: 1 } }) }] } } },
          { after: http(stage, '/ok') },
        ],
      });
      await decide(stage, run, 'approve');
      return ended(stage, run);
    })(),
  }),
  decided: async (stage) => {
    const run = await started(stage, {
      do: [{ review: human({ expires: { hours: 1 } }) }, { after: http(stage, '/ok') }],
    });
    await decide(stage, run, 'approve');
    return { '': await ended(stage, run) };
  },
  shown: async (stage) => {
    const run = await started(stage, {
      do: [{ check: http(stage, '/ok') }, { review: human({ context: ['check', { sum: '${ 1 + 1 }' }] }) }],
    });
    await decide(stage, run, 'approve');
    return { '': await ended(stage, run) };
  },
  escalated: async (stage) => {
    const run = await started(stage, {
      do: [
        {
          review: human({
            due: 'PT0.2S',
            remind: ['PT0.1S'],
            escalate: [{ after: 'PT0.3S', to: { roles: ['approver'] } }],
          }),
        },
      ],
    });
    const builder = await stage.platform.as('builder');
    await until(
      async () => (await builder.get(`/runs/${run['id']}/logs`)).body as RunRecord[],
      (log) => log.some((entry) => entry['type'].includes('escalated')),
    );
    await decide(stage, run, 'reject');
    return { '': await ended(stage, run) };
  },
  expired: async (stage) => ({
    faulted: await toEnd(stage, { do: [{ review: human({ expires: 'PT0.3S' }) }] }, 'faulted'),
    decided: await toEnd(stage, {
      do: [{ review: human({ expires: 'PT0.3S', on_expiry: { decision: 'reject' } }) }],
    }),
  }),
  cancelled: async (stage) => {
    const builder = await stage.platform.as('builder');
    const waiting = await started(stage, { do: [{ review: human() }] });
    await isWaiting(stage, waiting);
    await builder.post(`/runs/${waiting['id']}/cancel`);
    const calling = await started(stage, { do: [{ ask: http(stage, '/slow') }] });
    await until(
      async () => (await builder.get(`/runs/${calling['id']}`)).body,
      ({ tasks }) => tasks.length > 0,
    );
    await builder.post(`/runs/${calling['id']}/cancel`);
    return { waiting: await ended(stage, waiting), calling: await ended(stage, calling) };
  },
  parent: async (stage) => {
    const builder = await stage.platform.as('builder');
    const document = { dsl: '1.0.3', namespace: 'histories', name: 'child', version: '1.0.0' };
    await builder.post('/workflows', {
      name: 'child',
      definition: { document, do: [{ ask: http(stage, '/ok') }, { review: human() }] },
    });
    const run = await started(stage, {
      do: [
        {
          sub: { run: { workflow: { namespace: 'histories', name: 'child', version: '1.0.0', input: {} } } },
        },
        { after: http(stage, '/ok') },
      ],
    });
    const waiting = await isWaiting(stage, run);
    await builder.post(`/hitl/tasks/${waiting['waiting_on'][0].id}/decision`, { decision: 'approve' });
    const end = await ended(stage, run);
    const [child] = (await builder.get(`/runs?parent_run_id=${run['id']}`)).body;
    return { '': end, child: (await builder.get(`/runs/${child.id}`)).body };
  },
  child: async (stage) => {
    const run = await toEnd(stage, {
      do: [
        {
          sub: {
            try: [
              { sub: { run: { workflow: { namespace: 'histories', name: 'nobody', version: '1.0.0' } } } },
            ],
            catch: { do: [{ instead: { set: { caught: true } } }] },
          },
        },
      ],
    });
    return { missing: run };
  },
  retry: async (stage) => {
    const builder = await stage.platform.as('builder');
    const ask = (path: string) => ({ call: 'http', with: { method: 'get', endpoint: path } });
    const maybe = ask(`\${ "${stage.counterpart.url}" + (if $x == 2 then "/once" else "/ok" end) }`);
    const both = { fork: { branches: [{ fine: http(stage, '/ok') }, { maybe }] } };
    const faulted = await toEnd(
      stage,
      {
        do: [
          { first: http(stage, '/ok') },
          { loop: { for: { each: 'x', in: '${ [1, 2, 3] }' }, do: [{ both }] } },
        ],
      },
      'faulted',
    );
    const again = (await builder.post(`/runs/${faulted['id']}/retry`, {})).body;
    return { faulted, again: await ended(stage, again) };
  },
  retried: async (stage) => ({
    '': await toEnd(stage, {
      do: [
        {
          guarded: {
            try: [{ ask: http(stage, '/busy') }],
            catch: {
              errors: { with: { status: 503 } },
              retry: {
                delay: { milliseconds: 20 },
                backoff: { exponential: {} },
                limit: { attempt: { count: 5 } },
              },
            },
          },
        },
      ],
    }),
  }),
  // Retries with changes, which ask again what was decided: with the same answers, and with another one.
  asked: async (stage) => {
    const builder = await stage.platform.as('builder');
    const review = human({ due: 'PT1H', expires: 'PT2H' });
    const first = await started(stage, {
      do: [{ review }, { confirm: human() }, { pay: http(stage, '/missing') }],
    });
    await decide(stage, first, 'approve');
    await decide(stage, first, 'approve');
    await ended(stage, first);
    const retried = async (changes: object): Promise<RunRecord> =>
      (await builder.post(`/runs/${first['id']}/retry`, changes)).body;
    const again = await retried({ input: { changed: true } });
    await decide(stage, again, 'approve');
    await decide(stage, again, 'approve');
    const otherwise = await retried({ input: { changed: true } });
    await decide(stage, otherwise, 'reject');
    return { again: await ended(stage, again), otherwise: await ended(stage, otherwise) };
  },
  // Two questions: the recording server suggests continue-as-new early, so the second is answered in another
  // execution.
  elsewhere: async (stage) => {
    const remote = await startRemoteAgent();
    try {
      const builder = await stage.platform.as('builder');
      await builder.post('/agents', agentBody({ name: 'elsewhere', type: 'a2a', url: remote.url }));
      const ask = (input: string) => agentTask('elsewhere', { input });
      const run = await started(stage, { do: [{ before: http(stage, '/ok') }, { far: ask('ask me') }] });
      await decide(stage, run, 'answer', { text: 'Rome' }, 'Which city?');
      await decide(stage, run, 'answer', { date: '1 May' }, 'And the date?');
      const answered = await ended(stage, run);
      const left = await started(stage, { do: [{ far: ask('ask again') }] });
      await isWaiting(stage, left);
      await builder.post(`/runs/${left['id']}/cancel`);
      return { answered, cancelled: await ended(stage, left) };
    } finally {
      await remote.close();
    }
  },
  // Calls whose outcome comes from outside: completed, timed out, cancelled.
  outside: async (stage) => {
    const builder = await stage.platform.as('builder');
    const register = async (name: string, configuration: Record<string, unknown> = {}): Promise<string> => {
      const body = agentBody({ name, execution_type: 'edge', configuration });
      return (await builder.post('/agents', body)).body.id;
    };
    const id = await register('outside');
    const short = await register('outside-short', { timeout: { milliseconds: 300 } });
    const poll = async (): Promise<string> =>
      (await builder.post(`/agents/${id}/jobs/poll`, { wait_seconds: 30 })).body[0].id;
    const run = await started(stage, { do: [{ far: agentTask(id) }, { after: http(stage, '/ok') }] });
    await builder.post(`/jobs/${await poll()}/complete`, { output: { done: true } });
    const completed = await ended(stage, run);
    const late = { try: [{ far: agentTask(short) }], catch: { do: [{ instead: { set: { late: true } } }] } };
    const timed = await toEnd(stage, { do: [{ guarded: late }] });
    const left = await started(stage, { do: [{ far: agentTask(id) }] });
    await poll();
    await builder.post(`/runs/${left['id']}/cancel`);
    return { completed, timed, cancelled: await ended(stage, left) };
  },
  suspended: async (stage) => {
    const builder = await stage.platform.as('builder');
    const run = await started(stage, { do: [{ review: human() }, { after: http(stage, '/ok') }] });
    const waiting = await isWaiting(stage, run);
    await builder.post(`/runs/${run['id']}/suspend`);
    await until(
      async () => (await builder.get(`/runs/${run['id']}`)).body,
      ({ status }) => status === 'suspended',
    );
    await builder.post(`/hitl/tasks/${waiting['waiting_on'][0].id}/decision`, { decision: 'approve' });
    await until(
      async () => (await builder.get(`/runs/${run['id']}/logs`)).body as RunRecord[],
      (log) => log.some((entry) => entry['type'].includes('decision-received')),
    );
    await builder.post(`/runs/${run['id']}/resume`);
    return { '': await ended(stage, run) };
  },
  tools: async (stage) => {
    const builder = await stage.platform.as('builder');
    const model = await startScriptedModel();
    const agent = async (name: string, type: string, configuration: object): Promise<void> => {
      const { status } = await builder.post('/agents', agentBody({ name, type, configuration }));
      if (status !== 201) throw new Error(`${name}: ${status}`);
    };
    try {
      await agent('tool', 'api', { endpoint: `${stage.counterpart.url}/ok` });
      const tools = [
        { agent: 'tool', name: 'free' },
        { agent: 'tool', name: 'careful', approval: 'always' },
        { human: {} },
      ];
      const of = { base_url: `${model.url}/v1`, model: 'tiny' };
      await agent('clerk', 'llm', { ...of, tools });
      await agent('limited', 'llm', { ...of, tools, max_turns: 2, on_exceed: 'ask' });
      const calls = (...names: string[]) => ({
        calls: names.map((name) => ({
          name,
          arguments: name === 'ask_person' ? { question: 'Well?' } : { input: 1 },
        })),
      });
      const turns = [
        calls('free', 'careful', 'ask_person', 'unknown'),
        ...Array.from({ length: 6 }, () => calls('free')),
      ];
      // After so many turns, the run continues in a new execution.
      model.script((_, turn) => turns[turn - 1] ?? { text: 'done' });
      const run = await started(stage, { do: [{ ask: agentTask('clerk', { session: 's' }) }] });
      await decide(stage, run, 'approve', {}, 'May ask call careful?');
      await decide(stage, run, 'answer', { answer: 'yes' }, 'Well?');
      const whole = await ended(stage, run);
      model.script(() => calls('free'));
      const limited = await started(stage, { do: [{ ask: agentTask('limited') }] });
      await decide(stage, limited, 'reject', undefined, 'May ask go on?');
      return { '': whole, limited: await ended(stage, limited) };
    } finally {
      await model.close();
    }
  },
  timeout: async (stage) => ({
    caught: await toEnd(stage, {
      do: [
        {
          guarded: {
            try: [{ ask: { ...http(stage, '/slow'), timeout: { after: { milliseconds: 300 } } } }],
            catch: { errors: { with: { status: 408 } }, do: [{ instead: { set: { late: true } } }] },
          },
        },
      ],
    }),
    run: await toEnd(
      stage,
      { timeout: { after: { milliseconds: 300 } }, do: [{ review: human() }] },
      'faulted',
    ),
  }),
  try: async (stage) => ({
    '': await toEnd(stage, {
      do: [
        {
          guarded: {
            try: [{ ask: http(stage, '/ok') }, { fail: failing }],
            catch: {
              as: 'problem',
              do: [{ handle: http(stage, '/ok') }, { told: { set: { title: '${ $problem.title }' } } }],
            },
          },
        },
      ],
    }),
  }),
};
