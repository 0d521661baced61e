/** The file store in a bucket, on a real S3-compatible server: the port's promises, and the API on it. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ListMultipartUploadsCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { createHash, randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { createPayloadStore } from '../../../domain/files/payload-store.ts';
import {
  FileContentMissing,
  FileStoreUnavailable,
  FileTooLarge,
  type FileStore,
} from '../../../domain/files/ports.ts';
import { createS3FileStore } from '../../../adapters/file-stores/s3-file-store.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { startObjectStore, type ObjectStore } from '../../support/object-store.ts';
import { skip } from '../../support/outside.ts';

const MIB = 1024 * 1024;
const limits = { maxBytes: 100 * MIB };
const future = (): Date => new Date(Date.now() + 3_600_000);

const objects = await startObjectStore();
let app: TestApp | null = null;
let store: FileStore & { close(): void };

beforeAll(async () => {
  if ('skipped' in objects) return;
  store = createS3FileStore(objects.settings);
  app = await startTestApp({ files: store });
});
beforeEach(async () => {
  if (!('skipped' in objects)) await store.sweep({ before: future(), known: async () => new Set() });
});
afterAll(async () => {
  await app?.close();
  if ('skipped' in objects) return;
  store.close();
  await objects.stop();
});

/** A test that needs the server. */
function onServer(name: string, body: (server: ObjectStore) => Promise<void>): void {
  if ('skipped' in objects) skip(name, `no S3-compatible server: ${objects.skipped}`);
  // oxlint-disable-next-line jest/valid-title, jest/expect-expect -- the caller's
  else test(name, () => body(objects), 120_000);
}

