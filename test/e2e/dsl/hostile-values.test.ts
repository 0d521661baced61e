/**
 * No answer of an agent and no value of an expression blocks a run: it is stored in a readable form, or
 * faults its task.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { agentBody } from '../../support/agent-body.ts';
import type { Client } from '../../support/app.ts';
import { startServer, type TestServer } from '../../support/http-server.ts';
import {
  runToEnd,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../../support/platform.ts';
import { agentTask } from '../../support/definitions.ts';

let platform: TestPlatform;
let client: Client;
let agent: TestServer;
let answer: { body: string | Buffer; type?: string };
beforeAll(async () => {
  platform = await startTestPlatform();
  client = await platform.as('builder');
  agent = await startServer(
    (_, response) =>
      void response.writeHead(200, { 'content-type': answer.type ?? 'application/json' }).end(answer.body),
  );
  expect(
    (await client.post('/agents', agentBody({ name: 'hostile', configuration: { endpoint: agent.url } })))
      .status,
  ).toBe(201);
});
afterAll(async () => {
  await platform.close();
  await agent.close();
});

const ask = { ask: agentTask('hostile', { input: {} }) };
const invoke = async (body: string | Buffer, after: unknown[] = [], type?: string): Promise<RunRecord> => {
  answer = { body, ...(type === undefined ? {} : { type }) };
  return runToEnd(client, { do: [ask, ...after] });
};
/** Everything that is stored can be read everywhere. */
const readable = async ({ id }: RunRecord): Promise<void> => {
  for (const path of [`/runs/${id}`, `/runs/${id}/logs`, `/runs/${id}/tasks`, '/runs'])
    expect([path, (await client.get(path)).status]).toEqual([path, 200]);
};

const NESTED = 190;
test.each([
  ['NUL', '{"a\\u0000":"b\\u0000"}', { 'a\\u0000': 'b\\u0000' }],
  ['lone surrogates', '{"a\\ud800":"\\udc00b"}', { 'a\\ud800': '\\udc00b' }],
  [
    '__proto__',
    '{"__proto__":{"polluted":true},"constructor":1}',
    JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'),
  ],
  ['numbers out of range', '[1e400,-0,12345678901234567890]', [null, 0, 12345678901234567000]],
  [
    'many levels',
    `${'['.repeat(NESTED)}${']'.repeat(NESTED)}`,
    JSON.parse(`${'['.repeat(NESTED)}${']'.repeat(NESTED)}`),
  ],
  ['an empty key, a long key', `{"":1,"${'k'.repeat(20_000)}":2}`, { '': 1, ['k'.repeat(20_000)]: 2 }],
  ['nothing', '', null],
])('an answer with %s is stored in a readable form', async (_title, body, output) => {
  const run = await invoke(body, [{ export: { set: '${ . }', export: { as: '{got: .}' } } }]);
  expect(run).toMatchObject({ status: 'completed', error: null });
  expect(JSON.stringify(run['output'])).toBe(JSON.stringify(output));
  await readable(run);
});

test.each([
  ['too many levels', `${'['.repeat(5_000)}${']'.repeat(5_000)}`, 'levels'],
  ['no JSON', '{"a":', 'not valid'],
  ['too much', `"${'x'.repeat(9 * 1024 * 1024)}"`, 'larger'],
])('an answer with %s faults its task, which can be caught', async (_title, body, words) => {
  const run = await invoke(body);
  expect(run).toMatchObject({
    status: 'faulted',
    error: {
      type: expect.stringContaining('/errors/communication'),
      instance: '/do/0/ask',
      detail: expect.stringContaining(words),
    },
  });
  const caught = await runToEnd(client, {
    do: [{ guarded: { try: [ask], catch: { do: [{ told: { set: { ok: true } } }] } } }],
  });
  expect(caught['output']).toEqual({ ok: true });
  await readable(run);
});

