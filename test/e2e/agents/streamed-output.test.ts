/** `stream: true` of `call: agent`: those who follow a run see the output of its calls while it grows. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PARTIAL, type PartialOutput } from '../../../contracts/partial-output.ts';
import { startRemoteAgent, type RemoteA2aAgent } from '../../support/a2a-agent.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { cliUser } from '../../support/cli.ts';
import { agentTask } from '../../support/definitions.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { readLog } from '../../support/run-log.ts';
import { openStream, type SseReader } from '../../support/sse-client.ts';
import { startStreamingModel, type StreamingModel } from '../../support/streaming-model.ts';

const SECRET = 'sk-live-0123456789abcdef';
let platform: TestPlatform;
let copy: TestApp;
let builder: Client;
let owner: TestUser;
let model: StreamingModel;
let remote: RemoteA2aAgent;

beforeAll(async () => {
  platform = await startTestPlatform();
  const { databaseUrl, env } = platform;
  // Tokens are for one address.
  copy = await startTestApp({ databaseUrl, env: { BASE_URL: env.BASE_URL } });
  owner = await platform.createUser({ username: 'poet', roles: ['builder'] });
  builder = await platform.as(owner);
  [model, remote] = await Promise.all([startStreamingModel(), startRemoteAgent()]);
  await builder.put('/secrets/MODEL_KEY', { value: SECRET });
  const configuration = { base_url: `${model.url}/v1`, model: 'tiny', api_key: '<MODEL_KEY>' };
  await builder.post('/agents', agentBody({ name: 'poet', type: 'llm', configuration }));
  await builder.post('/agents', agentBody({ name: 'remote', type: 'a2a', url: remote.url }));
});
afterAll(async () => {
  await copy.close();
  await platform.close();
  await Promise.all([model.close(), remote.close()]);
});

const asks = (agent: string, more: object = {}) => ({
  do: [{ ask: agentTask(agent, { input: 'pieces', stream: true, ...more }) }],
});
const follow = (app: TestApp, runId: string, user: TestUser): Promise<SseReader> =>
  openStream(`${app.url}/runs/${runId}/events`, { headers: { authorization: `Bearer ${user.token}` } });
const partialsOf = ({ events }: SseReader): PartialOutput[] =>
  events.map(({ data }) => data).filter(({ seq }) => seq === undefined);
const textOf = (stream: SseReader): string =>
  partialsOf(stream)
    .filter(({ type }) => type === PARTIAL.output)
    .map(({ text }) => text)
    .join('');
const shows = (stream: SseReader, text: string): Promise<string> =>
  until(
    async () => textOf(stream),
    (now) => now === text,
  );

test('followers on every copy of the API see a model write, without secrets, and no log has it', async () => {
  const run = await startRun(builder, asks('poet'));
  await model.begun(1);
  const stranger = await platform.as(await platform.createUser({ roles: ['builder'] }));
  expect((await stranger.get(`/runs/${run['id']}/events`)).status).toBe(404);
  const streams = [
    await follow(platform, run['id'], owner),
    await follow(copy, run['id'], await platform.user('admin')),
  ];
  model.say('Once ');
  for (const stream of streams) await shows(stream, 'Once ');
  // The secret comes in two pieces.
  model.say(SECRET.slice(0, 9));
  model.say(`${SECRET.slice(9)} upon `);
  for (const stream of streams) await shows(stream, 'Once <MODEL_KEY> upon ');
  const late = await follow(copy, run['id'], owner);
  model.say('a time');
  await until(
    async () => partialsOf(late),
    ([first]) => first?.offset === 'Once <MODEL_KEY> upon '.length,
  );
  model.finish();
  const end = await endOf(builder, run);
  expect(end['output']).toEqual({
    text: 'Once <MODEL_KEY> upon a time',
    finish_reason: 'stop',
    model: 'tiny-2026',
  });
  for (const stream of streams) {
    await stream.ended;
    expect(textOf(stream)).toBe('Once <MODEL_KEY> upon a time');
    const ids = stream.events.map(({ id, data }) => [id, data.seq]);
    expect(ids.filter(([, seq]) => seq === undefined).every(([id]) => id === '')).toBe(true);
    expect(partialsOf(stream)[0]).toEqual({
      type: PARTIAL.output,
      task: '/do/0/ask',
      visit: 1,
      attempt: 1,
      offset: 0,
      text: 'Once ',
    });
  }
  const log = await readLog(builder, run['id']);
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
  expect(log.filter(({ type }) => Object.values<string>(PARTIAL).includes(type))).toEqual([]);
  expect(log.find(({ type }) => type.includes('task.completed'))?.data['usage']).toMatchObject({
    input_tokens: 11,
    output_tokens: 5,
  });
});

test('an A2A agent’s pieces are shown, and its output is the same as without', async () => {
  const run = await startRun(builder, {
    do: [{ ask: agentTask('remote', { input: 'hold', stream: '${ true }' }) }],
  });
  await until(
    async () => remote.tasks.size,
    (count) => count > 0,
  );
  const stream = await follow(platform, run['id'], owner);
  await shows(stream, 'before ');
  remote.release();
  expect((await endOf(builder, run))['output']).toBe('before and after');
  await stream.ended;
  expect(textOf(stream)).toBe('before and after');
});

test('`run watch` prints the text as it grows, as lines of JSON where programs read', async () => {
  const run = await startRun(builder, asks('poet'));
  await model.begun(2);
  const cli = cliUser({ CADENZA_URL: platform.url, CADENZA_TOKEN: owner.token });
  const watches = ['table', 'jsonl'].map((format) => cli.start(['run', 'watch', run['id'], '-o', format]));
  // Each follows the log by now: text is shown to those who follow, not to those who come later.
  await until(
    async () => watches.map((watch) => watch.stdout()),
    (printed) => printed.every((text) => text !== ''),
  );
  model.say('Once upon ');
  await until(
    async () => watches.map((watch) => watch.stdout()),
    (printed) => printed.every((text) => text.includes('Once upon ')),
  );
  model.finish();
  const [lines, json] = await Promise.all(watches.map(({ done }) => done));
  expect([lines?.exitCode, json?.exitCode]).toEqual([0, 0]);
  expect(lines?.stdout).toContain('ask: Once upon \n');
  expect(json?.stdout).toContain('"offset":0,"text":"Once upon "');
});

test('of a model with tools, the text of each turn is shown', async () => {
  const configuration = { base_url: `${model.url}/v1`, model: 'tiny', tools: [{ agent: 'remote' }] };
  await builder.post('/agents', agentBody({ name: 'clerk', type: 'llm', configuration }));
  const run = await startRun(builder, asks('clerk'));
  await model.begun(3);
  const stream = await follow(platform, run['id'], owner);
  model.say('Well, ');
  await shows(stream, 'Well, ');
  model.finish();
  await endOf(builder, run);
  expect(partialsOf(stream)[0]).toMatchObject({ task: '/do/0/ask/model', visit: 1, text: 'Well, ' });
});

test('over A2A the text arrives in chunks, which the whole artifact replaces', async () => {
  const configuration = { base_url: `${model.url}/v1`, model: 'tiny' };
  const { body: agent } = await builder.post(
    '/agents',
    agentBody({ name: 'speaker', type: 'llm', configuration, capabilities_streaming: true }),
  );
  const before = model.bodies.filter(({ stream }) => stream === true).length;
  const stream = await openStream(`${platform.url}/api/v1/a2a/${agent.id}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${owner.token}`,
      'content-type': 'application/json',
      'a2a-version': '1.0',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendStreamingMessage',
      params: { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Speak' }] } },
    }),
  });
  const artifacts = () =>
    stream.events.flatMap(({ data }) => (data.result?.artifactUpdate ? [data.result.artifactUpdate] : []));
  const grown = () =>
    artifacts()
      .map(({ artifact }) => artifact.parts[0].text)
      .join('');
  await model.begun(before + 1);
  model.say('Once ');
  await until(
    async () => grown(),
    (text) => text === 'Once ',
  );
  model.say('upon');
  await until(
    async () => grown(),
    (text) => text === 'Once upon',
  );
  model.finish();
  await stream.ended;
  const chunk = (text: string, append: boolean) => ({
    artifact: { artifactId: 'output', parts: [{ text }] },
    ...(append ? { append } : {}),
  });
  expect(artifacts()).toMatchObject([
    chunk('Once ', false),
    chunk('upon', true),
    { artifact: { artifactId: 'output', parts: [{ text: 'Once upon' }] }, lastChunk: true },
  ]);
  expect(artifacts().map(({ append = false }) => append)).toEqual([false, true, false]);
  expect(model.bodies.at(-1)?.['messages']).toEqual([{ role: 'user', content: 'Speak' }]);
});

test('a context of A2A is a session of an agent with memory', async () => {
  const configuration = { base_url: `${model.url}/v1`, model: 'tiny', memory: true };
  const { body: agent } = await builder.post(
    '/agents',
    agentBody({ name: 'friend', type: 'llm', configuration }),
  );
  const send = async (text: string, contextId?: string) => {
    const message = {
      messageId: text,
      role: 'ROLE_USER',
      parts: [{ text }],
      ...(contextId ? { contextId } : {}),
    };
    const headers = { 'a2a-version': '1.0' };
    const { body } = await builder.post(
      `/api/v1/a2a/${agent.id}`,
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } },
      { headers },
    );
    return body.result.task;
  };
  const first = await send('I am Ada');
  expect(first.status.state).toBe('TASK_STATE_COMPLETED');
  await send('Who am I?', first.contextId);
  expect(model.bodies.at(-1)?.['messages']).toEqual([
    { role: 'user', content: 'I am Ada' },
    { role: 'assistant', content: 'all at once' },
    { role: 'user', content: 'Who am I?' },
  ]);
  await send('Who am I, elsewhere?');
  expect(model.bodies.at(-1)?.['messages']).toHaveLength(1);
  // Not only "Ada": these letters may be in the id of another session.
  const { body: sessions } = await builder.get(`/agents/${agent.id}/sessions?q=I am Ada`);
  expect(sessions).toMatchObject([{ session: first.contextId, messages: 4 }]);
});
