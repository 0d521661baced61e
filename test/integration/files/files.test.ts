import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { readdirSync, existsSync, writeFileSync, utimesSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';

import { createFileLink } from '../../../domain/files/file-link.ts';
import { createLocalFileStore } from '../../../adapters/file-stores/local-file-store.ts';
import { sweepFiles } from '../../../domain/files/service.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';

let app: TestApp;
let builder: Client;
let other: Client;
let viewer: Client;
let admin: Client;
let token: string;

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
  other = await app.as(await app.createUser({ roles: ['builder'] }));
  viewer = await app.as('viewer');
  admin = await app.as('admin');
  ({ token } = await app.user('builder'));
});

afterAll(() => app.close());

const missing = '01890000-0000-7000-8000-000000000000';
const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

async function upload(
  content: string | Uint8Array,
  more: { query?: string; headers?: Record<string, string>; client?: Client } = {},
): Promise<any> {
  const reply = await (more.client ?? builder).post(`/files${more.query ?? ''}`, content, {
    headers: { 'content-type': 'text/plain', ...more.headers },
  });
  expect([reply.status, reply.body]).toEqual([201, expect.anything()]);
  return reply.body;
}

/** A multipart body in the form that browsers send. */
async function uploadForm(
  parts: [name: string, value: string | Blob, filename?: string][],
  headers: Record<string, string> = {},
): Promise<{ status: number; body: any }> {
  const form = new FormData();
  for (const [name, value, filename] of parts) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, filename);
  }
  const reply = await fetch(`${app.url}/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: form,
  });
  return { status: reply.status, body: await reply.json() };
}

async function download(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const reply = await fetch(app.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  return { status: reply.status, headers: reply.headers, bytes: Buffer.from(await reply.arrayBuffer()) };
}

const incoming = (): string[] => {
  const folder = join(app.env.FILES_DIR, 'incoming');
  return existsSync(folder) ? readdirSync(folder) : [];
};

async function eventually(check: () => boolean): Promise<void> {
  for (let waitedMs = 0; !check() && waitedMs < 120_000; waitedMs += 50)
    await new Promise((resolve) => setTimeout(resolve, 50));
  expect(check()).toBe(true);
}

test.each([
  ['POST', '/files'],
  ['GET', '/files'],
  ['GET', `/files/${missing}`],
  ['GET', `/files/${missing}/metadata`],
  ['PATCH', `/files/${missing}`],
  ['POST', `/files/${missing}/link`],
  ['DELETE', `/files/${missing}`],
])('%s %s needs a token', async (method, path) => {
  const reply = await app.anonymous.request(method, path);
  expect(reply.status).toBe(401);
  expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer/);
});

test('uploading needs the role builder', async () => {
  expect((await viewer.post('/files', 'x')).status).toBe(403);
});

test('a raw upload comes back with its bytes, name, type and digest', async () => {
  const reply = await builder.post('/files?name=hello.txt', 'hello', {
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  });
  expect(reply.status).toBe(201);
  expect(reply.headers.get('location')).toBe(`/files/${reply.body.id}`);
  expect(reply.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{14}7/),
    name: 'hello.txt',
    team_id: null,
    workflow_id: null,
    expires_at: null,
    media_type: 'text/plain; charset=utf-8',
    size: 5,
    sha256: sha256('hello'),
    owner_id: (await app.user('builder')).id,
    owner_name: 'the-builder',
    visibility: 'private',
    created_at: expect.any(String),
  });
  expect((await builder.get(`/files/${reply.body.id}/metadata`)).body).toEqual(reply.body);
  const got = await download(`/api/v1/files/${reply.body.id}`);
  expect(got.status).toBe(200);
  expect(got.bytes.toString()).toBe('hello');
  expect(Object.fromEntries(got.headers)).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'content-length': '5',
    'accept-ranges': 'bytes',
    etag: `"${sha256('hello')}"`,
    'content-disposition': 'attachment; filename=hello.txt',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining('sandbox'),
  });
});

test('a file may be empty, and without a name or type', async () => {
  const reply = await builder.post('/files', new Uint8Array(0), {
    headers: { 'content-type': 'not a type' },
  });
  expect(reply.body).toMatchObject({
    size: 0,
    name: 'file',
    media_type: 'application/octet-stream',
    sha256: sha256(''),
  });
  expect((await download(`/files/${reply.body.id}`)).bytes).toHaveLength(0);
  expect((await download(`/files/${reply.body.id}`, { range: 'bytes=0-' })).status).toBe(416);
});

test('file names are made harmless, and harmless names are kept', async () => {
  const nasty = await uploadForm([
    ['file', new Blob(['x'], { type: 'text/html' }), '../../etc/pass\twd\u202Efdp.exe'],
  ]);
  expect(nasty.body.name).toBe('passwdfdp.exe');
  const file = await upload('x', { query: `?name=${encodeURIComponent('Überweisung "März"; €.pdf')}` });
  expect(file.name).toBe('Überweisung "März"; €.pdf');
  const header = (await download(`/files/${file.id}`)).headers.get('content-disposition') ?? '';
  expect(header).toMatch(/^attachment; filename="[\x20-\x7e]*"; filename\*=UTF-8''[\w%.'-]+$/);
  expect(decodeURIComponent(header.split("UTF-8''")[1] ?? '')).toBe(file.name);
  const uploaded = await upload('x', {
    headers: { 'content-disposition': `attachment; filename="a.txt"; filename*=UTF-8''%C3%A4.txt` },
  });
  expect(uploaded.name).toBe('ä.txt');
});

test('a multipart upload takes one file, with fields before and after it', async () => {
  const content = randomBytes(300_000);
  const reply = await uploadForm([
    ['visibility', 'public'],
    ['anything', new Blob([content], { type: 'image/png' }), 'a.png'],
    ['name', 'b.png'],
  ]);
  expect(reply.status).toBe(201);
  expect(reply.body).toMatchObject({
    name: 'b.png',
    media_type: 'image/png',
    size: 300_000,
    sha256: sha256(content),
    visibility: 'public',
  });
  expect((await download(`/files/${reply.body.id}`)).bytes.equals(content)).toBe(true);
});

test('an invalid multipart upload is refused and leaves nothing', async () => {
  const blob = new Blob(['x'.repeat(100_000)]);
  expect((await uploadForm([['name', 'x']])).status).toBe(422);
  expect(
    (
      await uploadForm([
        ['a', blob, 'a'],
        ['b', blob, 'b'],
      ])
    ).body,
  ).toMatchObject({ status: 422, errors: [{ code: 'one_file_only' }] });
  expect(
    (
      await uploadForm([
        ['a', blob, 'a'],
        ['colour', 'red'],
      ])
    ).body,
  ).toMatchObject({ status: 422, errors: [{ pointer: '/colour' }] });
  expect(
    (
      await uploadForm([
        ['a', blob, 'a'],
        ['visibility', 'x'],
      ])
    ).body,
  ).toMatchObject({ status: 422, errors: [{ pointer: '/visibility' }] });
  const post = (body: string, type: string) =>
    builder.post('/files', body, { headers: { 'content-type': type } });
  expect((await post('x', 'multipart/form-data')).status).toBe(400);
  expect(
    (
      await post(
        '--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\nhalf',
        'multipart/form-data; boundary=b',
      )
    ).status,
  ).toBe(400);
  expect((await post('x', 'text/plain; x')).body.media_type).toBe('application/octet-stream');
  expect((await builder.post('/files', 'x', { headers: { 'content-encoding': 'gzip' } })).status).toBe(415);
  expect((await builder.post('/files?colour=red', 'x')).status).toBe(400);
  expect((await builder.post('/files?visibility=x', 'x')).status).toBe(400);
  await eventually(() => incoming().length === 0);
});

test('a download answers range requests', async () => {
  const { id, sha256: sum } = await upload('0123456789');
  const ranged = async (range: string, more: Record<string, string> = {}) => {
    const got = await download(`/files/${id}`, { range, ...more });
    return [got.status, got.bytes.toString(), got.headers.get('content-range')];
  };
  expect(await ranged('bytes=2-4')).toEqual([206, '234', 'bytes 2-4/10']);
  expect(await ranged('bytes=7-')).toEqual([206, '789', 'bytes 7-9/10']);
  expect(await ranged('bytes=-3')).toEqual([206, '789', 'bytes 7-9/10']);
  expect(await ranged('bytes=-300')).toEqual([206, '0123456789', 'bytes 0-9/10']);
  expect(await ranged('bytes=0-99')).toEqual([206, '0123456789', 'bytes 0-9/10']);
  expect((await ranged('bytes=10-'))[0]).toBe(416);
  expect((await ranged('bytes=10-'))[2]).toBe('bytes */10');
  expect((await ranged('bytes=-0'))[0]).toBe(416);
  for (const none of [
    'bytes=4-2',
    'bytes=',
    'bytes=a-b',
    'lines=1-2',
    'bytes=0-1,4-5',
    'bytes=99999999999999999999999-1',
  ]) {
    expect([none, (await ranged(none))[0]]).toEqual([none, 200]);
  }
  expect((await ranged('bytes=2-4', { 'if-range': `"${sum}"` }))[0]).toBe(206);
  expect((await ranged('bytes=2-4', { 'if-range': '"other"' }))[0]).toBe(200);
  expect((await ranged('bytes=2-4', { 'if-range': 'Mon, 01 Jan 2024 00:00:00 GMT' }))[0]).toBe(200);
});

test('HEAD and If-None-Match send no content', async () => {
  const { id, sha256: sum } = await upload('0123456789');
  const head = await download(`/files/${id}`, {}, 'HEAD');
  expect([
    head.status,
    head.headers.get('content-length'),
    head.headers.get('etag'),
    head.bytes.length,
  ]).toEqual([200, '10', `"${sum}"`, 0]);
  const part = await download(`/files/${id}`, { range: 'bytes=0-3' }, 'HEAD');
  expect([part.status, part.headers.get('content-length')]).toEqual([206, '4']);
  expect((await download(`/files/${id}`, { 'if-none-match': `"x", W/"${sum}"` })).status).toBe(304);
  expect((await download(`/files/${id}`, { 'if-none-match': '"x"' })).status).toBe(200);
  expect((await download(`/files/${missing}`, {}, 'HEAD')).status).toBe(404);
});

test('owner and admins read and change a private file, everybody reads a public one', async () => {
  const { id } = await upload('secret');
  for (const path of [`/files/${id}`, `/files/${id}/metadata`]) {
    expect((await other.get(path)).status).toBe(404);
    expect((await viewer.get(path)).status).toBe(404);
    expect((await admin.get(path)).status).toBe(200);
  }
  expect((await other.patch(`/files/${id}`, { name: 'x' })).status).toBe(404);
  expect((await other.delete(`/files/${id}`)).status).toBe(404);
  expect((await other.post(`/files/${id}/link`)).status).toBe(404);
  expect((await builder.patch(`/files/${id}`, { visibility: 'public', name: 'a/b.txt' })).body).toMatchObject(
    { visibility: 'public', name: 'b.txt' },
  );
  expect((await viewer.get(`/files/${id}`)).body).toBe('secret');
  expect((await other.patch(`/files/${id}`, { name: 'x' })).status).toBe(403);
  expect((await other.delete(`/files/${id}`)).status).toBe(403);
  expect((await other.post(`/files/${id}/link`)).status).toBe(403);
  expect((await builder.patch(`/files/${id}`, { colour: 'red' })).status).toBe(422);
});

test('deleting a file removes row and content', async () => {
  const { id } = await upload('gone soon');
  const path = join(app.env.FILES_DIR, id.slice(-2), id);
  expect(existsSync(path)).toBe(true);
  expect((await builder.delete(`/files/${id}`, { headers: { 'if-match': '"other"' } })).status).toBe(412);
  expect((await builder.delete(`/files/${id}`)).status).toBe(204);
  expect((await builder.get(`/files/${id}`)).status).toBe(404);
  expect((await builder.delete(`/files/${id}`)).status).toBe(404);
  expect(existsSync(path)).toBe(false);
});

test('files are listed in pages, by filters, as far as the caller may see them', async () => {
  const owner = await app.createUser({ roles: ['builder'] });
  const client = await app.as(owner);
  const ids: string[] = [];
  for (let n = 0; n < 5; n++)
    ids.unshift(
      (
        await upload(`n${n % 2}`, {
          client,
          query: `?name=list_${n}.txt&visibility=${n === 0 ? 'public' : 'private'}`,
        })
      ).id,
    );
  const seen: string[] = [];
  for (let next: string | null = `/files?owner_id=${owner.id}&limit=2`; next !== null;) {
    const reply = await client.get(next);
    seen.push(...reply.body.map(({ id }: { id: string }) => id));
    next = /<([^>]+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1] ?? null;
  }
  expect(seen).toEqual(ids);
  const count = async (query: string, who = client): Promise<number> =>
    (await who.get(`/files?owner_id=${owner.id}&${query}`)).body.length;
  expect(await count('q=T_1')).toBe(1);
  expect(await count('visibility=public')).toBe(1);
  expect(await count(`sha256=${sha256('n1')}`)).toBe(2);
  expect(await count('', other)).toBe(1);
  expect(await count('', admin)).toBe(5);
  expect((await client.get('/files?sha256=x')).status).toBe(400);
});

test('a link reads one file without a log-in until it expires', async () => {
  const { id } = await upload('linked');
  const other_ = await upload('not linked');
  const reply = await builder.post(`/files/${id}/link`, { expires_in: 60 });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('cache-control')).toBe('no-store');
  const url = new URL(reply.body.url);
  expect(`${url.origin}${url.pathname}`).toBe(`${app.url}/files/${id}`);
  const got = await fetch(url);
  expect([got.status, await got.text()]).toEqual([200, 'linked']);
  expect((await fetch(url, { headers: { range: 'bytes=0-1' } })).status).toBe(206);
  expect((await fetch(url.href.replace(id, other_.id))).status).toBe(401);
  expect((await fetch(`${url.href}x`)).status).toBe(401);
  expect((await fetch(`${app.url}/files/${id}?token=`)).status).toBe(401);
  expect((await fetch(`${app.url}/files/${id}?token=${token}`)).status).toBe(401);
  const { kid, privateKey } = await app.app.deps.keys.current();
  const over = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', typ: 'file-link+jwt', kid })
    .setIssuer(app.url)
    .setAudience('cadenza-files')
    .setSubject(id)
    .setExpirationTime(1)
    .sign(privateKey);
  expect((await fetch(`${app.url}/files/${id}?token=${over}`)).status).toBe(410);
  expect(
    (await createFileLink({ keys: app.app.deps.keys, baseUrl: app.url }, id, 1e9)).expires_at.getTime(),
  ).toBeLessThan(Date.now() + 86_401_000);
  expect((await builder.post(`/files/${id}/link`, { expires_in: 86_401 })).status).toBe(422);
  await builder.delete(`/files/${id}`);
  expect((await fetch(url)).status).toBe(404);
});

test('the same Idempotency-Key with the same bytes stores one file', async () => {
  const headers = { 'idempotency-key': 'file-1' };
  const [first, second] = [await upload('once', { headers }), await upload('once', { headers })];
  expect(second).toEqual(first);
  expect((await builder.get(`/files?sha256=${sha256('once')}`)).body).toHaveLength(1);
  const reused = await builder.post('/files', 'twice', {
    headers: { 'content-type': 'text/plain', ...headers },
  });
  expect([reused.status, reused.body.code]).toEqual([422, 'idempotency_key_reused']);
  await eventually(() => incoming().length === 0);
});

test('an upload over 100 MiB gets 413, announced or not, and leaves nothing', async () => {
  const announced = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    socket.on('error', reject).once('data', (bytes) => {
      resolve(bytes.toString());
      socket.destroy();
    });
    socket.write(
      `POST /files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: ` +
        `104857601\r\n\r\nabc`,
    );
  });
  expect(announced).toMatch(/^HTTP\/1.1 413 /);
  const chunk = new Uint8Array(1024 * 1024);
  async function* tooMuch() {
    for (let sent = 0; sent < 102; sent++) yield chunk;
  }
  const chunked = await fetch(`${app.url}/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: tooMuch() as never,
    duplex: 'half',
  } as RequestInit);
  expect([chunked.status, ((await chunked.json()) as any).code]).toEqual([413, 'file_too_large']);
  await eventually(() => incoming().length === 0);
});

