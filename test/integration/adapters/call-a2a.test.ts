/** The DSL's `call: a2a` against the SDK's server. */
import { expect, test } from '@jest/globals';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { startRemoteAgent, type RemoteA2aAgent, type RemoteOptions } from '../../support/a2a-agent.ts';
import { faultOf, httpCall } from '../../support/agent-call.ts';

const opened = closedAfterEach();
const remote = async (options: RemoteOptions = {}): Promise<RemoteA2aAgent> =>
  opened(await startRemoteAgent(options));

// Tests read any property of a result.
async function call(args: Record<string, unknown>, secrets: Record<string, string> = {}): Promise<any> {
  const egress = opened(createEgressPolicy({ allow: ['127.0.0.1'] }));
  return (await createAdapters({ egress }).a2a(httpCall(args, { secrets }))).output;
}

const card = (target: RemoteA2aAgent, more: Record<string, unknown> = {}) => ({
  agentCard: { endpoint: { uri: `${target.url}/.well-known/agent-card.json`, ...more } },
});
const parametersWith = (text: string) => ({
  message: {
    parts: [
      { kind: 'text', text },
      { kind: 'file', file: { bytes: 'aGk=', name: 'a.txt', mimeType: 'text/plain' } },
    ],
  },
});

test('call: a2a sends, reads and streams by 0.3, through a card or a server', async () => {
  const target = await remote({ version: '0.3' });
  const task = await call({ method: 'message/send', ...card(target), parameters: parametersWith('hello') });
  expect(task).toMatchObject({
    kind: 'task',
    status: { state: 'completed' },
    artifacts: [
      { parts: [{ data: { said: 'hello', parts: [{}, { kind: 'raw', value: 'hi', filename: 'a.txt' }] } }] },
    ],
  });
  expect(
    await call({ method: 'tasks/get', server: `${target.url}/rpc`, parameters: { id: task.id } }),
  ).toMatchObject({ id: task.id });
  const events = await call({
    method: 'message/stream',
    server: { uri: `${target.url}/rpc` },
    parameters: parametersWith('pieces'),
  });
  expect(events.map(({ kind }: { kind: string }) => kind)).toEqual([
    'task',
    'status-update',
    'artifact-update',
    'artifact-update',
    'artifact-update',
    'status-update',
  ]);
  expect(target.messages.every(({ messageId }) => /^[0-9a-f-]{36}$/.test(messageId))).toBe(true);
});

test('call: a2a sends the same parameters to an agent that speaks only 1.0', async () => {
  const target = await remote();
  const { task } = await call({
    method: 'message/send',
    ...card(target),
    parameters: { ...parametersWith('hello'), configuration: { blocking: true } },
  });
  expect(task).toMatchObject({
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [
      { parts: [{ data: { said: 'hello', parts: [{}, { kind: 'raw', value: 'hi', filename: 'a.txt' }] } }] },
    ],
  });
  expect(await call({ method: 'tasks/get', ...card(target), parameters: { id: task.id } })).toMatchObject({
    id: task.id,
  });
  expect(
    await call({ method: 'message/stream', ...card(target), parameters: parametersWith('two') }),
  ).toHaveLength(5);
});

test('a refusal of the agent is a runtime error, and credentials go to the agent of the card', async () => {
  const target = await remote();
  expect(
    await faultOf(call({ method: 'tasks/get', ...card(target), parameters: { id: 'none' } })),
  ).toMatchObject({ kind: 'runtime', detail: expect.stringContaining('-32001') });
  const guarded = await remote({ authorization: () => 'Bearer open-sesame' });
  const authentication = { bearer: { use: 'key' } };
  expect(
    await call(
      { method: 'message/send', ...card(guarded, { authentication }), parameters: parametersWith('hi') },
      { key: 'open-sesame' },
    ),
  ).toMatchObject({ task: {} });
  expect(
    await faultOf(call({ method: 'message/send', ...card(guarded), parameters: parametersWith('hi') })),
  ).toMatchObject({ kind: 'authentication' });
});
