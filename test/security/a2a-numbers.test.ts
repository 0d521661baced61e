/** Numbers of A2A requests that fit JSON but neither A2A's 32 bits nor the database: errors of the caller. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publishedAgent } from '../support/marketplace.ts';
import { insertRun } from '../support/human-tasks.ts';
import { startTestApp, type Client, type TestApp } from '../support/app.ts';

let app: TestApp;
let builder: Client;
let agent: string;
let task: string;

beforeAll(async () => {
  app = await startTestApp();
  const owner = await app.createUser({ username: 'the-owner', roles: ['builder'] });
  builder = await app.as(owner);
  agent = (await publishedAgent(builder)).id;
  task = await insertRun(app.orm, { owner: owner.id });
});
afterAll(() => app.close());

const tooLong = [2 ** 31, 2 ** 53, 2 ** 63, 1e300];

async function errorCode(version: string, method: string, params: unknown): Promise<number> {
  const reply = await builder.post(
    `/a2a/${agent}`,
    { jsonrpc: '2.0', id: 1, method, params },
    { headers: { 'a2a-version': version } },
  );
  return reply.body.error?.code;
}

test('a history length beyond 32 bits is an invalid parameter, in every method and version', async () => {
  const parts = { '1.0': [{ text: 'hi' }], '0.3': [{ kind: 'text', text: 'hi' }] };
  for (const historyLength of tooLong) {
    const codes = [
      await errorCode('1.0', 'SendMessage', {
        message: { role: 'ROLE_USER', messageId: 'm', parts: parts['1.0'] },
        configuration: { returnImmediately: true, historyLength },
      }),
      await errorCode('1.0', 'GetTask', { id: task, historyLength }),
      await errorCode('1.0', 'ListTasks', { historyLength }),
      await errorCode('0.3', 'message/send', {
        message: { role: 'user', messageId: 'm', parts: parts['0.3'] },
        configuration: { blocking: false, historyLength },
      }),
      await errorCode('0.3', 'tasks/get', { id: task, historyLength }),
    ];
    expect([historyLength, codes]).toEqual([historyLength, Array.from(codes, () => -32602)]);
  }
});

test('a history length beyond 32 bits in a path is refused too', async () => {
  for (const version of ['/v1/tasks', '/tasks'])
    for (const historyLength of ['2147483648', '9223372036854775808']) {
      const path = `/a2a/${agent}${version}/${task}?historyLength=${historyLength}`;
      expect([path, (await builder.get(path)).status]).toEqual([path, 400]);
    }
});

test('no message of a refused request starts a run', async () => {
  expect((await builder.get(`/runs?agent_id=${agent}`)).body).toEqual([]);
});
