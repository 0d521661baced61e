/**
 * The worker, and the API, are killed while somebody else works: there is no second remote task or job, and
 * the run gets the output of the first.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { runningPostgres } from '../../dev/postgres.ts';
import { startRemoteAgent, type RemoteA2aAgent, type RemoteOptions } from '../support/a2a-agent.ts';
import { agentBody } from '../support/agent-body.ts';
import { createClient, type Client, type Reply } from '../support/app.ts';
import { sendJson, startServer } from '../support/http-server.ts';
import { quickStart } from '../support/programs.ts';
import { eventually, upFolder, type Up, type UpFolder } from '../support/up-process.ts';
import { agentTask } from '../support/definitions.ts';

let folder: UpFolder;
let up: Up;
let url: string;
const agents: RemoteA2aAgent[] = [];

beforeAll(async () => {
  folder = upFolder();
  up = folder.start(await quickStart(folder.dataDir), {
    program: join(import.meta.dirname, '../../dev/up.ts'),
  });
  url = await up.ready();
});
afterAll(async () => {
  await folder.clean();
  await Promise.all(agents.map((agent) => agent.close()));
});

const KINDS: RemoteOptions[] = [
  { version: '1.0' },
  { version: '1.0', streaming: false },
  { version: '1.0', binding: 'HTTP+JSON' },
  { version: '0.3' },
  { version: '0.3', binding: 'HTTP+JSON' },
];

async function logIn(): Promise<Client> {
  const password = /Admin +admin \/ (\S+)/.exec(up.output())?.[1];
  const { body } = await createClient(url).post('/auth/token', { username: 'admin', password });
  return createClient(url, body.access_token);
}

/** How many calls have stored the id of their remote task. */
async function knownTasks(): Promise<number> {
  const client = new pg.Client({ connectionString: (await runningPostgres(folder.dataDir)) ?? '' });
  await client.connect();
  try {
    const { rows } = await client.query(
      `select count(*)::int as count from invocation where progress ->> 'task_id' is not null`,
    );
    return rows[0].count;
  } finally {
    await client.end();
  }
}

test('kill -9 of the worker during a remote task starts no second one, by any binding', async () => {
  const client = await logIn();
  const runs = await Promise.all(
    KINDS.map(async (kind, n) => {
      const remote = await startRemoteAgent(kind);
      agents.push(remote);
      const agent = await client.post(
        '/agents',
        agentBody({ name: `remote-${n}`, type: 'a2a', url: remote.url }),
      );
      expect(agent.status).toBe(201);
      const workflow = await client.post('/workflows', {
        name: 'far',
        definition: { do: [{ far: agentTask(agent.body.id, { input: 'hold on' }) }] },
      });
      const run = await client.post(`/workflows/${workflow.body.id}/run`, {});
      return { kind, remote, id: run.body.id };
    }),
  );
  await eventually(async () =>
    expect(runs.map(({ remote }) => remote.tasks.size)).toEqual(KINDS.map(() => 1)),
  );
  // An agent that has the message, and cannot list its tasks, would get it again from a worker that does not
  // know the task yet.
  await eventually(async () => expect(await knownTasks()).toBe(KINDS.length));
  process.kill(folder.pidOf('worker'), 'SIGKILL');
  for (const { remote } of runs) remote.release();
  for (const { kind, remote, id } of runs) {
    await eventually(async () => {
      const { body: now } = await client.get(`/runs/${id}`);
      expect({ kind, status: now.status, output: now.output }).toEqual({
        kind,
        status: 'completed',
        output: expect.stringMatching(/^before\s+and after$/),
      });
    });
    const messages = new Set(remote.messages.map(({ messageId }) => messageId)).size;
    expect({ kind, tasks: remote.tasks.size, messages, cancelled: remote.cancelled }).toEqual({
      kind,
      tasks: 1,
      messages: 1,
      cancelled: [],
    });
  }
});

test('kill -9 of API and worker during a job, a poll and a callback ends in one output of each', async () => {
  const client = await logIn();
  let isDone = false;
  const service = await startServer((request, response) => {
    const sum = { status: isDone ? 'succeeded' : 'running', output: { sum: 2 } };
    if (request.method === 'GET') return sendJson(response, sum);
    response.writeHead(202, { location: '/state' });
    response.end();
  });
  const starts = (path: string) =>
    service.seen.filter((request) => request.method === 'POST' && request.path === path);
  try {
    const agent = async (name: string, more: Record<string, unknown>): Promise<string> => {
      const { status, body } = await client.post('/agents', agentBody({ name, ...more }));
      expect(status).toBe(201);
      return body.id;
    };
    const api = (path: string, long: Record<string, unknown>) => ({
      configuration: { endpoint: `${service.url}${path}`, async: long },
    });
    const ids = [
      await agent('job', { execution_type: 'edge', configuration: { lease: 'PT5S' } }),
      await agent('polled', api('/polled', { mode: 'poll', interval: 50 })),
      await agent('called', api('/called', { mode: 'callback' })),
    ];
    const definition = {
      do: [
        { all: { fork: { branches: ids.map((id, n) => ({ [`b${n}`]: agentTask(id, { input: {} }) })) } } },
      ],
    };
    const workflow = await client.post('/workflows', { name: 'three', definition });
    const run = await client.post(`/workflows/${workflow.body.id}/run`, {});
    const [edge = ''] = ids;
    const poll = (): Promise<Reply> => client.post(`/agents/${edge}/jobs/poll`, { wait_seconds: 20 });
    const first = (await poll()).body[0];
    await eventually(async () =>
      expect([starts('/polled').length, starts('/called').length]).toEqual([1, 1]),
    );
    // The first holder of the job is lost, and so are our own programs.
    for (const role of ['api', 'worker']) process.kill(folder.pidOf(role), 'SIGKILL');
    isDone = true;
    const callback = String(starts('/called')[0]?.headers['x-callback-url']);
    await eventually(async () =>
      expect((await client.post(callback, { output: { sum: 3 } }).catch(() => null))?.status).toBe(200),
    );
    await eventually(async () => {
      const { body } = await poll();
      expect(body).toMatchObject([{ id: first.id, attempt: 2 }]);
    });
    process.kill(folder.pidOf('api'), 'SIGKILL');
    await eventually(async () => {
      const body = { output: { sum: 1 }, attempt: 2 };
      expect((await client.post(`/jobs/${first.id}/complete`, body).catch(() => null))?.status).toBe(200);
    });
    await eventually(async () => {
      const { body } = await client.get(`/runs/${run.body.id}`);
      const output = [{ sum: 1 }, { sum: 2 }, { sum: 3 }];
      expect(body).toMatchObject({ status: 'completed', output });
    });
    expect([starts('/polled').length, starts('/called').length]).toEqual([1, 1]);
    expect((await client.post(callback, { output: { sum: 4 } })).status).toBe(410);
  } finally {
    await service.close();
  }
});