const NAMED = (name: string) => ({ dsl: '1.0.3', namespace: 'hostile', name, version: '1.0.0' });
beforeAll(async () => {
  await client.post('/workflows', {
    name: 'child',
    definition: { document: NAMED('child'), do: [{ same: { set: '${ . }' } }] },
  });
  await client.post('/workflows', {
    name: 'failing',
    definition: {
      document: NAMED('failing'),
      do: [
        {
          fail: {
            raise: { error: { type: 'https://example.com/e', status: 500, detail: '${ .v | tostring }' } },
          },
        },
      ],
    },
  });
});

test('megabytes pass through tasks, branches, context, a child and the output unchanged', async () => {
  const size = 3 * 1024 * 1024;
  const child = {
    document: { dsl: '1.0.3', namespace: 'big', name: 'child', version: '1.0.0' },
    do: [{ same: { set: { size: '${ .big | length }', big: '${ .big }' } } }],
  };
  expect((await client.post('/workflows', { name: 'child', definition: child })).body.runnable).toBe(true);
  const run = await invoke(JSON.stringify({ big: 'x'.repeat(size) }), [
    { keep: { set: '${ . }', export: { as: '{big: .big}' } } },
    {
      all: {
        fork: {
          branches: [
            { a: { set: '${ . }' } },
            {
              b: {
                run: { workflow: { namespace: 'big', name: 'child', version: '1.0.0', input: '${ . }' } },
              },
            },
          ],
        },
      },
    },
    { pause: { wait: { milliseconds: 10 } } },
    {
      last: {
        set: {
          sizes: '${ [.[0].big, .[1].big, $context.big] | map(length) }',
          child: '${ .[1].size }',
          big: '${ $context.big }',
        },
      },
    },
  ]);
  expect(run).toMatchObject({ status: 'completed', output: { sizes: [size, size, size], child: size } });
  expect(run['output'].big).toHaveLength(size);
  await readable(run);
});

/** Expressions whose values are hard to store. */
const MADE: Record<string, string> = {
  NUL: '"a\\u0000b"',
  'a NUL as key': '{("k\\u0000"): 1}',
  'a lone surrogate': '[55296] | implode',
  'nothing finite': '[infinite, -infinite, nan]',
  'a deep list': 'reduce range(3000) as $i (0; [.])',
  'a very deep list': 'reduce range(9000) as $i (0; [.])',
};
test.each(Object.entries(MADE))(
  '%s from an expression is stored or refused, in every place',
  async (_title, made) => {
    const human = {
      call: 'human',
      with: {
        title: `\${ ${made} | tojson[0:100] }`,
        subject: `\${ ${made} }`,
        expires: { milliseconds: 100 },
        on_expiry: { decision: 'reject' },
      },
    };
    const tasks = [
      { value: { set: `\${ ${made} }`, export: { as: '{kept: .}' } } },
      { told: { emit: { event: { with: { type: 'com.example.made', data: `\${ ${made} }` } } } } },
      { asked: human },
      {
        sub: {
          run: {
            workflow: {
              namespace: 'hostile',
              name: 'child',
              version: '1.0.0',
              input: { v: `\${ ${made} }` },
            },
          },
        },
      },
      {
        failing: {
          try: [
            {
              inner: {
                run: {
                  workflow: {
                    namespace: 'hostile',
                    name: 'failing',
                    version: '1.0.0',
                    input: { v: `\${ ${made} }` },
                  },
                },
              },
            },
          ],
          catch: { do: [{ go: { set: { on: true } } }] },
        },
      },
      {
        call: {
          try: [{ ask: { call: 'agent', with: { agent: 'hostile', input: { v: `\${ ${made} }` } } } }],
          catch: { do: [{ go2: { set: { on: true } } }] },
        },
      },
      {
        raised: {
          try: [
            {
              raise: {
                raise: {
                  error: {
                    type: 'https://example.com/e',
                    status: 500,
                    title: `\${ ${made} | tostring }`,
                    detail: `\${ ${made} | tostring }`,
                  },
                },
              },
            },
          ],
          catch: { as: 'e', do: [{ caught: { set: { error: '${ $e }' } } }] },
        },
      },
      { last: { set: `\${ ${made} }` } },
    ];
    answer = { body: '{}' };
    const { id } = await startRun(client, { do: tasks });
    const run = await until(
      async () => (await client.get(`/runs/${id}`)).body,
      ({ status }) => status === 'completed' || status === 'faulted',
    );
    // A limit of the language may refuse the value, and then the task faults. A run that waits for ever is
    // the bug.
    expect(run).toMatchObject(
      run['status'] === 'completed'
        ? { error: null }
        : { error: { type: expect.stringMatching(/\/errors\/(expression|validation|runtime)$/) } },
    );
    await readable(run);
  },
);

