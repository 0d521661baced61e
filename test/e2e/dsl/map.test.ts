/** `call: map`: a task list for each item of an array, several items at the same time. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runWorkflowId } from '../../../contracts/temporal.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import type { Client } from '../../support/app.ts';
import { httpTask, humanTask } from '../../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import {
  endOf,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../../support/platform.ts';

/** Temporal suggests a new execution at 4,096 events; the items under way still end. */
const MAX_HISTORY = 6_000;

let platform: TestPlatform;
let builder: Client;
let service: TestServer;
const calls: string[] = [];
const refused = new Set<string>();
beforeAll(async () => {
  service = await startServer((request, response) => {
    calls.push(request.path);
    if (refused.has(request.path)) sendJson(response, { error: 'refused' }, 500);
    else sendJson(response, { path: request.path });
  });
  platform = await startTestPlatform();
  builder = await platform.as('builder');
});
afterAll(async () => {
  await platform.close();
  await service.close();
});

const map = (parameters: Record<string, unknown>, more: object = {}) => ({
  do: [{ each: { call: 'map', with: parameters, ...more } }],
});
const ask = (prefix: string) => ({
  ask: httpTask(`\${ "${service.url}/${prefix}-\\($item)" }`),
});
const run = async (definition: unknown, input: Record<string, unknown> = {}): Promise<RunRecord> =>
  platform.runToEnd(definition, input);
const broken = { type: 'https://example.com/broken', status: 500, title: 'Broken' };
const raiseAt = (index: number) => ({
  fail: { if: `$index == ${index}`, raise: { error: broken } },
});

async function historyLengths(runId: string): Promise<number[]> {
  const client = createTemporalClient(platform.temporal);
  const lengths: number[] = [];
  const query = `WorkflowId = '${runWorkflowId(runId)}'`;
  for await (const { historyLength } of client.workflow.list({ query })) lengths.push(historyLength ?? 0);
  await client.connection.close();
  return lengths;
}

describe('items', () => {
  test('get the input of the task, their item and their index, and give their outputs in order', async () => {
    const { output, status } = await run(
      map(
        {
          in: '.names',
          as: 'name',
          at: 'place',
          concurrency: '${ .names | length }',
          do: [{ greet: { set: { text: '${ "\\($place) \\($name) \\(.greeting)" }' } } }],
        },
        { output: { as: '${ map(.text) }' } },
      ),
      { names: ['a', 'b', 'c'], greeting: 'hello' },
    );
    expect({ output, status }).toEqual({
      status: 'completed',
      output: ['0 a hello', '1 b hello', '2 c hello'],
    });
  });

  test('keep what they export to themselves', async () => {
    const { output } = await run({
      do: [
        { before: { set: { n: 1 }, export: { as: '.' } } },
        {
          each: {
            call: 'map:1.0.0@default',
            with: {
              in: [1, 2],
              do: [
                { own: { set: { n: '${ $context.n + $item }' }, export: { as: '.' } } },
                { read: { set: '${ $context }' } },
              ],
            },
          },
        },
        { after: { set: { context: '${ $context }', each: '${ . }' } } },
      ],
    });
    expect(output).toEqual({ context: { n: 1 }, each: [{ n: 2 }, { n: 3 }] });
  });

  test('may be none, and may hold maps of their own', async () => {
    const inner = { call: 'map', with: { in: '$item', as: 'x', do: [{ add: { set: { x: '${ $x }' } } }] } };
    const { output } = await run(map({ in: [[], [1, 2]], do: [{ inner }] }));
    expect(output).toEqual([[], [{ x: 1 }, { x: 2 }]]);
  });

  test('are no more at the same time than asked for', async () => {
    const started = await startRun(
      builder,
      map({ in: '[range(5)]', concurrency: 2, do: [{ ask: humanTask('${ "Item \\($item)" }') }] }),
    );
    for (const first of [0, 2, 4]) {
      const expected = [first, first + 1].filter((item) => item < 5);
      const open = await until(
        async () => (await builder.get(`/hitl/tasks?run_id=${started['id']}`)).body as RunRecord[],
        (tasks) => tasks.length === expected.length && tasks.some(({ title }) => title === `Item ${first}`),
      );
      expect(open.map(({ title }) => String(title)).toSorted()).toEqual(expected.map((i) => `Item ${i}`));
      for (const { id } of open) await builder.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' });
    }
    expect((await endOf(builder, started))['status']).toBe('completed');
  });

  test('may be a thousand, fifty at the same time', async () => {
    const before = calls.length;
    const { id, output, status } = await run(
      map({
        in: '[range(1000)]',
        concurrency: 50,
        do: [ask('many'), { keep: { set: '${ .path }' } }],
      }),
    );
    expect(status).toBe('completed');
    expect(output).toEqual(Array.from({ length: 1000 }, (_unused, item) => `/many-${item}`));
    expect(calls.length - before).toBe(1000);
    const lengths = await historyLengths(String(id));
    expect(Math.max(...lengths)).toBeLessThan(MAX_HISTORY);
  });

  test.each(['five', '0', '1001'])('refuse a concurrency of %s', async (concurrency) => {
    const { error } = await run(map({ in: [1], concurrency: '${ .n }', do: [{ a: { set: { a: 1 } } }] }), {
      n: Number.isNaN(Number(concurrency)) ? concurrency : Number(concurrency),
    });
    expect(error.detail).toBe('with.concurrency must be a whole number from 1 to 1000');
  });

  test('have to be an array', async () => {
    const { error } = await run(map({ in: '.n', do: [{ a: { set: { a: 1 } } }] }), { n: 1 });
    expect(error).toMatchObject({ detail: 'with.in must give an array, not number', instance: '/do/0/each' });
  });
});

