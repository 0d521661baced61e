/**
 * The worker is killed while a remote agent works: there is no second remote task, and the run gets the
 * output of the first.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startRemoteAgent, type RemoteA2aAgent, type RemoteOptions } from '../support/a2a-agent.ts';
import { agentBody } from '../support/agent-body.ts';
import { createClient } from '../support/app.ts';
import { eventually, upFolder, type Up, type UpFolder } from '../support/up-process.ts';
import { agentTask } from '../support/definitions.ts';

let folder: UpFolder;
let up: Up;
let url: string;
const agents: RemoteA2aAgent[] = [];

beforeAll(async () => {
  folder = upFolder();
  up = folder.start({}, { program: join(import.meta.dirname, '../../dev/up.ts') });
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

test('kill -9 of the worker during a remote task starts no second one, by any binding', async () => {
  const password = /Admin +admin \/ (\S+)/.exec(up.output())?.[1];
  const { body } = await createClient(url).post('/auth/token', { username: 'admin', password });
  const client = createClient(url, body.access_token);
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