test.each([500, 1_000, 3_000, 9_000])(
  'a list %i levels deep from an expression is stored or refused',
  async (depth) => {
    const { id } = await startRun(client, {
      do: [
        { value: { set: `\${ reduce range(${depth}) as $i (0; [.]) }`, export: { as: '{kept: .}' } } },
        { pause: { wait: { milliseconds: 10 } } },
        {
          told: {
            emit: { event: { with: { type: 'a.b', data: '${ $context.kept }' } } },
            output: { as: '.data' },
          },
        },
      ],
    });
    const run = await until(
      async () => (await client.get(`/runs/${id}`)).body,
      ({ status }) => status === 'completed' || status === 'faulted',
    );
    expect(run).toMatchObject(
      depth <= 2_000
        ? { status: 'completed' }
        : { status: 'faulted', error: { type: expect.stringContaining('/errors/expression') } },
    );
    await readable(run);
  },
);

test.each(['${ [., .] }', { a: '${ . }', b: '${ . }' }])(
  'a value that doubles in each turn of a loop (%j) faults in time',
  async (set) => {
    const run = await runToEnd(client, {
      do: [
        { start: { set: '${ "x" * 1000 }' } },
        { loop: { for: { in: '[range(60)]' }, do: [{ double: { set } }] } },
        { told: { set: { ok: true } } },
      ],
    });
    expect(run).toMatchObject({
      status: 'faulted',
      error: { type: expect.stringMatching(/\/errors\/(expression|runtime)$/) },
    });
    expect(run['error'].detail).toContain('limit');
  },
);

test('an expression that would produce too much faults, and the worker goes on', async () => {
  for (const expression of [
    '"x" * 100000000',
    '[range(100000000)]',
    'def f: f; f',
    '[limit(1e9; repeat(1))]',
    '[range(300) | ("x" * 15000000 | ascii_upcase)] | length',
  ]) {
    const run = await runToEnd(client, { do: [{ much: { set: { v: `\${ ${expression} }` } } }] });
    expect([expression, run['status'], run['error']?.type]).toEqual([
      expression,
      'faulted',
      expect.stringContaining('/errors/expression'),
    ]);
  }
  expect((await runToEnd(client, { do: [{ still: { set: { alive: true } } }] }))['output']).toEqual({
    alive: true,
  });
});

test('a fault with hostile words of an agent is stored as text', async () => {
  const failing = await startServer(
    (_, response) =>
      void response
        .writeHead(500, { 'content-type': 'application/json' })
        .end('{"message":"a\\u0000b\\ud800 \\u001b[31m"}'),
  );
  try {
    await client.post('/agents', agentBody({ name: 'failing', configuration: { endpoint: failing.url } }));
    const run = await runToEnd(client, {
      do: [{ ask: agentTask('failing', { input: {} }) }],
    });
    expect(run).toMatchObject({
      status: 'faulted',
      error: { status: 500, detail: expect.stringContaining('a b') },
    });
    await readable(run);
  } finally {
    await failing.close();
  }
});
