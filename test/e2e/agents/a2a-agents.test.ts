/**
 * Runs call remote agents over A2A: questions become human tasks here, and cancelling reaches the agents. Our
 * own agents can be called in the same way.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startRemoteAgent, type RemoteA2aAgent } from '../../support/a2a-agent.ts';
import { agentBody } from '../../support/agent-body.ts';
import type { Client } from '../../support/app.ts';
import {
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../../support/platform.ts';
import { agentTask } from '../../support/definitions.ts';

let platform: TestPlatform;
let builder: Client;
let remote: RemoteA2aAgent;

beforeAll(async () => {
  platform = await startTestPlatform({ env: { A2A_GRPC_PORT: '0' } });
  builder = await platform.as('builder');
  remote = await startRemoteAgent();
  await register({ name: 'remote', type: 'a2a', url: remote.url });
});
afterAll(async () => {
  await remote.close();
  await platform.close();
});

async function register(more: Record<string, unknown>): Promise<RunRecord> {
  const reply = await builder.post('/agents', agentBody(more));
  expect({ status: reply.status, errors: reply.body.errors }).toEqual({ status: 201, errors: undefined });
  return reply.body;
}

const calling = (agent: string, input: unknown, more: Record<string, unknown> = {}) => ({
  do: [{ ask: agentTask(agent, { input, ...more }) }],
});
const read = async (run: RunRecord): Promise<RunRecord> => (await builder.get(`/runs/${run['id']}`)).body;

async function openTask(run: RunRecord, title: string): Promise<RunRecord> {
  const tasks = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${run['id']}`)).body as RunRecord[],
    (found) => found.some((task) => task['title'] === title),
  );
  return tasks.find((task) => task['title'] === title) ?? {};
}

async function decide(task: RunRecord, body: Record<string, unknown>): Promise<void> {
  expect(await builder.post(`/hitl/tasks/${task['id']}/decision`, body)).toMatchObject({ status: 200 });
}

test('a remote agent gets input and skill, and returns the output', async () => {
  const run = await platform.runToEnd(calling('remote', { q: '${ .question }' }, { skill: 'books' }), {
    question: 'why?',
  });
  expect(run).toMatchObject({
    status: 'completed',
    output: { parts: [{ kind: 'data', value: { q: 'why?' } }], metadata: { skill: 'books' } },
  });
  expect(run['tasks'][0].usage).toMatchObject({ requests: 1 });
});

test('a file of a remote agent becomes a file of the run owner', async () => {
  const run = await platform.runToEnd(calling('remote', 'file please'));
  const [file] = run['output'].files;
  expect(file).toMatchObject({ name: 'table.csv', media_type: 'text/csv', size: 8 });
  expect((await builder.get(`/files/${file.file_id}`)).status).toBe(200);
  const back = await platform.runToEnd(
    calling('remote', { text: 'read', files: [{ file_id: file.file_id }] }),
  );
  expect(back['output'].parts[1]).toEqual({
    kind: 'raw',
    value: 'a,b\n1,2\n',
    filename: 'table.csv',
    mediaType: 'text/csv',
  });
});

test('questions of a remote agent become human tasks, whose answers go to the same remote task', async () => {
  const before = remote.tasks.size;
  const run = await startRun(builder, calling('remote', 'ask me'));
  const first = await openTask(run, 'Which city?');
  expect(first).toMatchObject({
    status: 'open',
    description: 'Which city?\nFor the hotel.',
    decisions: [{ id: 'answer' }, { id: 'reject' }],
    form_schema: { required: ['text'] },
  });
  await until(
    () => read(run),
    (now) => now['status'] === 'waiting' && now['waiting_on'][0].id === first['id'],
  );
  expect(
    (await builder.post(`/hitl/tasks/${first['id']}/decision`, { decision: 'answer', payload: {} })).status,
  ).toBe(422);
  await decide(first, { decision: 'answer', payload: { text: 'Rome' } });
  const second = await openTask(run, 'And the date?');
  await decide(second, { decision: 'answer', payload: { date: '1 May' } });
  const ended = await until(
    () => read(run),
    (now) => now['status'] === 'completed',
  );
  expect(ended['output']).toEqual({ answers: [{ date: '1 May' }] });
  expect(remote.tasks.size - before).toBe(1);
  expect(
    ended['logs'].filter((entry: RunRecord) => entry['type'] === 'io.cadenza.hitl.task-created.v1'),
  ).toHaveLength(2);
});

test('texts of a remote agent are never evaluated, and its own decisions are offered', async () => {
  const run = await startRun(builder, calling('remote', 'approve'));
  const task = await openTask(run, 'May I ${ .spend }?');
  expect((await builder.post(`/hitl/tasks/${task['id']}/decision`, { decision: 'no' })).status).toBe(422);
  await decide(task, { decision: 'no', comment: 'too much' });
  const ended = await until(
    () => read(run),
    (now) => now['status'] === 'completed',
  );
  expect(ended['output']).toEqual({ type: 'hitl_request', id: 'r-1', decision: 'no', comment: 'too much' });
});

test('refusing an answer ends the remote task, and the run can catch that', async () => {
  const run = await startRun(builder, {
    do: [
      {
        guarded: {
          try: calling('remote', 'ask').do,
          catch: {
            errors: { with: { status: 403 } },
            as: 'problem',
            do: [{ told: { set: { detail: '${ $problem.detail }' } } }],
          },
        },
      },
    ],
  });
  await decide(await openTask(run, 'Which city?'), { decision: 'reject', comment: 'no time' });
  const ended = await until(
    () => read(run),
    (now) => now['status'] === 'completed',
  );
  expect(ended['output'].detail).toContain('no time');
  expect(remote.cancelled).toContain([...remote.tasks].at(-1));
});

test.each(['hold', 'ask'])('cancelling a run cancels its remote task (%s)', async (word) => {
  const before = remote.tasks.size;
  const run = await startRun(builder, calling('remote', `${word} please`));
  await until(
    async () => remote.tasks.size,
    (size) => size > before,
  );
  if (word === 'ask') await openTask(run, 'Which city?');
  const id = [...remote.tasks].at(-1) ?? '';
  await builder.post(`/runs/${run['id']}/cancel`, {});
  await until(
    () => read(run),
    (now) => now['status'] === 'cancelled',
  );
  await until(
    async () => remote.cancelled,
    (cancelled) => cancelled.includes(id),
  );
  expect((await builder.get(`/hitl/tasks?run_id=${run['id']}`)).body).toEqual([]);
});

test('a worker that stops leaves the remote task to the next worker', async () => {
  const before = remote.messages.length;
  const run = await startRun(builder, calling('remote', 'hold the line'));
  await until(
    async () => remote.messages.length,
    (count) => count > before,
  );
  const [remoteTask] = await until(
    () =>
      platform.orm.em
        .fork()
        .execute<{ progress: unknown }[]>('select progress from invocation where run_id = ?', [run['id']]),
    (rows) => rows[0]?.progress !== null,
  );
  expect(remoteTask?.progress).toMatchObject({ task_id: [...remote.tasks].at(-1) });
  await platform.stopWorker();
  await platform.startWorker();
  remote.release();
  const ended = await until(
    () => read(run),
    (now) => now['status'] === 'completed',
  );
  expect(ended['output']).toMatch(/^before\s+and after$/);
  expect(remote.messages.length - before).toBe(1);
  expect(remote.cancelled).not.toContain([...remote.tasks].at(-1));
});

test.each(['JSONRPC', 'HTTP+JSON', 'GRPC'])(
  'our own agents can be called over A2A, including their human tasks (%s)',
  async (binding) => {
    const definition = {
      do: [
        {
          review: {
            call: 'human',
            with: {
              title: 'Publish ${ .data.title }?',
              form: { type: 'object', properties: { price: { type: 'number' } }, required: ['price'] },
            },
          },
        },
        { done: { set: { decided: '${ $task.input.decision }', price: '${ $task.input.payload.price }' } } },
      ],
    };
    const workflow = (await builder.post('/workflows', { name: 'inner', definition })).body;
    const inner = await register({
      name: `inner-${binding}`,
      type: 'workflow',
      configuration: { workflow_id: workflow.id },
      capabilities_streaming: binding !== 'HTTP+JSON',
    });
    const other = await platform.user('admin');
    await builder.put('/secrets/OWN_TOKEN', { value: other.token });
    await register({
      name: `outer-${binding}`,
      type: 'a2a',
      url: `${platform.url}/api/v1/a2a/${inner['id']}`,
      configuration: { binding },
      authentication_type: 'jwt',
      authentication_config: { token: '<OWN_TOKEN>' },
    });
    const run = await startRun(builder, calling(`outer-${binding}`, { title: 'Novel' }));
    const question = await openTask(run, 'Publish Novel?');
    expect(question).toMatchObject({
      form_schema: { required: ['price'] },
      decisions: [{ id: 'approve' }, { id: 'reject' }],
    });
    await decide(question, { decision: 'approve', payload: { price: 9 } });
    const ended = await until(
      () => read(run),
      (now) => ['completed', 'faulted'].includes(now['status']),
    );
    expect(ended).toMatchObject({ status: 'completed', output: { decided: 'approve', price: 9 } });
    const [innerRun] = await platform.orm.em
      .fork()
      .execute<{ owner_id: string; initiators: string[] }[]>(
        `select owner_id, to_json(initiator_ids) as initiators from run where agent_id = ?`,
        [inner['id']],
      );
    expect(innerRun?.owner_id).toBe(other.id);
    expect(innerRun?.initiators.toSorted()).toEqual([other.id, run['owner_id']].toSorted());
  },
);

test('call: a2a reaches an unregistered agent with a secret of the workflow owner', async () => {
  const guarded = await startRemoteAgent({ authorization: () => 'Bearer open-sesame-1234' });
  try {
    await builder.put('/secrets/far', { value: 'open-sesame-1234' });
    const run = await platform.runToEnd(
      {
        use: { secrets: ['far'] },
        do: [
          {
            ask: {
              call: 'a2a',
              with: {
                method: 'message/send',
                agentCard: {
                  endpoint: {
                    uri: `${guarded.url}/.well-known/{card}`,
                    authentication: { bearer: { use: 'far' } },
                  },
                },
                parameters: { message: { parts: [{ kind: 'text', text: 'about ${ .topic }' }] } },
              },
            },
          },
        ],
      },
      { card: 'agent-card.json', topic: 'Rome' },
    );
    expect(run).toMatchObject({
      status: 'completed',
      output: {
        task: {
          status: { state: 'TASK_STATE_COMPLETED' },
          artifacts: [{ parts: [{ data: { said: 'about Rome' } }] }],
        },
      },
    });
  } finally {
    await guarded.close();
  }
});