test('100 MiB are uploaded and downloaded in chunks, in bounded memory', async () => {
  // Counts live memory, not garbage.
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const live = () => {
    gc();
    // Collected bytes are counted in the background, and at the latest when the next collection begins.
    gc();
    return process.memoryUsage().arrayBuffers;
  };
  const before = live();
  let peak = 0;
  const chunk = randomBytes(1024 * 1024);
  const hash = createHash('sha256');
  async function* source() {
    for (let sent = 0; sent < 100; sent++) {
      if (sent % 25 === 24) peak = Math.max(peak, live() - before);
      hash.update(chunk);
      yield chunk;
    }
  }
  const reply = await fetch(`${app.url}/files?name=big`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: source() as never,
    duplex: 'half',
  } as RequestInit);
  const file = (await reply.json()) as any;
  expect([reply.status, file.size, file.sha256]).toEqual([201, 100 * 1024 * 1024, hash.digest('hex')]);
  const down = await fetch(`${app.url}/files/${file.id}`, { headers: { authorization: `Bearer ${token}` } });
  const again = createHash('sha256');
  let received = 0;
  let looks = 0;
  for await (const part of down.body as unknown as AsyncIterable<Uint8Array>) {
    again.update(part);
    received += part.length;
    if (received > 25 * 1024 * 1024 * (looks + 1)) {
      looks += 1;
      peak = Math.max(peak, live() - before);
    }
  }
  expect(looks).toBe(3);
  expect(again.digest('hex')).toBe(file.sha256);
  // Client and server share this process, and each has its own buffers.
  expect(peak).toBeLessThan(20 * 1024 * 1024);
  await builder.delete(`/files/${file.id}`);
});

