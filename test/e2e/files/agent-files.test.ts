/**
 * HTTP agents take and return files by reference: real API, real worker, and a server that checks requests.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createLocalFileStore } from '../../../adapters/file-stores/local-file-store.ts';
import { FileContentMissing, FileStoreUnavailable, type FileStore } from '../../../domain/files/ports.ts';
import type { Client } from '../../support/app.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { runFolder } from '../../support/run-folder.ts';
import { agentTask, httpTask, humanTask } from '../../support/definitions.ts';
import { keepIdle } from '../../support/http-server.ts';

const big = randomBytes(5 * 1024 * 1024);
const huge = randomBytes(20 * 1024 * 1024);
const large = JSON.stringify({ text: randomBytes(1_000_000).toString('base64') });
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

let platform: TestPlatform;
let builder: Client;
let token: string;
let server: Server;
let url: string;
let storeIsAway = false;
/** Each entry replaces one reading of a file, in this order. */
let readings: Error[] = [];
let got: { headers: IncomingHttpHeaders; body: Buffer }[] = [];

beforeAll(async () => {
  server = createServer(keepIdle, async (request, response) => {
    const path = request.url ?? '';
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The store failed while the file was being sent, so the response is not used.
      return;
    }
    got.push({ headers: request.headers, body: Buffer.concat(chunks) });
    if (path === '/again') return void response.writeHead(307, { location: '/take' }).end();
    if (path === '/image')
      return void response
        .writeHead(200, { 'content-type': 'image/png', 'content-disposition': 'inline; filename="made.png"' })
        .end(big);
    if (path === '/huge.bin')
      return void response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(huge);
    if (path === '/zipped')
      return void response
        .writeHead(200, { 'content-type': 'application/pdf', 'content-encoding': 'gzip' })
        .end(gzipSync(big));
    if (path === '/large')
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(large);
    if (path === '/small')
      return void response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF');
    if (path === '/table')
      return void response
        .writeHead(200, { 'content-type': 'text/csv', 'content-disposition': 'attachment; filename="t.csv"' })
        .end('a,b\n');
    if (path === '/nothing') return void response.writeHead(200, { 'content-type': 'image/png' }).end();
    if (path === '/short') {
      response
        .writeHead(200, { 'content-type': 'image/png', 'content-length': 1_000_000 })
        .write(big.subarray(0, 1000));
      return void setTimeout(() => response.destroy(), 50);
    }
    if (path === '/endless') {
      const more = (): void => {
        while (!response.destroyed && response.write(huge));
        if (!response.destroyed) response.once('drain', more);
      };
      response.writeHead(200, { 'content-type': 'image/png' });
      return more();
    }
    return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = mkdtempSync(join(runFolder(), 'agent-files-'));
  const files = createLocalFileStore(folder);
  const receive: FileStore['receive'] = (...args) =>
    storeIsAway ? Promise.reject(new FileStoreUnavailable('away')) : files.receive(...args);
  const open: FileStore['open'] = async (...args) => {
    const failure = readings.shift();
    if (failure) throw failure;
    return files.open(...args);
  };
  platform = await startTestPlatform({ env: { FILES_DIR: folder }, files: { ...files, receive, open } });
  builder = await platform.as('builder');
  token = (await platform.user('builder')).token;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await platform.close();
});

async function upload(
  bytes: Buffer,
  type: string,
  name: string,
  as = token,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${platform.url}/files?name=${name}`, {
    method: 'POST',
    body: new Uint8Array(bytes),
    headers: { authorization: `Bearer ${as}`, 'content-type': type },
  });
  const { id, size, media_type, sha256: digest } = (await response.json()) as Record<string, unknown>;
  return { file_id: id, name, media_type, size, sha256: digest };
}

/** The run of one invocation. */
async function registered(configuration: Record<string, unknown>): Promise<string> {
  const agent = await builder.post('/agents', {
    name: `Files ${randomUUID()}`,
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
    configuration,
  });
  expect(agent.status).toBe(201);
  expect(agent.body.warnings ?? []).toEqual([]);
  return agent.body.id;
}

async function invoke(configuration: Record<string, unknown>, input: unknown = {}): Promise<any> {
  const agent = await registered(configuration);
  got = [];
  const headers = { prefer: 'wait=30' };
  return endOf(builder, (await builder.post(`/agents/${agent}/invoke`, { input }, { headers })).body);
}

describe('a file for an agent is sent', () => {
  test('as a reference with a link that needs no token', async () => {
    const file = await upload(big, 'image/png', 'in.png');
    const run = await invoke(
      { endpoint: `${url}/take`, headers: { 'x-first': '${ .files[0].url }' } },
      { text: 'see', files: [file] },
    );
    expect(run).toMatchObject({ status: 'completed', output: { ok: true } });
    const sent = JSON.parse(got[0]!.body.toString());
    expect(sent).toEqual({
      text: 'see',
      files: [{ ...file, url: expect.stringContaining(`${platform.url}/files/`) }],
    });
    expect(got[0]!.headers['x-first']).toBe(sent.files[0].url);
    expect(sha256(Buffer.from(await (await fetch(sent.files[0].url)).arrayBuffer()))).toBe(file['sha256']);
    // The token is neither in the record of the run nor in its log.
    expect(JSON.stringify(run)).not.toContain('token=');
  });

  test('as the body with its own type, which a redirect repeats', async () => {
    const file = await upload(big, 'image/png', 'in.png');
    expect(
      (await invoke({ endpoint: `${url}/again`, files: 'body' }, { text: '', files: [file] })).status,
    ).toBe('completed');
    expect(got).toHaveLength(2);
    for (const { headers, body } of got) {
      expect(headers).toMatchObject({ 'content-type': 'image/png', 'content-length': String(big.length) });
      expect(sha256(body)).toBe(file['sha256']);
    }
    const run = await invoke(
      {
        endpoint: `${url}/take`,
        files: 'body',
        headers: { 'Content-Type': 'image/x-own' },
        body: '${ .picture }',
      },
      { picture: file, other: await upload(big, 'image/png', 'b') },
    );
    expect(run.status).toBe('completed');
    expect(got[0]!.headers['content-type']).toBe('image/x-own');
    expect((await invoke({ endpoint: `${url}/take`, files: 'body' }, {})).error).toMatchObject({
      status: 400,
      detail: expect.stringContaining('but contains none'),
    });
  });

  test('as a part of a form', async () => {
    const file = await upload(big, 'image/png', 'quote%22d.png');
    const body = { purpose: 'look', options: { deep: true }, n: 7, none: null, file: '${ .files }' };
    expect(
      (await invoke({ endpoint: `${url}/take`, files: 'multipart', body }, { files: [file] })).status,
    ).toBe('completed');
    const { headers, body: bytes } = got[0]!;
    const form = await new Response(new Uint8Array(bytes), {
      headers: { 'content-type': headers['content-type'] ?? '' },
    }).formData();
    expect(headers['content-length']).toBe(String(bytes.length));
    expect([form.get('purpose'), form.get('n'), form.has('none')]).toEqual(['look', '7', false]);
    const part = form.get('file') as File;
    expect([part.name, part.type, part.size]).toEqual([
      file['name'] === 'quote%22d.png' ? part.name : '',
      'image/png',
      big.length,
    ]);
    expect(sha256(new Uint8Array(await part.arrayBuffer()))).toBe(file['sha256']);
  });

  test('with its content as base64', async () => {
    const file = await upload(Buffer.from('hello'), 'text/plain', 'a.txt');
    expect((await invoke({ endpoint: `${url}/take`, files: 'base64' }, { doc: file })).status).toBe(
      'completed',
    );
    expect(JSON.parse(got[0]!.body.toString())).toEqual({
      doc: { ...file, base64: Buffer.from('hello').toString('base64') },
    });
    const tooMuch = await upload(huge, 'text/plain', 'b.txt');
    expect(
      (await invoke({ endpoint: `${url}/take`, files: 'base64' }, { doc: tooMuch })).error.detail,
    ).toContain('too large to be sent along');
  });

  test('from the decision of a person, through a child run and back', async () => {
    const person = await platform.createUser({ roles: ['builder'] });
    const attached = await upload(Buffer.from('signed'), 'application/pdf', 'signed.pdf', person.token);
    const agent = await builder.post('/agents', {
      name: 'Reader',
      type: 'api',
      version: '1.0.0',
      visibility: 'private',
      configuration: { endpoint: `${url}/take`, files: 'body' },
    });
    const child = await builder.post('/workflows', {
      name: 'ask',
      definition: {
        document: { dsl: '1.0.3', namespace: 'files', name: 'ask', version: '1.0.0' },
        do: [{ ask: humanTask('Sign', { assignee: person.username }) }, { out: { set: '${ .payload }' } }],
      },
    });
    expect(child.body.problems).toEqual([]);
    const run = await startRun(builder, {
      do: [
        { ask: { run: { workflow: { namespace: 'files', name: 'ask', version: '1.0.0' } } } },
        { read: agentTask(agent.body.id, { input: '${ . }' }) },
      ],
    });
    const asPerson = await platform.as(person);
    const [task] = await until(
      async () => (await asPerson.get('/hitl/tasks')).body as Record<string, unknown>[],
      (tasks) => tasks.length > 0,
    );
    got = [];
    expect(
      (
        await asPerson.post(`/hitl/tasks/${String(task?.['id'])}/decision`, {
          decision: 'approve',
          payload: attached,
        })
      ).status,
    ).toBe(200);
    const ended = await until(
      async () => (await builder.get(`/runs/${run['id']}`)).body,
      ({ status }) => ['completed', 'faulted'].includes(status),
    );
    expect([ended.status, ended.error]).toEqual(['completed', null]);
    expect(String(got[0]!.body)).toBe('signed');
    // The owner of the run may read the file, and nobody else.
    expect((await builder.get(`/files/${String(attached.file_id)}`)).body).toBe('signed');
    expect(
      (
        await (
          await platform.as(await platform.createUser({ roles: ['builder'] }))
        ).get(`/files/${String(attached.file_id)}`)
      ).status,
    ).toBe(404);
    expect((await builder.delete(`/files/${String(attached.file_id)}`)).status).toBe(404);
  });

  test('only if the run may read it', async () => {
    const other = await platform.createUser({ roles: ['builder'] });
    const theirs = await upload(Buffer.from('secret'), 'text/plain', 'theirs.txt', other.token);
    const call = async (configuration: Record<string, unknown>): Promise<any> => {
      const agent = await registered({ endpoint: `${url}/take`, ...configuration });
      const refused = await builder.post(`/agents/${agent}/invoke`, { input: { doc: theirs } });
      expect([refused.status, refused.body.code]).toEqual([422, 'file_unavailable']);
      // A run that has the reference from elsewhere.
      got = [];
      const input = { doc: theirs };
      const run = await startRun(builder, { do: [{ read: agentTask(agent, { input }) }] });
      return endOf(builder, run);
    };
    expect((await call({})).status).toBe('completed');
    expect(JSON.parse(got[0]!.body.toString())).toEqual({ doc: theirs });
    for (const files of ['body', 'multipart']) {
      expect((await call({ files })).error).toMatchObject({ detail: expect.stringContaining('no file') });
      expect(got).toEqual([]);
    }
  });
});

describe('a file from an agent', () => {
  const fileOf = async (output: { file_id: string }): Promise<Buffer> =>
    Buffer.from(
      await (
        await fetch(`${platform.url}/files/${output.file_id}`, {
          headers: { authorization: `Bearer ${token}` },
        })
      ).arrayBuffer(),
    );

  test.each([
    ['/image', { name: 'made.png', media_type: 'image/png' }, big],
    ['/huge.bin', { name: 'huge.bin', media_type: 'application/octet-stream' }, huge],
    ['/zipped', { name: 'zipped', media_type: 'application/pdf' }, big],
    ['/table', { name: 't.csv', media_type: 'text/csv' }, Buffer.from('a,b\n')],
  ])(
    'at %s is stored for the user who runs it, and returned by reference',
    async (path, described, bytes) => {
      const { output, status, id } = await invoke({ endpoint: url + path });
      expect(status).toBe('completed');
      expect(output).toEqual({
        file_id: expect.any(String),
        ...described,
        size: bytes.length,
        sha256: sha256(bytes),
      });
      expect((await fileOf(output)).equals(bytes)).toBe(true);
      const ofRun = async (as: Client) =>
        (await as.get(`/files?run_id=${id}`)).body.map((file: { id: string }) => file.id);
      expect([await ofRun(builder), await ofRun(await platform.as('viewer'))]).toEqual([
        [output.file_id],
        [],
      ]);
    },
  );

  test('becomes a file part over A2A, whose link needs no token', async () => {
    const agent = await builder.post('/agents', {
      name: 'Painter',
      type: 'api',
      version: '1.0.0',
      visibility: 'private',
      configuration: { endpoint: `${url}/image` },
      modalities: ['text', 'image'],
    });
    const params = {
      message: { messageId: `paint-${process.pid}`, role: 'ROLE_USER', parts: [{ text: 'a cat' }] },
    };
    const { body } = await builder.post(
      `/api/v1/a2a/${agent.body.id}`,
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params },
      { headers: { 'A2A-Version': '1.0' } },
    );
    const [part] = body.result.task.artifacts[0].parts;
    expect(part).toEqual({
      url: expect.stringContaining('?token='),
      filename: 'made.png',
      mediaType: 'image/png',
    });
    expect(Buffer.from(await (await fetch(part.url)).arrayBuffer()).equals(big)).toBe(true);
  });

  test('gets no A2A link if the run may not read it, whatever an output names', async () => {
    const other = await platform.createUser({ roles: ['builder'] });
    const theirs = await upload(Buffer.from('secret'), 'text/plain', 'theirs.txt', other.token);
    const workflow = await builder.post('/workflows', {
      name: 'claims',
      definition: { do: [{ claim: { set: { files: [theirs] } } }] },
    });
    const agent = await builder.post('/agents', {
      name: 'Claims',
      type: 'workflow',
      version: '1.0.0',
      visibility: 'private',
      configuration: { workflow_id: workflow.body.id },
      modalities: ['text', 'file'],
    });
    const params = {
      message: { messageId: `claims-${process.pid}`, role: 'ROLE_USER', parts: [{ text: 'mine' }] },
    };
    const { body } = await builder.post(
      `/api/v1/a2a/${agent.body.id}`,
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params },
      { headers: { 'A2A-Version': '1.0' } },
    );
    expect(body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(JSON.stringify(body)).not.toContain('token=');
    expect(JSON.stringify(body.result.task.artifacts)).toContain(String(theirs['file_id']));
  });

  test('is read as the configuration says', async () => {
    expect(
      (
        await invoke({
          endpoint: `${url}/image`,
          response: '{picture: ., type: $response.headers["content-type"]}',
        })
      ).output,
    ).toMatchObject({ picture: { size: big.length }, type: 'image/png' });
    expect((await invoke({ endpoint: `${url}/take`, output: 'file' })).output).toMatchObject({
      name: 'take',
      media_type: 'application/json',
      size: 11,
    });
    expect((await invoke({ endpoint: `${url}/table`, output: 'inline' })).output).toBe('a,b\n');
    expect((await invoke({ endpoint: `${url}/small`, output: 'inline' })).output).toEqual({
      media_type: 'application/pdf',
      base64: Buffer.from('%PDF').toString('base64'),
    });
    expect((await invoke({ endpoint: `${url}/nothing` })).output).toBeNull();
  });

  test.each([
    ['/short', /closed the connection|valid HTTP/],
    ['/endless', /larger than 104857600 bytes/],
  ])('at %s faults the call, and leaves nothing', async (path, detail) => {
    const { status, error, id } = await invoke({ endpoint: url + path });
    expect([status, error.status]).toEqual(['faulted', expect.any(Number)]);
    expect(error.detail).toMatch(detail);
    expect(await platform.orm.em.fork().execute(`select from run_file where run_id = ?`, [id])).toEqual([]);
  });
});

test('a large value passes through the file store and arrives whole', async () => {
  const em = platform.orm.em.fork();
  await em.execute(`delete from temporal_payload`);
  const run = await platform.runToEnd({
    do: [{ get: httpTask(`${url}/large`) }, { keep: { set: { kept: '${ . }' } } }],
  });
  expect(run['status']).toBe('completed');
  expect(run['output']).toEqual({ kept: JSON.parse(large) });
  const rows = await em.execute<{ file_id: string | null }[]>(`select file_id from temporal_payload`);
  expect(rows.length).toBeGreaterThan(0);
  for (const { file_id } of rows)
    expect(existsSync(join(platform.env.FILES_DIR, String(file_id).slice(-2), String(file_id)))).toBe(true);
});

test('while the store is away uploads are refused, and a run with a large input stays pending', async () => {
  storeIsAway = true;
  try {
    expect((await builder.post('/files', {})).status).toBe(503);
    const run = await startRun(builder, { do: [{ a: { set: { ok: true } } }] }, JSON.parse(large));
    expect(run['status']).toBe('pending');
    storeIsAway = false;
    // The reconciler leaves new runs to the API for some seconds.
    await platform.orm.em.fork().execute(`update run set next_start_at = now() where id = ?`, [run['id']]);
    await platform.reconcile();
    await until(
      async () => (await builder.get(`/runs/${run['id']}`)).body.status,
      (status) => status === 'completed',
    );
  } finally {
    storeIsAway = false;
  }
});

describe('a file that the store cannot read', () => {
  test.each([
    ['away', FileStoreUnavailable],
    ['without the content', FileContentMissing],
  ])('because it is %s for a moment is read again, and the agent is not blamed', async (_what, Failure) => {
    const file = await upload(Buffer.from('hello'), 'text/plain', 'a.txt');
    for (const files of ['body', 'base64', 'multipart']) {
      readings = [new Failure('once'), new Failure('twice')];
      const run = await invoke(
        {
          endpoint: `${url}/take`,
          files,
          ...(files === 'base64' ? {} : { body: files === 'body' ? '${ .doc }' : { doc: '${ .doc }' } }),
        },
        { doc: file },
      );
      expect([files, run.status, readings.length]).toEqual([files, 'completed', 0]);
    }
  });

  test('is a runtime error with that reason if the call may not be repeated', async () => {
    const file = await upload(Buffer.from('hello'), 'text/plain', 'a.txt');
    readings = [new FileContentMissing('the content of file x is gone')];
    const run = await invoke(
      { endpoint: `${url}/take`, files: 'body', body: '${ .doc }', retry: { idempotent: false } },
      { doc: file },
    );
    expect(run).toMatchObject({
      status: 'faulted',
      error: {
        type: expect.stringMatching(/\/runtime$/),
        detail: expect.stringContaining("The platform's file store failed, not the agent"),
      },
    });
  });
});
