/** The lifecycle events of the DSL for real runs, as `/events` sends them. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import {
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../../support/platform.ts';
import { humanTask } from '../../support/definitions.ts';

const PREFIX = 'io.serverlessworkflow.';
let platform: TestPlatform;
let stop: AbortController;
const events: RunRecord[] = [];

beforeAll(async () => {
  platform = await startTestPlatform();
  stop = new AbortController();
  const { token } = await platform.user('builder');
  const stream = await fetch(`${platform.url}/events?types=${PREFIX}*`, {
    headers: { authorization: `Bearer ${token}` },
    signal: stop.signal,
  });
  void collect(stream).catch(() => {});
});
afterAll(async () => {
  stop.abort();
  await platform.close();
});

async function collect(stream: Response): Promise<void> {
  let rest = '';
  for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    rest += chunk;
    const parts = rest.split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const line = part.split('\n').find((field) => field.startsWith('data: '));
      if (line) events.push(JSON.parse(line.slice(6)));
    }
  }
}

/** All events of a run, once it has ended. */
async function eventsOf(runId: string): Promise<RunRecord[]> {
  const ofRun = (): RunRecord[] => events.filter(({ source }) => source.endsWith(runId));
  return until(
    async () => ofRun(),
    (found) => found.some(({ type }) => /workflow\.(completed|faulted|cancelled)/.test(type)),
  );
}
const shortly = ({ type, subject }: RunRecord): string =>
  `${type.slice(PREFIX.length, -'.v1'.length)}${subject ? ` ${subject}` : ''}`;

test('a suspended and resumed run sends each change of itself and of its tasks', async () => {
  const builder = await platform.as('builder');
  const definition = {
    document: { dsl: '1.0.3', namespace: 'samples', name: 'order-pet', version: '1.2.3' },
    do: [
      {
        both: {
          do: [{ first: { set: { done: true } } }, { ask: humanTask('Go on?') }],
        },
      },
    ],
  };
  const { id } = await startRun(builder, definition);
  const is = (status: string): Promise<RunRecord> =>
    until(
      async () => (await builder.get(`/runs/${id}`)).body,
      (run) => run.status === status,
    );
  await is('waiting');
  await builder.post(`/runs/${id}/suspend`);
  await is('suspended');
  await builder.post(`/runs/${id}/resume`);
  await is('waiting');
  const [task] = (await builder.get(`/hitl/tasks?run_id=${id}`)).body;
  expect((await builder.post(`/hitl/tasks/${task.id}/decision`, { decision: 'approve' })).status).toBe(200);
  await is('completed');
  const events = await eventsOf(id);
  const [both, first, ask] = ['/do/0/both', '/do/0/both/do/0/first', '/do/0/both/do/1/ask'];
  expect(events.map(shortly)).toEqual([
    'workflow.started',
    `task.created ${both}`,
    `task.started ${both}`,
    `task.created ${first}`,
    `task.started ${first}`,
    `task.completed ${first}`,
    `task.created ${ask}`,
    `task.started ${ask}`,
    'workflow.suspended',
    `task.suspended ${both}`,
    `task.suspended ${ask}`,
    'workflow.resumed',
    `task.resumed ${both}`,
    `task.resumed ${ask}`,
    `task.completed ${ask}`,
    `task.completed ${both}`,
    'workflow.completed',
  ]);
  expect(new Set(events.map((event) => event['id'])).size).toBe(events.length);
  const name = `order-pet-${id}.samples`;
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
  expect(events[0]?.['data']).toMatchObject({
    name,
    definition: { name: 'order-pet', namespace: 'samples', version: '1.2.3' },
    startedAt: time,
  });
  for (const { type, subject, data, runid } of events) {
    const [, of, word] = /\.(workflow|task)\.(\w+)\.v1$/.exec(type) ?? [];
    expect(data).toMatchObject(of === 'task' ? { workflow: name, task: subject } : { name });
    expect([type, data[`${word}At`], runid]).toEqual([type, time, id]);
  }
  expect(events.at(-1)?.['data']).toMatchObject({ output: { decision: 'approve' } });
});

test('the events of a fault contain the error, and those of a cancellation the time', async () => {
  const error = { type: 'https://example.com/broken', status: 500, title: 'Broken' };
  const { id } = await platform.runToEnd({ do: [{ fail: { raise: { error } } }] });
  const events = await eventsOf(id);
  const faulted = events.filter(({ type }) => type.includes('faulted'));
  expect(faulted.map(shortly)).toEqual(['task.faulted /do/0/fail', 'workflow.faulted']);
  for (const { data } of faulted) expect(data.error).toMatchObject(error);
});
