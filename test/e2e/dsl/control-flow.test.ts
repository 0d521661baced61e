/** The core of the definition language, end to end through HTTP: dsl-reference.md. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startTestPlatform();
});
afterAll(() => platform.close());

const run = (tasks: unknown[], input: Record<string, unknown> = {}, more: Record<string, unknown> = {}) =>
  platform.runToEnd({ do: tasks, ...more }, input);

describe('data flow', () => {
  test('evaluates whole and embedded expressions of set, and replaces the data', async () => {
    const { status, output } = await run(
      [{ one: { set: { whole: '${ .a + 1 }', text: 'a is ${ .a }', plain: '.a' } } }],
      { a: 1 },
    );
    expect({ status, output }).toEqual({
      status: 'completed',
      output: { whole: 2, text: 'a is 1', plain: '.a' },
    });
  });

  test('never evaluates data', async () => {
    const { output } = await run([{ one: { set: { echo: '${ .text }' } } }], { text: '${ 1 + 1 }' });
    expect(output).toEqual({ echo: '${ 1 + 1 }' });
  });

  test('applies input.from, output.as, export.as, and input and output of the workflow', async () => {
    const { output } = await run(
      [
        {
          one: {
            input: { from: '.user' },
            set: { name: '${ .name }' },
            output: { as: '.name' },
            export: { as: '$context + {greeted: .}' },
          },
        },
        { two: { set: { was: '${ . }', context: '${ $context }', raw: '${ $workflow.input.user.name }' } } },
      ],
      { user: { name: 'Ada' } },
      { output: { as: '{out: .}' } },
    );
    expect(output).toEqual({ out: { was: 'Ada', context: { greeted: 'Ada' }, raw: 'Ada' } });
  });

  test('passes the input on if `if` is false, and ignores `then`', async () => {
    const { output, tasks } = await run(
      [{ skip: { if: '.no', set: { x: 1 }, then: 'end' } }, { next: { set: { kept: '${ .kept }' } } }],
      { kept: true },
    );
    expect(output).toEqual({ kept: true });
    expect(tasks.map((task: { name: string }) => task.name)).toEqual(['next']);
  });

  test('faults with a validation error at a task whose schema does not match', async () => {
    const { status, error } = await run([
      {
        one: {
          set: { n: 'text' },
          output: {
            schema: { format: 'json', document: { type: 'object', properties: { n: { type: 'number' } } } },
          },
        },
      },
    ]);
    expect(status).toBe('faulted');
    expect(error).toMatchObject({
      type: expect.stringContaining('/errors/validation'),
      status: 400,
      instance: '/do/0/one',
    });
    expect(error.detail).toContain('/n');
  });
});

describe('control flow', () => {
  test('follows switch, then, exit and end', async () => {
    const tasks = [
      { choose: { switch: [{ low: { when: '.n < 10', then: 'small' } }, { other: { then: 'big' } }] } },
      {
        small: {
          do: [{ a: { set: { size: 'small' }, then: 'exit' } }, { b: { set: { size: 'never' } } }],
          then: 'end',
        },
      },
      { big: { set: { size: 'big' } } },
    ];
    expect((await run(tasks, { n: 1 })).output).toEqual({ size: 'small' });
    expect((await run(tasks, { n: 11 })).output).toEqual({ size: 'big' });
  });

  test('runs for with each, at, while, and the output of one iteration as input of the next', async () => {
    const { output } = await run(
      [
        {
          loop: {
            for: { each: 'x', in: '.items', at: 'i' },
            while: '$i < 3',
            do: [{ add: { set: '${ {items: .items, sum: ((.sum // 0) + $x)} }' } }],
          },
        },
      ],
      { items: [1, 2, 3, 4] },
    );
    expect(output.sum).toBe(6);
  });

  test('gives the outputs of a fork in declaration order, with the exports merged', async () => {
    const { output } = await run([
      {
        both: {
          fork: {
            branches: [
              {
                slow: {
                  do: [
                    { w: { wait: { milliseconds: 200 } } },
                    { a: { set: { v: 'a' }, export: { as: '$context + {a: 1}' } } },
                  ],
                },
              },
              { fast: { do: [{ b: { set: { v: 'b' }, export: { as: '$context + {b: 2}' } } }] } },
            ],
          },
        },
      },
      { end: { set: { branches: '${ . }', context: '${ $context }' } } },
    ]);
    expect(output).toEqual({ branches: [{ v: 'a' }, { v: 'b' }], context: { a: 1, b: 2 } });
  });

  test('takes the first branch of a competing fork, and cancels the others', async () => {
    const { output, tasks } = await run([
      {
        race: {
          fork: {
            compete: true,
            branches: [
              { slow: { do: [{ w: { wait: { seconds: 30 } } }] } },
              { fast: { set: { won: true } } },
            ],
          },
        },
      },
    ]);
    expect(output).toEqual({ won: true });
    expect(tasks.find((task: { name: string }) => task.name === 'slow').status).toBe('cancelled');
  });

  test('cancels the other branches when one faults', async () => {
    const { status, error, tasks } = await run([
      {
        both: {
          fork: {
            branches: [
              { waits: { wait: { seconds: 30 } } },
              {
                fails: {
                  raise: { error: { type: 'https://example.com/broken', status: 500, title: 'Broken' } },
                },
              },
            ],
          },
        },
      },
    ]);
    expect(status).toBe('faulted');
    expect(error).toEqual({
      type: 'https://example.com/broken',
      status: 500,
      title: 'Broken',
      instance: '/do/0/both/fork/branches/1/fails',
    });
    expect(tasks.find((task: { name: string }) => task.name === 'waits').status).toBe('cancelled');
  });
});

describe('error handling', () => {
  const failing = {
    fail: {
      raise: {
        error: {
          type: 'https://open-workflow-specification.org/spec/1.0.0/errors/communication',
          status: 503,
        },
      },
    },
  };

  test('matches the filter of catch in another form of the type, and sets the error variable', async () => {
    const { output } = await run([
      {
        guarded: {
          try: [failing],
          catch: {
            errors: {
              with: { type: 'https://serverlessworkflow.io/dsl/errors/types/communication', status: 503 },
            },
            as: 'err',
            do: [{ handle: { set: { caught: '${ $err.instance }' } } }],
          },
        },
      },
    ]);
    expect(output).toEqual({ caught: '/do/0/guarded/try/0/fail' });
  });

  test('retries the whole try with its first input, then runs catch.do', async () => {
    const { output, tasks, logs } = await run(
      [
        {
          guarded: {
            try: [{ count: { set: { n: '${ .n + 1 }' } } }, failing],
            catch: {
              retry: {
                delay: { milliseconds: 10 },
                backoff: { exponential: {} },
                limit: { attempt: { count: 2 } },
              },
              do: [{ give: { set: { up: '${ .n }' } } }],
            },
          },
        },
      ],
      { n: 0 },
    );
    expect(output).toEqual({ up: 0 });
    const counts = tasks.filter((task: { name: string }) => task.name === 'count');
    expect(counts.map((task: { attempt: number; visit: number }) => [task.visit, task.attempt])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(logs.filter((entry: { type: string }) => entry.type.endsWith('task.retried.v1'))).toHaveLength(2);
  });

  test('ends a task by its timeout, which can be caught, and the workflow by its own', async () => {
    const caught = await run([
      {
        guarded: {
          try: [{ slow: { wait: { seconds: 30 }, timeout: { after: { milliseconds: 50 } } } }],
          catch: { errors: { with: { status: 408 } }, do: [{ ok: { set: { late: true } } }] },
        },
      },
    ]);
    expect(caught.output).toEqual({ late: true });
    const whole = await run(
      [{ slow: { wait: { seconds: 30 } } }],
      {},
      { timeout: { after: { milliseconds: 50 } } },
    );
    expect(whole.error).toMatchObject({ status: 408, type: expect.stringContaining('/errors/timeout') });
  });

  test('reports a failed expression with its position and its task', async () => {
    const { error } = await run([{ bad: { set: { x: '${ .a + 1 }' } } }], { a: {} });
    expect(error).toMatchObject({
      type: expect.stringContaining('/errors/expression'),
      status: 400,
      instance: '/do/0/bad',
    });
  });
});

describe('the log', () => {
  test('has no gap, starts with the creation, ends with the end, and has each task once', async () => {
    const { logs, tasks, temporal } = await run([{ a: { set: { x: 1 } } }, { b: { set: { y: 2 } } }]);
    expect(logs.map((entry: { seq: number }) => entry.seq)).toEqual(
      logs.map((_entry: unknown, i: number) => i + 1),
    );
    const types = logs.map((entry: { type: string }) =>
      entry.type.replace(/^io\.(serverlessworkflow|cadenza)\./, ''),
    );
    expect(types).toEqual([
      'workflow.created.v1',
      'workflow.started.v1',
      'task.started.v1',
      'task.completed.v1',
      'task.started.v1',
      'task.completed.v1',
      'workflow.completed.v1',
    ]);
    expect(tasks.map((task: { reference: string; status: string }) => [task.reference, task.status])).toEqual(
      [
        ['/do/0/a', 'completed'],
        ['/do/1/b', 'completed'],
      ],
    );
    expect(temporal.workflow_id).toMatch(/^run-/);
  });

  test('a loop of 10,000 iterations finishes', async () => {
    const { status, output, logs } = await run([
      {
        loop: { for: { in: '[range(10000)]' }, do: [{ add: { set: '${ {sum: ((.sum // 0) + $item)} }' } }] },
      },
    ]);
    expect({ status, output }).toEqual({ status: 'completed', output: { sum: 49_995_000 } });
    expect(logs.at(-1).seq).toBeGreaterThan(20_000);
  });
});
