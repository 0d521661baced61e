/** Two encryption keys with the same id: only the one of the database is accepted, wherever keys are read. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createLocalFileStore } from '../../../adapters/file-stores/local-file-store.ts';
import type { EncryptionKey } from '../../../config/env-types.ts';
import { diagnoseOpened } from '../../../dev/server/doctor.ts';
import { createEncryption } from '../../../domain/secrets/encryption.ts';
import {
  checkValues,
  claimKeys,
  readKeyState,
  wrongKeys,
  WrongKeys,
} from '../../../domain/secrets/key-check.ts';
import { missingKeys, MissingKeys } from '../../../domain/secrets/key-use.ts';
import { putSecret } from '../../../domain/secrets/service.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';

let t: TestApp;
let right: EncryptionKey;
const em = () => t.orm.em.fork();
const keyNamed = (id: string): EncryptionKey => ({ id, key: randomBytes(32) });
const settingOf = ({ id, key }: EncryptionKey): string => `${id}:${key.toString('base64')}`;

beforeAll(async () => {
  t = await startTestApp();
  const [key] = t.env.ENCRYPTION_KEYS;
  if (!key) throw new Error('no key');
  right = key;
  // The first token creates a signing key.
  await t.as('builder');
});
beforeEach(() => em().execute('truncate encryption_key_check'));
afterAll(() => t.close());

test('an installation from before check values refuses a key that does not open what it has', async () => {
  const wrong = keyNamed(right.id);
  await expect(claimKeys(em(), [wrong])).rejects.toThrow(WrongKeys);
  await expect(claimKeys(em(), [wrong])).rejects.toThrow(
    `ENCRYPTION_KEYS has another key under the id "${right.id}" than the one with which`,
  );
  expect(await checkValues(em())).toEqual({});
  await claimKeys(em(), [right]);
  expect(Object.keys(await checkValues(em()))).toEqual([right.id]);
  expect(JSON.stringify(await checkValues(em()))).not.toContain(right.key.toString('base64url'));
  await expect(claimKeys(em(), [wrong])).rejects.toThrow(WrongKeys);
  await claimKeys(em(), [right]);
});

test('the oldest value decides in an installation that has encrypted with a wrong key since', async () => {
  const wrong = keyNamed(right.id);
  const { id } = await t.user('builder');
  await putSecret(em(), createEncryption([wrong]), id, { name: 'MIXED', value: 'x' });
  expect(await wrongKeys(em(), [wrong])).toEqual([right.id]);
  expect(await wrongKeys(em(), [right])).toEqual([]);
});

test('without a signing key a secret decides', async () => {
  const other = keyNamed('of-secrets');
  const { id } = await t.user('builder');
  await putSecret(em(), createEncryption([other]), id, { name: 'ONLY', value: 'x' });
  expect(await wrongKeys(em(), [right, keyNamed(other.id)])).toEqual([other.id]);
  await claimKeys(em(), [right, other]);
  await em().execute(`delete from secret where name = 'ONLY'`);
  expect(await wrongKeys(em(), [keyNamed(other.id)])).toEqual([other.id]);
});

test('of two processes that bring different keys with the same new id at once, one is refused', async () => {
  for (let round = 0; round < 10; round++) {
    const [one, another] = [keyNamed(`new-${round}`), keyNamed(`new-${round}`)];
    const outcomes = await Promise.allSettled([one, another].map((key) => claimKeys(em(), [right, key])));
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  }
});

test('a rotation adds a key and takes one away, but never gives an id to another key', async () => {
  const next = keyNamed('next');
  await claimKeys(em(), [right]);
  await claimKeys(em(), [right, next]);
  await claimKeys(em(), [next, right]);
  await expect(claimKeys(em(), [next])).rejects.toThrow(MissingKeys);
  await expect(claimKeys(em(), [keyNamed('next'), right])).rejects.toThrow('under the id "next"');
  await expect(claimKeys(em(), [keyNamed('next'), keyNamed(right.id)])).rejects.toThrow(
    `other keys under the ids "next" and "${right.id}"`,
  );
  expect(await readKeyState(em(), [next])).toMatchObject({ state: 'missing' });
});

test.each([true, false])('/readyz and the doctor name the wrong key (recorded: %s)', async (isRecorded) => {
  if (isRecorded) await claimKeys(em(), [right]);
  const wrong = keyNamed(right.id);
  const copy = await startTestApp({
    databaseUrl: t.databaseUrl,
    env: { ENCRYPTION_KEYS: settingOf(wrong) },
  });
  await t.createUser({ roles: ['admin'] });
  const ready = await copy.anonymous.get('/readyz');
  await copy.close();
  const problem = expect.stringContaining(`another key under the id "${right.id}"`);
  expect([ready.status, ready.body.checks.keys, ready.body.problems]).toEqual([503, 'wrong', [problem]]);
  const found = await diagnoseOpened({
    env: { ...t.env, DATABASE_URL: t.databaseUrl, ENCRYPTION_KEYS: [wrong] },
    orm: t.orm,
    fork: em,
    files: createLocalFileStore(t.env.FILES_DIR),
    dataDir: null,
    close: async () => {},
  });
  expect(found.find(({ check }) => check === 'keys')).toEqual({
    check: 'keys',
    status: 'error',
    detail: problem,
  });
});

test('a key is needed as long as the ID token of a session has it', async () => {
  const session = 'update auth_session set id_token_encrypted = ';
  await em().execute(`${session} 'v1.former.x'`);
  expect(await missingKeys(em(), [right.id])).toEqual([{ id: 'former', uses: ['log-outs at issuers'] }]);
  await em().execute(`${session} null`);
  expect(await missingKeys(em(), [right.id])).toEqual([]);
});

test.each(['api/main.ts', 'worker/main.ts', 'worker/rotate-keys.ts'])(
  '%s ends with the wrong key, and says which it is',
  async (file) => {
    const child = spawn(process.execPath, [fileURLToPath(new URL(`../../../${file}`, import.meta.url))], {
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: t.databaseUrl,
        TEMPORAL_ADDRESS: '127.0.0.1:9',
        ENCRYPTION_KEYS: settingOf(keyNamed(right.id)),
        FILES_DIR: t.env.FILES_DIR,
        DATA_DIR: t.env.FILES_DIR,
        PORT: '0',
      },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => (output += String(chunk)));
    const code = await new Promise((resolve) => child.once('exit', resolve));
    expect([code, output]).toEqual([1, expect.stringMatching(/has another key under the id \\?"test\\?"/)]);
    expect(await checkValues(em())).toEqual({});
  },
);