async function* chunked(bytes: Buffer, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(id: string, range?: { start: number; end: number }): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of await store.open(id, range)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function save(bytes: Buffer): Promise<string> {
  const id = uuidv7();
  const received = await store.receive(id, chunked(bytes), limits);
  expect(received).toMatchObject({
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  });
  await received.keep();
  return id;
}

const keys = async ({ client }: ObjectStore): Promise<string[]> =>
  ((await client.send(new ListObjectsV2Command({ Bucket: 'files' }))).Contents ?? []).map(
    ({ Key }) => Key ?? '',
  );
const uploads = async ({ client }: ObjectStore): Promise<number> =>
  ((await client.send(new ListMultipartUploadsCommand({ Bucket: 'files' }))).Uploads ?? []).length;

onServer('contents of any size come back, whole and in part', async (server) => {
  for (const size of [1, 5 * MIB, 5 * MIB + 1, 20 * MIB]) {
    const bytes = randomBytes(size);
    const id = await save(bytes);
    expect((await read(id)).equals(bytes)).toBe(true);
    const range = {
      start: Math.floor(size / 2) - Math.min(1000, Math.floor(size / 2)),
      end: Math.floor(size / 2),
    };
    expect((await read(id, range)).equals(bytes.subarray(range.start, range.end + 1))).toBe(true);
  }
  expect((await keys(server)).every((key) => /^cadenza\/[0-9a-f-]{36}$/.test(key))).toBe(true);
  expect(await uploads(server)).toBe(0);
  const empty = await store.receive(uuidv7(), chunked(Buffer.alloc(0)), limits);
  await empty.keep();
  expect(empty.size).toBe(0);
});

onServer(
  'nothing shows before it is kept, and what is discarded, too large or broken off leaves nothing',
  async (server) => {
    for (const size of [1000, 17 * MIB]) {
      const id = uuidv7();
      const received = await store.receive(id, chunked(randomBytes(size)), limits);
      await expect(store.open(id)).rejects.toBeInstanceOf(FileContentMissing);
      await received.discard();
      await received.discard();
      await expect(
        store.receive(id, chunked(randomBytes(size)), { maxBytes: size - 1 }),
      ).rejects.toBeInstanceOf(FileTooLarge);
      const broken = async function* (): AsyncGenerator<Uint8Array> {
        yield randomBytes(size);
        throw new Error('the client went away');
      };
      await expect(store.receive(id, broken(), limits)).rejects.toThrow('the client went away');
    }
    expect([await keys(server), await uploads(server)]).toEqual([[], 0]);
  },
);

onServer('removing is harmless twice; what is gone is missing; discarding after keeping keeps', async () => {
  const id = await save(Buffer.from('x'));
  const other = uuidv7();
  const received = await store.receive(other, chunked(Buffer.from('y')), limits);
  await received.keep();
  await received.discard();
  expect(String(await read(other))).toBe('y');
  await store.remove(id);
  await store.remove(id);
  await expect(store.open(id)).rejects.toBeInstanceOf(FileContentMissing);
  await expect(store.open('../etc/passwd')).rejects.toThrow('is not the id of a file');
});

onServer(
  'the sweep removes what is old and belongs to nothing, uploads that died too, and no key that is not ours',
  async (server) => {
    const [kept, orphan] = [await save(Buffer.from('kept')), await save(Buffer.from('orphan'))];
    for (const Key of [`other/${uuidv7()}`, 'cadenza/readme.txt'])
      await server.client.send(new PutObjectCommand({ Bucket: 'files', Key, Body: 'x' }));
    const known = async (ids: string[]) => new Set(ids.filter((id) => id === kept));
    const past = new Date(Date.now() - 3_600_000);
    expect(await store.sweep({ before: past, known })).toBe(0);
    await store.receive(uuidv7(), chunked(randomBytes(9 * MIB)), limits);
    expect(await uploads(server)).toBe(1);
    // moto dates every upload years back.
    if (server.server !== 'moto') expect(await store.sweep({ before: past, known })).toBe(0);
    expect(await store.sweep({ before: future(), known })).toBe(2);
    expect(await uploads(server)).toBe(0);
    const left = await keys(server);
    expect(left).toHaveLength(3);
    expect(left).toContain(`cadenza/${kept}`);
    expect(left).not.toContain(`cadenza/${orphan}`);
  },
);

onServer(
  'the API serves from it: upload, range, HEAD, delete; and large values of runs are in it',
  async (server) => {
    const { url, user, orm } = app!;
    const headers = {
      authorization: `Bearer ${(await user('builder')).token}`,
      'content-type': 'application/pdf',
    };
    const bytes = randomBytes(20 * MIB);
    const created = (await (
      await fetch(`${url}/files?name=big.pdf`, { method: 'POST', headers, body: new Uint8Array(bytes) })
    ).json()) as { id: string; size: number };
    expect(created).toMatchObject({
      size: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
    const part = await fetch(`${url}/files/${created.id}`, {
      headers: { ...headers, range: 'bytes=5242870-5242890' },
    });
    expect([
      part.status,
      Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(5242870, 5242891)),
    ]).toEqual([206, true]);
    const whole = await fetch(`${url}/files/${created.id}`, { headers });
    expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).toBe(true);
    expect((await fetch(`${url}/files/${created.id}`, { method: 'DELETE', headers })).status).toBe(204);
    expect(await keys(server)).not.toContain(`cadenza/${created.id}`);
    const payloads = createPayloadStore({ fork: () => orm.em.fork(), files: store, inFiles: true });
    const value = randomBytes(MIB);
    await payloads.put('digest', { data: value, keyId: 'k' });
    expect(Buffer.from((await payloads.get('digest'))!.data).equals(value)).toBe(true);
  },
);

onServer('it carries the id of its database', async (server) => {
  expect(await store.readMark()).toBeNull();
  await store.writeMark('an-id');
  expect([await store.readMark(), await keys(server)]).toEqual([
    'an-id',
    expect.arrayContaining(['cadenza/store-id']),
  ]);
});

onServer('a store that is away, or refuses, is 503 and not the database', async ({ settings, server }) => {
  const away = createS3FileStore({ ...settings, endpoint: 'http://127.0.0.1:9' });
  await expect(away.open(uuidv7())).rejects.toBeInstanceOf(FileStoreUnavailable);
  expect([
    await away.ping(),
    await store.ping(),
    await createS3FileStore({ ...settings, bucket: 'another' }).ping(),
  ]).toEqual([false, true, false]);
  const other = await startTestApp({ files: away });
  const { status, body } = await (await other.as('builder')).post('/files', {});
  expect([status, body.code]).toEqual([503, 'storage_unavailable']);
  expect((await other.anonymous.get('/readyz')).body).toMatchObject({
    status: 'degraded',
    checks: { files: 'down', database: 'ok' },
  });
  await other.close();
  away.close();
  // moto accepts every signature.
  if (server === 'moto') return;
  const stranger = createS3FileStore({ ...settings, secretAccessKey: 'wrong' });
  await expect(stranger.open(uuidv7())).rejects.toBeInstanceOf(FileStoreUnavailable);
  stranger.close();
});
