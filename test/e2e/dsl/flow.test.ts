/** Special cases of control flow and data flow, end to end: dsl-reference.md, dsl.md. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestPlatform, type RunRecord, type TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startTestPlatform();
});
afterAll(() => platform.close());

const run = (
  tasks: unknown[],
  input: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
): Promise<RunRecord> => platform.runToEnd({ do: tasks, ...more }, input);
const push = (name: string) => ({ set: `\${ {p: ((.p // []) + ["${name}"])} }` });
const fail = (status = 500) => ({ raise: { error: { type: 'https://example.com/e', status } } });
const wait = (milliseconds: number) => ({ wait: { milliseconds } });
const passed = async (tasks: unknown[], input: Record<string, unknown> = {}): Promise<string[]> =>
  (await run(tasks, input))['output'].p;

describe('then', () => {
  test('goes forward and back', async () => {
    const { output } = await run([
      { count: { set: '${ {n: ((.n // 0) + 1)} }' } },
      { again: { switch: [{ more: { when: '.n < 5', then: 'count' } }] } },
      { skip: { set: '${ . + {skipped: false} }', then: 'last' } },
      { never: { set: { n: -1 } } },
      { last: { set: '${ . + {last: true} }' } },
    ]);
    expect(output).toEqual({ n: 5, skipped: false, last: true });
  });

  test('with exit leaves its own list only, with end all lists', async () => {
    const nested = (then: string) => [
      {
        a: {
          do: [{ b: { do: [{ c: { ...push('c'), then } }, { never1: push('never1') }] } }, { d: push('d') }],
        },
      },
      { e: { for: { in: '[1, 2]' }, do: [{ f: { ...push('f'), then } }, { never2: push('never2') }] } },
      { g: { try: [{ h: { ...push('h'), then } }, { never3: push('never3') }], catch: {} } },
      { i: push('i') },
    ];
    expect(await passed(nested('exit'))).toEqual(['c', 'd', 'f', 'f', 'h', 'i']);
    expect(await passed(nested('end'))).toEqual(['c']);
    expect(await passed(nested('end').slice(1))).toEqual(['f']);
    expect(await passed(nested('end').slice(2))).toEqual(['h']);
    expect(await passed([{ x: { ...push('x'), then: 'exit' } }, { y: push('y') }])).toEqual(['x']);
  });

  test('with end in a branch ends the run with its output, and cancels the other branches', async () => {
    const { output, tasks, status } = await run(
      [
        {
          both: {
            fork: {
              branches: [
                { slow: wait(30_000) },
                { quick: { do: [{ stop: { set: { v: 1 }, then: 'end' } }] } },
              ],
            },
          },
        },
        { never: push('never') },
      ],
      {},
      { output: { as: '{out: .}' } },
    );
    expect({ status, output }).toEqual({ status: 'completed', output: { out: { v: 1 } } });
    expect(tasks.find((task: RunRecord) => task['name'] === 'slow').status).toBe('cancelled');
    expect(tasks.some((task: RunRecord) => task['name'] === 'never')).toBe(false);
  });
});

describe('switch', () => {
  const cases = (value: unknown) => [
    {
      choose: {
        switch: [
          { fallback: { then: 'other' } },
          { one: { when: '.v == 1', then: 'first' } },
          { alsoOne: { when: '.v == 1', then: 'other' } },
          { odd: { when: '.deep', then: 'exit' } },
        ],
      },
    },
    { first: { ...push('first'), then: 'exit' } },
    { other: push('other') },
    { marker: { set: { p: ['marker', value] } } },
  ];
  test("takes the first case that holds by jq's truth, else the default wherever it stands", async () => {
    expect(await passed(cases(1), { v: 1 })).toEqual(['first']);
    expect((await run(cases(2), { v: 2 }))['output']).toEqual({ p: ['marker', 2] });
    expect((await run(cases(3), { deep: 0 }))['output']).toEqual({ deep: 0 });
    expect((await run(cases(4), { deep: null }))['output']).toEqual({ p: ['marker', 4] });
  });

  test("without a matching case follows the task's own then, with the input as output", async () => {
    const tasks = [
      { choose: { switch: [{ no: { when: 'false', then: 'never' } }], then: 'last' } },
      { never: push('never') },
      { last: push('last') },
    ];
    expect(await passed(tasks, { p: ['in'] })).toEqual(['in', 'last']);
  });

  test('faults at a condition that fails', async () => {
    const { error } = await run([{ choose: { switch: [{ bad: { when: '.a + 1', then: 'end' } }] } }], {
      a: {},
    });
    expect(error).toMatchObject({
      type: expect.stringContaining('/errors/expression'),
      instance: '/do/0/choose',
    });
  });
});

describe('retry', () => {
  const guarded = (
    retry: unknown,
    more: Record<string, unknown> = {},
    tasks: unknown[] = [{ fail: fail(503) }],
  ) => [
    {
      guarded: {
        try: tasks,
        catch: { as: 'e', retry, do: [{ handle: { set: { handled: '${ $e.status }' } } }], ...more },
      },
    },
  ];
  const attempts = (found: RunRecord): number =>
    found['logs'].filter((entry: RunRecord) => entry['type'].endsWith('task.retried.v1')).length + 1;

  test('ends by limit.duration, whatever the count says', async () => {
    const found = await run(
      guarded({
        delay: { milliseconds: 150 },
        limit: { duration: { milliseconds: 700 }, attempt: { count: 1_000 } },
      }),
    );
    expect(found['output']).toEqual({ handled: 503 });
    expect(attempts(found)).toBeGreaterThan(1);
    expect(attempts(found)).toBeLessThanOrEqual(6);
  });

  test('turns limit.attempt.duration into an error like any other', async () => {
    const found = await run(
      guarded({ limit: { attempt: { count: 1, duration: { milliseconds: 80 } } } }, {}, [
        { slow: wait(30_000) },
      ]),
    );
    expect(found['output']).toEqual({ handled: 408 });
    expect(attempts(found)).toBe(2);
  });

  test.each([
    ['constant', { constant: {} }, [100, 100, 100]],
    ['linear', { linear: {} }, [100, 200, 300]],
    ['exponential', { exponential: {} }, [100, 200, 400]],
  ])('waits with a %s backoff and jitter', async (_name, backoff, pauses) => {
    const found = await run(
      guarded({
        delay: { milliseconds: 100 },
        backoff,
        jitter: { from: { milliseconds: 10 }, to: { milliseconds: 40 } },
        limit: { attempt: { count: 3 } },
      }),
    );
    const retried = found['logs'].filter((entry: RunRecord) => entry['type'].endsWith('task.retried.v1'));
    const planned = retried.map(({ at, data }: RunRecord) => Date.parse(data['retriedAt']) - Date.parse(at));
    planned.forEach((pause: number, i: number) => {
      expect(pause).toBeGreaterThanOrEqual((pauses[i] ?? 0) + 10 - 2);
      expect(pause).toBeLessThanOrEqual((pauses[i] ?? 0) + 40 + 2);
    });
    expect(planned).toHaveLength(3);
  });

  test('follows when and exceptWhen of its policy, while those of catch select the errors', async () => {
    const policy = (more: object) => ({ limit: { attempt: { count: 2 } }, ...more });
    expect(attempts(await run(guarded(policy({ when: '$e.status == 503' }))))).toBe(3);
    expect(attempts(await run(guarded(policy({ when: '$e.status == 500' }))))).toBe(1);
    expect(attempts(await run(guarded(policy({ exceptWhen: '$e.status == 503' }))))).toBe(1);
    for (const more of [
      { when: '$e.status == 500' },
      { exceptWhen: '$e.status == 503' },
      { errors: { with: { status: 500 } } },
    ]) {
      const found = await run(guarded(policy({}), more));
      expect(found).toMatchObject({
        status: 'faulted',
        error: { status: 503, instance: '/do/0/guarded/try/0/fail' },
      });
      expect(attempts(found)).toBe(1);
    }
  });

  test('starts each attempt with the first input and context, and passes on the last error', async () => {
    const tasks = [
      { one: { ...push('one'), export: { as: '{tries: (($context.tries // 0) + 1)}' } } },
      { fail: { if: '$context.tries < 9', ...fail(503) } },
    ];
    const found = await run([
      { before: { set: { p: ['before'] } } },
      { guarded: { try: tasks, catch: { retry: { limit: { attempt: { count: 2 } } } } } },
    ]);
    expect(found).toMatchObject({ status: 'faulted', error: { status: 503 } });
    const { output } = await run(
      [
        ...guarded(
          { limit: { attempt: { count: 2 } } },
          { do: [{ told: { set: { context: '${ $context }', p: '${ .p }' } } }] },
          tasks,
        ),
      ],
      { p: ['in'] },
    );
    expect(output).toEqual({ context: { tries: 1 }, p: ['in'] });
  });

  test('can name a policy, and the error variable ends with the catch', async () => {
    const definition = guarded('gently');
    expect(
      (await run(definition, {}, { use: { retries: { gently: { limit: { attempt: { count: 1 } } } } } }))[
        'output'
      ],
    ).toEqual({ handled: 503 });
  });
});

describe('catch', () => {
  test('follows its own then before that of the task, and passes the input on without do', async () => {
    const list = (more: object, after: object = {}) => [
      { guarded: { try: [{ fail: fail() }], catch: more, then: 'plain', ...after } },
      { skipped: push('skipped') },
      { plain: { ...push('plain'), then: 'end' } },
      { special: push('special') },
    ];
    expect(await passed(list({ then: 'special' }), { p: ['in'] })).toEqual(['in', 'special']);
    expect(await passed(list({}), { p: ['in'] })).toEqual(['in', 'plain']);
    expect(await passed(list({ do: [{ h: push('h') }], then: 'special' }))).toEqual(['h', 'special']);
    expect(
      await passed(
        list({ do: [{ h: { ...push('h'), then: 'exit' } }, { never: push('never') }], then: 'special' }),
      ),
    ).toEqual(['h', 'special']);
    expect(await passed(list({ do: [{ h: { ...push('h'), then: 'end' } }], then: 'special' }))).toEqual([
      'h',
    ]);
  });

  test('passes an error of catch.do to the outer try, with its own place', async () => {
    const { output } = await run([
      {
        outer: {
          try: [{ inner: { try: [{ first: fail(500) }], catch: { do: [{ second: fail(501) }] } } }],
          catch: { as: 'e', do: [{ tell: { set: '${ $e | {status, instance} }' } }] },
        },
      },
    ]);
    expect(output).toEqual({ status: 501, instance: '/do/0/outer/try/0/inner/catch/do/0/second' });
  });

  test('filters by type, status, title, detail and instance together', async () => {
    const error = { type: 'https://example.com/e', status: 418, title: 'Teapot', detail: 'short and stout' };
    const caught = async (filter: Record<string, unknown>): Promise<string> =>
      (await run([{ g: { try: [{ f: { raise: { error } } }], catch: { errors: { with: filter } } } }]))[
        'status'
      ];
    for (const [key, value] of Object.entries(error)) {
      expect([key, await caught({ [key]: value })]).toEqual([key, 'completed']);
      expect([
        key,
        await caught({ ...error, [key]: typeof value === 'number' ? 500 : 'https://example.com/other' }),
      ]).toEqual([key, 'faulted']);
    }
    expect(await caught({ instance: '/do/0/g/try/0/f' })).toBe('completed');
  });
});

describe('a timeout', () => {
  const slow = { slow: { ...wait(30_000), timeout: { after: { milliseconds: 60 } } } };

  test('in a branch cancels the other branch if the try is around the fork', async () => {
    const { output, tasks } = await run([
      {
        guarded: {
          try: [{ both: { fork: { branches: [{ other: wait(30_000) }, { list: { do: [slow] } }] } } }],
          catch: {
            errors: { with: { type: 'https://serverlessworkflow.io/spec/1.0.0/errors/timeout' } },
            as: 'e',
            do: [{ tell: { set: { where: '${ $e.instance }' } } }],
          },
        },
      },
    ]);
    expect(output).toEqual({ where: '/do/0/guarded/try/0/both/fork/branches/1/list/do/0/slow' });
    expect(tasks.find((task: RunRecord) => task['name'] === 'other').status).toBe('cancelled');
    expect(tasks.find((task: RunRecord) => task['name'] === 'slow').status).toBe('faulted');
  });

  test('in a branch leaves the other branches alone if the branch catches it', async () => {
    const { output } = await run([
      {
        both: {
          fork: {
            branches: [
              { a: { try: [slow], catch: { do: [{ late: { set: { late: true } } }] } } },
              { b: { do: [{ w: wait(200) }, { s: { set: { b: 1 } } }] } },
            ],
          },
        },
      },
    ]);
    expect(output).toEqual([{ late: true }, { b: 1 }]);
  });

  test('by name cancels everything inside a fork, a loop and a list', async () => {
    const branches = [{ x: wait(30_000) }, { y: wait(30_000) }];
    const kinds = {
      f: { fork: { branches } },
      l: { for: { in: '[1]' }, do: [{ x: wait(30_000) }] },
      d: { do: [{ x: wait(30_000) }] },
    };
    for (const [name, task] of Object.entries(kinds)) {
      const found = await run(
        [{ [name]: { ...task, timeout: 'soon' } }],
        {},
        { use: { timeouts: { soon: { after: 'PT0.05S' } } } },
      );
      expect(found).toMatchObject({ status: 'faulted', error: { status: 408, instance: `/do/0/${name}` } });
      expect(
        found['tasks']
          .filter((task: RunRecord) => task['name'] === 'x')
          .map((task: RunRecord) => task['status']),
      ).toEqual(['cancelled']);
    }
  });

  test('has no effect on a task that ends in time, nor on what follows', async () => {
    const { status, output } = await run([
      { quick: { ...push('quick'), timeout: { after: { milliseconds: 50 } } } },
      { pause: wait(150) },
      { end: push('end') },
    ]);
    expect({ status, output }).toEqual({ status: 'completed', output: { p: ['quick', 'end'] } });
  });
});

describe('export', () => {
  test('shows in all nested scopes that follow it', async () => {
    const note = (name: string) => ({
      set: { at: '${ $context }' },
      export: { as: `$context + {${name}: true}` },
    });
    const { output } = await run([
      { a: note('a') },
      {
        list: {
          do: [
            { b: note('b') },
            { loop: { for: { in: '[1]' }, do: [{ c: note('c') }] } },
            { t: { try: [{ d: note('d') }, { f: fail() }], catch: { do: [{ e: note('e') }] } } },
          ],
        },
      },
      { last: { set: '${ $context }' } },
    ]);
    expect(output).toEqual({ a: true, b: true, c: true, d: true, e: true });
  });

  test('of branches starts with the same context and is merged in their order, with deletions', async () => {
    const { output } = await run([
      { start: { set: { v: 0 }, export: { as: '{keep: 1, drop: 2, both: 0}' } } },
      {
        all: {
          fork: {
            branches: [
              {
                x: {
                  do: [
                    { w: wait(120) },
                    { x1: { set: { v: 0 }, export: { as: '$context + {x: 1, both: "x"}' } } },
                  ],
                },
              },
              { y: { set: { v: 0 }, export: { as: '$context | del(.drop) | .both = "y"' } } },
              { z: { set: '${ $context }' } },
            ],
          },
        },
      },
      { last: { set: { context: '${ $context }', z: '${ .[2] }' } } },
    ]);
    expect(output).toEqual({ context: { keep: 1, both: 'y', x: 1 }, z: { keep: 1, drop: 2, both: 0 } });
  });

  test('of the fork itself comes after those of its branches, and its schema is checked', async () => {
    const { output } = await run([
      {
        all: {
          fork: { branches: [{ x: { set: { v: 1 }, export: { as: '{x: 1}' } } }] },
          export: { as: '$context + {all: .}' },
        },
      },
      { last: { set: '${ $context }' } },
    ]);
    expect(output).toEqual({ x: 1, all: [{ v: 1 }] });
    const { error } = await run([
      {
        a: {
          set: { v: 0 },
          export: { as: '{n: "x"}', schema: { document: { properties: { n: { type: 'number' } } } } },
        },
      },
    ]);
    expect(error).toMatchObject({ type: expect.stringContaining('/errors/validation'), instance: '/do/0/a' });
  });
});

describe('descriptors', () => {
  test('give $task, $workflow and $runtime as the specification says, each at its place', async () => {
    const task = {
      set: {
        task: '${ $task }',
        workflow: '${ $workflow }',
        runtime: '${ $runtime }',
        input: '${ $input }',
        own: '${ . }',
      },
      input: { from: '.inner' },
      output: { as: '. + {after: $task.output.own, done: ($task | has("output"))}' },
    };
    const definition = {
      document: { dsl: '1.0.3', namespace: 'desc', name: 'descriptors', version: '0.1.0' },
      input: { from: '{inner: .raw}' },
      do: [{ list: { do: [{ look: task }] } }],
    };
    const { id, output } = await platform.runToEnd(definition, { raw: { a: 1 } });
    const time = {
      iso8601: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      epoch: { seconds: expect.any(Number), milliseconds: expect.any(Number) },
    };
    expect(output).toEqual({
      task: {
        name: 'look',
        reference: '/do/0/list/do/0/look',
        definition: task,
        input: { inner: { a: 1 } },
        startedAt: time,
      },
      workflow: { id, definition, input: { raw: { a: 1 } }, startedAt: time },
      runtime: { name: 'cadenza', version: expect.any(String), metadata: expect.any(Object) },
      input: { a: 1 },
      own: { a: 1 },
      after: { a: 1 },
      done: true,
    });
    expect(output.task.startedAt.epoch.seconds).toBe(
      Math.floor(Date.parse(output.task.startedAt.iso8601) / 1000),
    );
    expect(output.task.startedAt.epoch.milliseconds).toBeGreaterThanOrEqual(
      output.workflow.startedAt.epoch.milliseconds,
    );
  });

  test('give $output to export, $input to the definition, and loop variables to loops', async () => {
    const { output } = await run(
      [
        {
          a: {
            set: { v: 1 },
            output: { as: '.v + 1' },
            export: { as: '{output: $output, dot: ., input: $input}' },
          },
        },
        {
          loop: {
            for: { each: 'x', in: '[1, 2]', at: 'i' },
            do: [
              { inner: { for: { each: 'x', in: '["a"]' }, do: [{ s: { set: '${ [$x, $i, $index] }' } }] } },
              { o: { set: '${ [., $x] }' } },
            ],
          },
        },
        { last: { set: { context: '${ $context }', loop: '${ . }' } } },
      ],
      { in: true },
    );
    expect(output).toEqual({ context: { output: 2, dot: 2, input: { in: true } }, loop: [['a', 1, 0], 2] });
  });
});
