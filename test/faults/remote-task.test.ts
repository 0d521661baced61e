/** The worker is killed while an agent elsewhere works: no second task there, and the run gets the output of the first. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startRemoteAgent, type RemoteA2aAgent } from '../support/a2a-agent.ts';
import { agentBody } from '../support/agent-body.ts';
import { createClient } from '../support/app.ts';
import { eventually, upFolder, type Up, type UpFolder } from '../support/up-process.ts';

let folder: UpFolder;
let up: Up;
let url: string;
const agents: RemoteA2aAgent[] = [];

beforeAll(async () => {
  folder = upFolder();
  up = folder.start({}, { program: join(import.meta.dirname, '../../dev/up.ts') });
  url = await up.ready();
}, 120_000);
afterAll(async () => {
  await folder.clean();
  await Promise.all(agents.map((agent) => agent.close()));
});

test.each([
  ['streaming', '1.0', true],
  ['polling', '1.0', false],
  ['streaming', '0.3', true],
] as const)('kill -9 of the worker during a remote task (%s, %s)', async (how, version, streaming) => {
  const remote = await startRemoteAgent({ streaming, version });
  agents.push(remote);
  const password = /Admin +admin \/ (\S+)/.exec(up.output())?.[1];
  const { body } = await createClient(url).post('/auth/token', { username: 'admin', password });
  const client = createClient(url, body.access_token);
  const agent = await client.post('/agents', agentBody({ name: `remote-${how}-${version}`, type: 'a2a', url: remote.url }));
  expect(agent.status).toBe(201);
  const workflow = await client.post('/workflows', { name: 'far', definition: { do: [{ far: { call: 'agent', with: { agent: agent.body.id, input: 'hold on' } } }] } });
  const run = await client.post(`/workflows/${workflow.body.id}/run`, {});
  await eventually(async () => expect(remote.tasks.size).toBe(1), 30_000);
  process.kill(folder.pidOf('worker'), 'SIGKILL');
  remote.release();
  await eventually(async () => {
    const { body: now } = await client.get(`/runs/${run.body.id}`);
    expect(now).toMatchObject({ status: 'completed', output: expect.stringMatching(/^before\s+and after$/) });
  }, 90_000);
  expect({ tasks: remote.tasks.size, messages: new Set(remote.messages.map(({ messageId }) => messageId)).size, cancelled: remote.cancelled }).toEqual({ tasks: 1, messages: 1, cancelled: [] });
}, 150_000);
