/**
 * Files that A2A messages link are fetched before the agent begins: real API, real worker, misbehaving
 * servers.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '../../support/app.ts';
import { startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { workflowAgentPath } from '../../support/workflow-agent.ts';
import { keepIdle } from '../../support/http-server.ts';

const big = randomBytes(5 * 1024 * 1024);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(200)]);

let platform: TestPlatform;
let builder: Client;
let server: Server;
let url: string;
let counter = 0;
const requests = new Map<string, number>();
const open = new Set<ServerResponse>();

beforeAll(async () => {
  server = createServer(keepIdle, (request, response) => {
    const path = request.url ?? '';
    requests.set(path, (requests.get(path) ?? 0) + 1);
    open.add(response.on('close', () => open.delete(response)));
    const send = (bytes: Buffer, headers: Record<string, string | number>): void =>
      void response.writeHead(200, { 'content-length': bytes.length, ...headers }).end(bytes);
    if (path === '/big.bin')
      return send(big, {
        'content-type': 'application/octet-stream',
        'content-digest': `sha-256=:${createHash('sha256').update(big).digest('base64')}:`,
      });
    if (path.startsWith('/picture')) return send(png, { 'content-type': 'image/png' });
    if (path === '/named')
      return send(png, {
        'content-type': 'image/png',
        'content-disposition': 'attachment; filename="../a b.png"',
      });
    if (path === '/moved') return void response.writeHead(302, { location: '/picture.png' }).end();
    if (path === '/inwards')
      return void response.writeHead(302, { location: 'http://10.11.12.13/secret' }).end();
    if (path === '/page')
      return send(Buffer.from('<html>log in</html>'), { 'content-type': 'text/html; charset=utf-8' });
    if (path === '/changed')
      return send(png, {
        'content-type': 'image/png',
        'content-digest': `sha-256=:${Buffer.alloc(32).toString('base64')}:`,
      });
    if (path === '/short') {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 1_000_000 });
      response.write(png);
      return void setTimeout(() => response.destroy(), 50);
    }
    if (path === '/huge')
      return response
        .writeHead(200, { 'content-type': 'image/png', 'content-length': 200 * 1024 * 1024 })
        .flushHeaders();
    if (path === '/endless') {
      const chunk = Buffer.alloc(1024 * 1024);
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', more);
      };
      response.writeHead(200, { 'content-type': 'image/png' });
      return more();
    }
    if (path === '/busy' && requests.get(path)! < 3) return void response.writeHead(503).end('busy');
    if (path === '/busy') return send(png, { 'content-type': 'image/png' });
    if (path === '/held') return response.writeHead(200, { 'content-type': 'image/png' }).flushHeaders();
    return void response.writeHead(404, { 'content-type': 'text/html' }).end('<html>no</html>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  platform = await startTestPlatform({ egressAllow: [`127.0.0.1`] });
  builder = await platform.as('builder');
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await platform.close();
});

async function echo(modalities: string[]): Promise<string> {
  const definition = { do: [{ back: { set: { files: '${ .files }' } } }] };
  return workflowAgentPath(builder, definition, { modalities });
}

const rpc = async (base: string, method: string, params: unknown) =>
  (await builder.post(base, { jsonrpc: '2.0', id: 1, method, params }, { headers: { 'A2A-Version': '1.0' } }))
    .body;
const submit = (base: string, parts: unknown[]) =>
  rpc(base, 'SendMessage', {
    message: { messageId: `linked-${process.pid}-${++counter}`, role: 'ROLE_USER', parts },
    configuration: { returnImmediately: true },
  });
const OVER = ['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_REJECTED', 'TASK_STATE_CANCELED'];
const ended = (base: string, id: string) =>
  until(
    async () => (await rpc(base, 'GetTask', { id })).result,
    (task) => OVER.includes(task.status.state),
  );

async function send(
  base: string,
  parts: unknown[],
): Promise<{ state: string; said: string; id: string; run: any }> {
  const { result, error } = await submit(base, parts);
  if (error) throw new Error(JSON.stringify(error));
  const task = await ended(base, result.task.id);
  return {
    state: task.status.state,
    said: task.status.message?.parts[0].text ?? '',
    id: task.id,
    run: (await builder.get(`/runs/${task.id}`)).body,
  };
}
const filesOf = async (id: string) =>
  platform.orm.em
    .fork()
    .execute(`select f.* from file f join run_file r on r.file_id = f.id where r.run_id = ?`, [id]);

describe('a linked file', () => {
  test('is stored before the agent begins: 5 MB, several at once, beside bytes in the message', async () => {
    const { state, run, id } = await send(await echo(['text', 'file']), [
      { text: 'look' },
      { url: `${url}/big.bin`, filename: 'data.bin' },
      { raw: png.toString('base64'), filename: 'sent.png', mediaType: 'image/png' },
      { url: `${url}/picture.png` },
    ]);
    expect(state).toBe('TASK_STATE_COMPLETED');
    const { files } = run.output;
    expect(files).toMatchObject([
      { name: 'data.bin', size: big.length, sha256: sha256(big), media_type: 'application/octet-stream' },
      { name: 'sent.png', size: png.length, media_type: 'image/png' },
      { name: 'picture.png', size: png.length, sha256: sha256(png), media_type: 'image/png' },
    ]);
    for (const file of files) {
      expect(file.url).toBeUndefined();
      expect((await builder.get(`/files/${file.file_id}/metadata`)).body).toMatchObject({
        size: file.size,
        visibility: 'private',
      });
    }
    // The record of the run names the files, which belong to the run's owner.
    expect(run.input_params.files).toEqual(files);
    expect(await filesOf(id)).toHaveLength(3);
    const back = await fetch(`${platform.url}/files/${files[0].file_id}`, {
      headers: { authorization: `Bearer ${(await platform.user('builder')).token}` },
    });
    expect(Buffer.from(await back.arrayBuffer()).equals(big)).toBe(true);
  });

  test('may be redirected, is named by the server, and can be one of our own files', async () => {
    const agent = await echo(['image']);
    const moved = await send(agent, [
      { url: `${url}/moved`, mediaType: 'image/png' },
      { url: `${url}/named` },
    ]);
    expect(moved.run.output.files).toMatchObject([
      { name: 'picture.png' },
      { name: 'a b.png', media_type: 'image/png' },
    ]);
    const { file_id } = moved.run.output.files[0];
    const again = await send(agent, [{ url: `${platform.url}/files/${file_id}?token=whatever` }]);
    expect(again.run.output.files).toMatchObject([{ file_id, sha256: sha256(png), media_type: 'image/png' }]);
    expect(await filesOf(again.id)).toHaveLength(1);
  });

  test('is requested again while the server is busy', async () => {
    const { state } = await send(await echo(['image']), [{ url: `${url}/busy`, mediaType: 'image/png' }]);
    expect(state).toBe('TASK_STATE_COMPLETED');
    expect(requests.get('/busy')).toBe(3);
  });

  test.each([
    ['is not there', '/missing', 'TASK_STATE_FAILED', /answered 404/],
    [
      'leads to a private address',
      '/inwards',
      'TASK_STATE_REJECTED',
      /10\.11\.12\.13 is not allowed: it is a private address/,
    ],
    ['is a page instead of the picture', '/page', 'TASK_STATE_FAILED', /is text\/html, not image\/png/],
    ['does not fit the checksum', '/changed', 'TASK_STATE_FAILED', /checksum/],
    ['ends before its Content-Length', '/short', 'TASK_STATE_FAILED', /closed the connection|valid HTTP/],
    ['announces more than is taken', '/huge', 'TASK_STATE_FAILED', /larger than 104857600 bytes/],
    ['never ends', '/endless', 'TASK_STATE_FAILED', /larger than 104857600 bytes/],
  ])('that %s fails the task with the reason, and leaves nothing', async (_, path, state, reason) => {
    const failed = await send(await echo(['image']), [{ url: `${url}${path}`, mediaType: 'image/png' }]);
    expect(failed).toMatchObject({ state, said: expect.stringMatching(reason) });
    expect(failed.run.tasks).toEqual([]);
    expect(await filesOf(failed.id)).toEqual([]);
  });

  test('is refused if the checksum differs, or if the agent does not take its type', async () => {
    const agent = await echo(['image']);
    const other = await send(agent, [
      { url: `${url}/picture.png`, mediaType: 'image/png', metadata: { sha256: '0'.repeat(64) } },
    ]);
    expect(other).toMatchObject({ state: 'TASK_STATE_FAILED', said: expect.stringContaining('SHA-256') });
    const right = await send(agent, [
      { url: `${url}/picture.png`, mediaType: 'image/png', metadata: { sha256: sha256(png) } },
    ]);
    expect(right.state).toBe('TASK_STATE_COMPLETED');
    const binary = await send(agent, [{ url: `${url}/big.bin` }]);
    expect(binary).toMatchObject({
      state: 'TASK_STATE_FAILED',
      said: expect.stringContaining('this agent takes image/*'),
    });
    expect((await submit(agent, [{ url: `${url}/big.bin`, mediaType: 'application/pdf' }])).error.code).toBe(
      -32005,
    );
    expect(
      (
        await submit(
          agent,
          Array.from({ length: 21 }, () => ({ url: `${url}/picture.png` })),
        )
      ).error.code,
    ).toBe(-32602);
  });
});

test('is no longer fetched after its run is cancelled', async () => {
  const agent = await echo(['image']);
  const { task } = (await submit(agent, [{ url: `${url}/held`, mediaType: 'image/png' }])).result;
  await until(
    async () => requests.get('/held') ?? 0,
    (times) => times === 1,
  );
  const { result } = await rpc(agent, 'CancelTask', { id: task.id });
  expect(['TASK_STATE_CANCELED', 'TASK_STATE_WORKING']).toContain(result.status.state);
  expect((await ended(agent, task.id)).status.state).toBe('TASK_STATE_CANCELED');
  // The worker learns of the cancellation by a heartbeat.
  await until(
    async () => open.size,
    (connections) => connections === 0,
  );
});

test('is fetched again by a retry only if it is missing', async () => {
  const agent = await echo(['image']);
  requests.clear();
  const failed = await send(agent, [
    { url: `${url}/picture-1.png` },
    { url: `${url}/later.png`, mediaType: 'image/png' },
  ]);
  expect(failed).toMatchObject({ state: 'TASK_STATE_FAILED', said: expect.stringContaining('404') });
  const retried = await builder.post(`/runs/${failed.id}/retry`, {}, { headers: { prefer: 'wait=20' } });
  expect(retried.status).toBe(201);
  await until(
    async () => (await builder.get(`/runs/${retried.body.id}`)).body.status,
    (status) => status === 'faulted',
  );
  expect([...requests]).toEqual([
    ['/picture-1.png', 1],
    ['/later.png', 2],
  ]);
});
