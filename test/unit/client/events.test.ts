/** Event streams that break, end, fall silent or are refused, from a real HTTP server. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

import { createClient, isPartial, type Client, type StreamState } from '../../../client/index.ts';
import { startPreparedServer, type PreparedServer } from './server.ts';

const path = { id: '0197a1b2-0000-7000-8000-000000000001' };
const quick = { retryMs: 1 };
let server: PreparedServer;
let client: Client;

beforeEach(async () => {
  server = await startPreparedServer();
  client = createClient({ baseUrl: server.url, token: () => 't' });
});
afterEach(() => server.close());

const block = (seq: number) => `id: ${seq}\nevent: task\ndata: {"seq":${seq}}\n\n`;
const stream = (response: ServerResponse, text: string) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(text);
};
const positions = () => server.seen.map(({ headers }) => headers['last-event-id']);

test('events carry their id, type and data, and 204 ends the stream', async () => {
  server.answer((response) => {
    stream(response, block(1) + block(2));
    response.end();
  });
  server.answer({ status: 204 });
  const events = [];
  for await (const event of client.events('streamRunEvents', { path })) events.push(event);
  expect(events).toEqual([
    { id: '1', type: 'task', data: { seq: 1 } },
    { id: '2', type: 'task', data: { seq: 2 } },
  ]);
  expect(server.seen[0]).toMatchObject({
    path: `/runs/${path.id}/events`,
    headers: { accept: 'text/event-stream', authorization: 'Bearer t' },
  });
});

test('a broken connection is resumed after the last complete event', async () => {
  server.answer((response) => {
    stream(response, `${block(1)}${block(2)}id: 3\nevent: task\nda`);
    setTimeout(() => response.destroy(), 20);
  });
  server.answer((response) => {
    stream(response, block(3));
    response.end();
  });
  server.answer({ status: 204 });
  const states: StreamState[] = [];
  const seen = await seqs({ ...quick, onState: (state) => states.push(state) });
  expect([seen, positions()]).toEqual([
    [1, 2, 3],
    [undefined, '2', '3'],
  ]);
  expect(states).toEqual(['open', 'reconnecting', 'open']);
});

test('a heartbeat with an id moves the position', async () => {
  server.answer((response) => {
    stream(response, `${block(1)}: heartbeat\nid: 9\n\n`);
    response.end();
  });
  server.answer({ status: 204 });
  await seqs(quick);
  expect(positions()).toEqual([undefined, '9']);
});

test('a stream starts after the given event', async () => {
  server.answer({ status: 204 });
  await seqs({ lastEventId: '41' });
  expect(positions()).toEqual(['41']);
});

test('a silent connection is replaced', async () => {
  server.answer((response) => stream(response, block(1)));
  server.answer((response) => {
    stream(response, block(2));
    response.end();
  });
  server.answer({ status: 204 });
  expect(await seqs({ ...quick, quietMs: 3_000 })).toEqual([1, 2]);
});

test('temporary refusals are tried again, others are thrown', async () => {
  server.answer({ status: 503, json: { code: 'unavailable', detail: 'away' } });
  server.answer({ status: 404, json: { code: 'not_found', detail: 'no such run' } });
  await expect(seqs(quick)).rejects.toThrow(
    expect.objectContaining({ name: 'ApiError', status: 404, code: 'not_found' }),
  );
  expect(server.seen.length).toBe(2);
});

test('an abort ends a stream, a pause and a loop without an error', async () => {
  const streaming = new AbortController();
  server.answer((response) => stream(response, block(1)));
  const seen: number[] = [];
  for await (const { data } of client.events('streamRunEvents', { path, signal: streaming.signal })) {
    if (!isPartial(data)) seen.push(data.seq);
    streaming.abort();
  }
  expect(seen).toEqual([1]);

  const pausing = new AbortController();
  server.answer({ status: 503 });
  const onState = () => pausing.abort();
  expect(await seqs({ retryMs: 60_000, signal: pausing.signal, onState })).toEqual([]);
  expect(await seqs({ signal: AbortSignal.abort() })).toEqual([]);
  expect(server.seen.length).toBe(2);
});

test('a consumer that stops closes the connection', async () => {
  const closed = new Promise<void>((resolve) => {
    server.answer((response) => {
      response.on('close', () => resolve());
      stream(response, block(1));
    });
  });
  for await (const { data } of client.events('streamRunEvents', { path })) {
    expect(data).toMatchObject({ seq: 1 });
    break;
  }
  await closed;
});

async function seqs(
  options: Omit<Parameters<typeof client.events<'streamRunEvents'>>[1], 'path'>,
): Promise<number[]> {
  const seen: number[] = [];
  for await (const { data } of client.events('streamRunEvents', { path, ...options }))
    if (!isPartial(data)) seen.push(data.seq);
  return seen;
}