describe('an item that faults', () => {
  test('is collected beside the others', async () => {
    const { output, status } = await run(
      map({ in: [1, 2], on_error: 'collect', do: [raiseAt(0), { keep: { set: { n: '${ $item }' } } }] }),
    );
    expect(status).toBe('completed');
    expect(output).toEqual([
      { ok: false, error: { ...broken, instance: '/do/0/each/with/do/0/fail' } },
      { ok: true, output: { n: 2 } },
    ]);
  });

  test('cancels the others, and a retry goes on with it and keeps what is done', async () => {
    refused.add('/first-3');
    const faulted = await run(
      map({ in: '[range(6)]', concurrency: 1, do: [ask('first'), { keep: { set: '${ .path }' } }] }),
    );
    expect(faulted['status']).toBe('faulted');
    expect(calls.filter((path) => path.startsWith('/first-'))).toEqual(
      [0, 1, 2, 3].map((item) => `/first-${item}`),
    );
    refused.clear();
    const { body } = await builder.post(`/runs/${faulted['id']}/retry`, {});
    const retried = await endOf(builder, body);
    expect(retried['output']).toEqual([0, 1, 2, 3, 4, 5].map((item) => `/first-${item}`));
    expect(calls.filter((path) => path.startsWith('/first-'))).toEqual(
      [0, 1, 2, 3, 3, 4, 5].map((item) => `/first-${item}`),
    );
  });

  test('closes the questions of the others', async () => {
    const started = await startRun(
      builder,
      map({
        in: [0, 1],
        do: [{ ask: humanTask('${ "Item \\($item)" }') }, raiseAt(0)],
      }),
    );
    const open = await until(
      async () => (await builder.get(`/hitl/tasks?run_id=${started['id']}`)).body as RunRecord[],
      (tasks) => tasks.length === 2,
    );
    const first = open.find(({ title }) => title === 'Item 0');
    await builder.post(`/hitl/tasks/${first?.['id']}/decision`, { decision: 'approve' });
    expect((await endOf(builder, started))['error']).toMatchObject(broken);
    const other = open.find(({ title }) => title === 'Item 1');
    expect((await builder.get(`/hitl/tasks/${other?.['id']}`)).body.status).toBe('cancelled');
  });
});

test('an item that ends the workflow cancels the others', async () => {
  const { output, status } = await run({
    do: [
      {
        each: {
          call: 'map',
          with: {
            in: [0, 1],
            do: [
              { ask: { if: '$index == 0', ...humanTask('Never decided') } },
              { stop: { set: { stopped: '${ $index }' }, then: 'end' } },
            ],
          },
        },
      },
      { never: { set: { reached: true } } },
    ],
  });
  expect({ output, status }).toEqual({ status: 'completed', output: { stopped: 1 } });
});

test('a cancelled run cancels all items', async () => {
  const started = await startRun(
    builder,
    map({ in: [0, 1], on_error: 'collect', do: [{ ask: humanTask('Wait') }] }),
  );
  await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${started['id']}`)).body as RunRecord[],
    (tasks) => tasks.length === 2,
  );
  await builder.post(`/runs/${started['id']}/cancel`);
  expect((await endOf(builder, started))['status']).toBe('cancelled');
});

test('people see the outputs of their own item', async () => {
  const started = await startRun(
    builder,
    map({
      in: ['x', 'y', 'z'],
      do: [
        { draft: { if: '$item != "z"', set: { text: '${ $item }' } } },
        { ask: humanTask('${ $item }', { context: ['draft'] }) },
      ],
    }),
  );
  const open = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${started['id']}`)).body as RunRecord[],
    (tasks) => tasks.length === 3,
  );
  const shown = await Promise.all(
    open.map(async ({ id }) => {
      const { title, context } = (await builder.get(`/hitl/tasks/${id}`)).body;
      return [title, context[0].status, context[0].value];
    }),
  );
  expect(shown.toSorted()).toEqual([
    ['x', 'completed', { text: 'x' }],
    ['y', 'completed', { text: 'y' }],
    ['z', 'skipped', null],
  ]);
  await builder.post(`/runs/${started['id']}/cancel`);
  const { tasks } = await endOf(builder, started);
  expect(tasks.find(({ name, items }: RunRecord) => name === 'draft' && items[0] === 1)).toMatchObject({
    type: 'set',
    items: [1],
  });
});
