/**
 * Large values of runs in the file store: each is stored once and can be read, older ones in PostgreSQL, too.
 * Values are removed when their retention is over.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { createPayloadStore } from '../../../domain/files/payload-store.ts';
import { FileStoreUnavailable, type FileStore } from '../../../domain/files/ports.ts';
import { sweepFiles } from '../../../domain/files/service.ts';
import { removeOldPayloads } from '../../../domain/retention/remove.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';

let t: TestApp;
let files: FileStore;
const em = () => t.orm.em.fork();
const fork = em;

beforeAll(async () => {
  t = await startTestApp();
  files = t.app.deps.files;
});
beforeEach(async () => {
  await em().execute('truncate temporal_payload');
  await sweepFiles(em(), files, { before: new Date(Date.now() + 60_000) });
});
afterAll(() => t.close());

const sealed = (data: Buffer | string) => ({ data: Buffer.from(data), keyId: 'k' });
const text = (payload: { data: Uint8Array } | null) => String(payload?.data);
const inStore = (): string[] =>
  readdirSync(t.env.FILES_DIR, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('-'));

test('a payload is stored once, whoever stores it, and can be read back', async () => {
  const stores = [0, 1, 2].map(() => createPayloadStore({ fork, files, inFiles: true }));
  const data = randomBytes(2 * 1024 * 1024);
  await Promise.all(stores.map((store) => store.put('d', sealed(data))));
  await stores[0]!.put('d', sealed(data));
  expect(inStore()).toHaveLength(1);
  for (const store of stores) expect(Buffer.from((await store.get('d'))!.data).equals(data)).toBe(true);
  expect(await stores[0]!.get('unknown')).toBeNull();
});

test('older payloads in PostgreSQL are read, and kept there where the setting says so', async () => {
  const inFiles = createPayloadStore({ fork, files, inFiles: true });
  const inRows = createPayloadStore({ fork, files, inFiles: false });
  await inRows.put('old', sealed('old'));
  await inFiles.put('new', sealed('new'));
  expect(inStore()).toHaveLength(1);
  await inFiles.put('old', sealed('old'));
  await inRows.put('new', sealed('new'));
  expect(inStore()).toHaveLength(1);
  for (const store of [inFiles, inRows])
    expect([await store.get('old'), await store.get('new')].map(text)).toEqual(['old', 'new']);
});

test('the sweep keeps payloads, retention frees their files, and a lost one is explained', async () => {
  const store = createPayloadStore({ fork, files, inFiles: true });
  await store.put('a', sealed('a'));
  await store.put('b', sealed('b'));
  expect(await sweepFiles(em(), files, { before: new Date(Date.now() + 60_000) })).toBe(0);
  await em().execute(`update temporal_payload set used_at = now() - interval '100 days' where digest = 'a'`);
  const { payloads, files: contents } = await removeOldPayloads(em(), 90);
  expect([payloads, contents.length]).toEqual([1, 1]);
  for (const id of contents) await files.remove(id);
  expect(inStore()).toHaveLength(1);
  expect(text(await store.get('b'))).toBe('b');
  for (const name of inStore()) await files.remove(name.slice(-36));
  await expect(store.get('b')).rejects.toThrow('api and worker need the same FILES_DIR or bucket');
});

test('a failed write leaves no record', async () => {
  const full: FileStore = { ...files, receive: async () => Promise.reject(new Error('no space left')) };
  await expect(
    createPayloadStore({ fork, files: full, inFiles: true }).put('d', sealed('x')),
  ).rejects.toBeInstanceOf(FileStoreUnavailable);
  expect(await em().execute('select from temporal_payload')).toEqual([]);
});