test('concurrent uploads and downloads of one file are all complete', async () => {
  const files = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const content = randomBytes(500_000 + n);
      const file =
        n % 2 === 0 ? await upload(content) : (await uploadForm([['file', new Blob([content]), 'x']])).body;
      return { content, file };
    }),
  );
  for (const { content, file } of files) {
    expect(file.sha256).toBe(sha256(content));
    expect((await download(`/files/${file.id}`)).bytes.equals(content)).toBe(true);
  }
  const [file] = files;
  const parts = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      download(`/files/${file?.file.id}`, { range: `bytes=${n * 50_000}-${(n + 1) * 50_000 - 1}` }),
    ),
  );
  expect(Buffer.concat(parts.map(({ bytes }) => bytes)).equals(file?.content ?? Buffer.of())).toBe(true);
});

test('an aborted upload leaves nothing, and the sweep removes only leftovers of a crash', async () => {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  socket.write(
    `POST /files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: 1000\r\n\r\nabc`,
  );
  await eventually(() => incoming().length === 1);
  socket.destroy();
  await eventually(() => incoming().length === 0);

  const kept = await upload('kept');
  const { FILES_DIR } = app.env;
  const old = new Date(Date.now() - 7_200_000);
  const orphan = '0190d4c2-0000-7000-8000-0000000000ab';
  const young = '0190d4c2-0000-7000-8000-0000000001ab';
  mkdirSync(join(FILES_DIR, 'ab'), { recursive: true });
  const leftovers = [join(FILES_DIR, 'incoming', `${orphan}.dead`), join(FILES_DIR, 'ab', orphan)];
  for (const path of [...leftovers, join(FILES_DIR, 'ab', young)]) writeFileSync(path, 'x');
  for (const path of [...leftovers, join(FILES_DIR, kept.id.slice(-2), kept.id)]) utimesSync(path, old, old);
  const store = createLocalFileStore(FILES_DIR);
  expect(await sweepFiles(app.orm.em.fork(), store)).toBe(2);
  expect(leftovers.map((path) => existsSync(path))).toEqual([false, false]);
  expect(existsSync(join(FILES_DIR, 'ab', young))).toBe(true);
  expect((await download(`/files/${kept.id}`)).bytes.toString()).toBe('kept');
});

test('a file whose content was lost gets 410', async () => {
  const { id } = await upload('lost');
  await createLocalFileStore(app.env.FILES_DIR).remove(id);
  const reply = await builder.get(`/files/${id}`);
  expect([reply.status, reply.body.code]).toEqual([410, 'content_lost']);
});
