/** ListTasks at the edges of its pages. Without a worker: the tasks stay as they were created. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { encodeCursor } from '../../../db/sql.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { workflowAgentPath } from '../../support/workflow-agent.ts';

const TASKS = 5;
const INVALID_PARAMS = -32602;

let app: TestApp;
let owner: Client;
let agent: string;
/** The ids in the order of the list. */
let newestFirst: string[];

async function rpc(method: string, params: unknown): Promise<any> {
  const { body } = await owner.post(
    agent,
    { jsonrpc: '2.0', id: 1, method, params },
    { headers: { 'A2A-Version': '1.0' } },
  );
  return body;
}

const idsOf = (page: { tasks: { id: string }[] }): string[] => page.tasks.map(({ id }) => id);

/** The ids on each page, until a page has no token. */
async function pagesOf(pageSize: number): Promise<string[][]> {
  const pages: string[][] = [];
  let pageToken = '';
  do {
    const { result } = await rpc('ListTasks', { pageSize, pageToken });
    expect(result).toMatchObject({ pageSize, totalSize: TASKS });
    pages.push(idsOf(result));
    pageToken = result.nextPageToken;
  } while (pageToken !== '' && pages.length <= TASKS);
  return pages;
}

beforeAll(async () => {
  app = await startTestApp();
  owner = await app.as('builder');
  agent = await workflowAgentPath(owner, { do: [{ a: { set: { text: 'x' } } }] }, {});
  const ids: string[] = [];
  for (let n = 0; n < TASKS; n++) {
    const { result } = await rpc('SendMessage', {
      message: { messageId: `m-${n}`, role: 'ROLE_USER', parts: [{ text: 'x' }] },
      configuration: { returnImmediately: true },
    });
    ids.push(result.task.id);
  }
  newestFirst = ids.toReversed();
});
afterAll(() => app.close());

test('a page that holds exactly all tasks is the last one', async () => {
  expect(await pagesOf(TASKS)).toEqual([newestFirst]);
});

test('one task more than a page holds comes on a page of its own', async () => {
  expect(await pagesOf(TASKS - 1)).toEqual([newestFirst.slice(0, -1), newestFirst.slice(-1)]);
});

test('pages of one task show each task once', async () => {
  expect(await pagesOf(1)).toEqual(newestFirst.map((id) => [id]));
});

test('tasks that changed at the same microsecond are not lost between pages', async () => {
  await app.orm.em.fork().execute(`update a2a_task set state_at = '2026-01-01T00:00:00.123456Z'`);
  expect((await pagesOf(2)).flat().toSorted()).toEqual(newestFirst.toSorted());
  expect((await pagesOf(2)).map(({ length }) => length)).toEqual([2, 2, 1]);
});

test('a time is RFC 3339, in any zone; others are refused by name', async () => {
  for (const statusTimestampAfter of ['2026', '0000-01-01T00:00:00Z', '10000-01-01T00:00:00Z', 'infinity']) {
    const { error } = await rpc('ListTasks', { statusTimestampAfter });
    expect([statusTimestampAfter, error]).toEqual([
      statusTimestampAfter,
      expect.objectContaining({ message: expect.stringContaining('statusTimestampAfter') }),
    ]);
  }
  const { result } = await rpc('ListTasks', { statusTimestampAfter: '2025-01-01T00:00:00.1234567+23:59' });
  expect(idsOf(result)).toHaveLength(TASKS);
});

test('without a size, a page holds 50 tasks', async () => {
  const { result } = await rpc('ListTasks', {});
  expect(result).toMatchObject({ pageSize: 50, nextPageToken: '', totalSize: TASKS });
});

const someId = '019aa000-0000-7000-8000-000000000000';

test.each([
  ['text that is no token', { pageToken: 'x' }],
  ['a token of another list', { pageToken: encodeCursor([someId]) }],
  ['a token with something else for the time', { pageToken: encodeCursor(['yesterday', someId]) }],
  ['a page without tasks', { pageSize: 0 }],
  ['a page of more tasks than the protocol allows', { pageSize: 101 }],
])('%s is refused as a wrong parameter', async (_, params) => {
  expect((await rpc('ListTasks', params)).error).toMatchObject({ code: INVALID_PARAMS });
});
