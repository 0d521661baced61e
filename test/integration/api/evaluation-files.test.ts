/** Files that are no data set, or too long a one. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { threadClock } from '../../support/machine.ts';

let app: TestApp;
let builder: Client;
let agentId: string;

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
  agentId = (await builder.post('/agents', agentBody({ name: 'tried' }))).body.id;
});
afterAll(() => app.close());

async function evaluated(content: string) {
  const headers = { 'content-type': 'application/octet-stream' };
  const file = await builder.post('/files?name=cases.jsonl', content, { headers });
  expect(file.status).toBe(201);
  const spentMs = threadClock();
  const reply = await builder.post(`/agents/${agentId}/evaluate`, { file_id: file.body.id });
  return { status: reply.status, errors: reply.body.errors, spentMs: spentMs() };
}

test.each([
  ['lines', `\n\n${'{}\n'.repeat(1_390_000)}`, 'more than 1000 cases: line 1003'],
  ['numbers', `[${'1,'.repeat(2_000_000)}1]`, 'There are 2000001 cases'],
])('a file of very many %s is refused after the first ones', async (_name, content, message) => {
  const { status, errors, spentMs } = await evaluated(content);
  expect([status, errors]).toEqual([
    422,
    [
      expect.objectContaining({
        pointer: '/file_id',
        code: 'invalid',
        message: expect.stringContaining(message),
      }),
    ],
  ]);
  expect(spentMs).toBeLessThan(5_000);
});

test('the line of a mistake is named, also of the last one', async () => {
  expect((await evaluated('{}\r\n\n{"input": 1}\n{"inputs": 1}')).errors).toMatchObject([
    { code: 'invalid', message: expect.stringContaining('Line 4') },
  ]);
  expect((await evaluated('{}\n[')).errors).toMatchObject([{ message: 'Line 2 is no JSON.' }]);
});
