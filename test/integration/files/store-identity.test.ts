import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createLocalFileStore } from '../../../adapters/file-stores/local-file-store.ts';
import { FileStoreUnavailable } from '../../../domain/files/ports.ts';
import { claimFileStore, isOwnFileStore, WrongFileStore } from '../../../domain/files/store-identity.ts';
import { startTestApp, testKeys, type TestApp } from '../../support/app.ts';
import { runFolder } from '../../support/run-folder.ts';

let t: TestApp;
const em = () => t.orm.em.fork();
const newFolder = (): string => mkdtempSync(join(runFolder(), 'store-'));
const marked = async () =>
  (
    await em().execute<{ id: string; marked: boolean }[]>(
      'select file_store_id as id, file_store_marked as marked from installation',
    )
  )[0];

beforeAll(async () => {
  t = await startTestApp();
});
beforeEach(() => em().execute('truncate installation'));
afterAll(() => t.close());

test('of concurrent first starts one marks the store, and every later start compares', async () => {
  const folder = newFolder();
  await Promise.all([1, 2, 3, 4].map(() => claimFileStore(em(), createLocalFileStore(folder))));
  const row = await marked();
  expect(row?.marked).toBe(true);
  expect(readFileSync(join(folder, 'store-id'), 'utf8').trim()).toBe(row?.id);
  await claimFileStore(em(), createLocalFileStore(folder));
  expect(await isOwnFileStore(em(), createLocalFileStore(folder))).toBe(true);
});

test('another store is refused, empty or not, with the way out', async () => {
  const [own, empty, foreign] = [newFolder(), newFolder(), newFolder()];
  await claimFileStore(em(), createLocalFileStore(own));
  writeFileSync(join(foreign, 'store-id'), 'somebody-else\n');
  for (const [folder, found] of [
    [empty, 'has no id yet'],
    [foreign, 'has the id somebody-else'],
  ] as const) {
    const store = createLocalFileStore(folder);
    await expect(claimFileStore(em(), store)).rejects.toThrow(WrongFileStore);
    await expect(claimFileStore(em(), store)).rejects.toThrow(
      `the folder ${folder}, is not the one of this database: it ${found}, and the database ` +
        `expects ${(await marked())?.id}`,
    );
    expect(await isOwnFileStore(em(), store)).toBe(false);
  }
  writeFileSync(join(empty, 'store-id'), `${(await marked())?.id}`);
  await claimFileStore(em(), createLocalFileStore(empty));
});

test('a new database refuses the store of another one, whose files it would sweep', async () => {
  const folder = newFolder();
  writeFileSync(join(folder, 'store-id'), 'of-another-database');
  await expect(claimFileStore(em(), createLocalFileStore(folder))).rejects.toThrow(
    'belongs to another database',
  );
  rmSync(join(folder, 'store-id'));
  await claimFileStore(em(), createLocalFileStore(folder));
});

test('an interrupted marking of the store is completed by the next start', async () => {
  const folder = newFolder();
  const store = createLocalFileStore(folder);
  await expect(
    claimFileStore(em(), {
      ...store,
      writeMark: async () => Promise.reject(new FileStoreUnavailable('away')),
    }),
  ).rejects.toThrow(FileStoreUnavailable);
  expect((await marked())?.marked).toBe(false);
  await store.writeMark((await marked())?.id ?? '');
  await claimFileStore(em(), store);
  expect((await marked())?.marked).toBe(true);
});

test('a store that cannot be used counts as away, not as wrong', async () => {
  const file = join(newFolder(), 'a-file');
  writeFileSync(file, '');
  const store = createLocalFileStore(join(file, 'files'));
  await expect(claimFileStore(em(), store)).rejects.toThrow(FileStoreUnavailable);
  await expect(store.open('01890000-0000-7000-8000-000000000000')).rejects.toThrow(FileStoreUnavailable);
  expect(await store.ping()).toBe(false);
});

test('GET /readyz tells a wrong store from one that is away', async () => {
  await claimFileStore(em(), createLocalFileStore(newFolder()));
  const file = join(newFolder(), 'a-file');
  writeFileSync(file, '');
  for (const [folder, state, status] of [
    [newFolder(), 'wrong_store', 503],
    [join(file, 'files'), 'down', 200],
  ] as const) {
    const copy = await startTestApp({ databaseUrl: t.databaseUrl, env: { FILES_DIR: folder } });
    await copy.createUser({ roles: ['admin'] });
    const ready = await copy.anonymous.get('/readyz');
    expect([ready.status, ready.body.checks.files]).toEqual([status, state]);
    await copy.close();
  }
});

test.each(['api', 'worker'])(
  'the %s does not start on another store, and reports one that cannot be written',
  async (kind) => {
    await claimFileStore(em(), createLocalFileStore(newFolder()));
    const wrong = await startOn(kind, newFolder());
    expect(wrong).toEqual({ code: 1, output: expect.stringContaining('is not the one of this database') });
    const file = join(newFolder(), 'a-file');
    writeFileSync(file, '');
    expect(
      (await startOn(kind, join(file, 'files'), /the file store cannot be written to/)).output,
    ).toContain(join(file, 'files'));
  },
);

/**
 * Runs the program until it ends, or until its output contains the words and we stop it: then `code` is null.
 */
async function startOn(
  kind: string,
  folder: string,
  words?: RegExp,
): Promise<{ code: number | null; output: string }> {
  const data = newFolder();
  mkdirSync(join(data, 'bundles'), { recursive: true });
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL(`../../../${kind}/main.ts`, import.meta.url))],
    {
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: t.databaseUrl,
        TEMPORAL_ADDRESS: '127.0.0.1:9',
        ENCRYPTION_KEYS: testKeys,
        FILES_DIR: folder,
        DATA_DIR: data,
        PORT: '0',
      },
    },
  );
  let output = '';
  return new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += String(chunk);
        if (words?.test(output)) child.kill('SIGKILL');
      });
    }
    child.once('close', (code) => resolve({ code, output }));
  });
}
