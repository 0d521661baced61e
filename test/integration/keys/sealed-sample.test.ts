/** `cadenza server doctor` tries to open the newest encrypted values, and names columns where it cannot. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { EncryptionKey } from '../../../config/env-types.ts';
import { sealedFinding } from '../../../dev/server/checks/sealed.ts';
import type { Finding } from '../../../dev/server/checks/finding.ts';
import { createEncryption } from '../../../domain/secrets/encryption.ts';
import { wrongKeys } from '../../../domain/secrets/key-check.ts';
import { SAMPLE } from '../../../domain/secrets/sealed-sample.ts';
import { putSecret } from '../../../domain/secrets/service.ts';
import { createPayloadCodec } from '../../../temporal/payload-codec.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';

let t: TestApp;
let right: EncryptionKey;
/** Another key with the id of the right one. */
let wrong: EncryptionKey;
let owner: string;
const em = () => t.orm.em.fork();
const found = (): Promise<Finding> => sealedFinding(em(), t.env);

beforeAll(async () => {
  t = await startTestApp();
  const [key] = t.env.ENCRYPTION_KEYS;
  if (!key) throw new Error('no key');
  right = key;
  wrong = { id: key.id, key: randomBytes(32) };
  owner = (await t.user('builder')).id;
});
afterAll(() => t.close());

const secret = (key: EncryptionKey, name: string): Promise<unknown> =>
  putSecret(em(), createEncryption([key]), owner, { name, value: 'x' });

/** A large value of a run, as a worker with this key stores it. */
async function payload(key: EncryptionKey): Promise<string> {
  const stored: string[] = [];
  const codec = createPayloadCodec({
    keys: [key],
    store: {
      put: async (digest, { data, keyId }) => {
        stored.push(digest);
        await em().execute('insert into temporal_payload (digest, data, key_id) values (?, ?, ?)', [
          digest,
          Buffer.from(data),
          keyId,
        ]);
      },
      get: async () => null,
    },
  });
  await codec.encode([{ metadata: {}, data: randomBytes(100_000) }]);
  const [digest] = stored;
  if (digest === undefined) throw new Error('the value was not stored apart');
  return digest;
}

test('all is well where every value opens', async () => {
  await secret(right, 'FINE');
  await payload(right);
  expect(await found()).toEqual({
    check: 'encrypted values',
    status: 'ok',
    detail: `the newest ${SAMPLE} of each column can be read`,
  });
});

test('values of another key with the same id are found, which the check of the keys misses', async () => {
  await secret(wrong, 'UNREADABLE');
  const digest = await payload(wrong);
  expect(await wrongKeys(em(), [right])).toEqual([]);
  const { status, detail } = await found();
  expect(status).toBe('error');
  expect(detail).toContain(`secret.value_encrypted (1 of the newest 2, such as ${owner} UNREADABLE)`);
  expect(detail).toContain(`temporal_payload.data (1 of the newest 2, such as ${digest})`);
  expect(detail).not.toContain('signing_key');
  await em().execute('delete from temporal_payload where digest = ?', [digest]);
});

test('a row that was copied to another place is found, too', async () => {
  await em().execute(`delete from secret where name = 'UNREADABLE'`);
  await em().execute(
    `insert into secret (owner_id, name, value_encrypted)
     select owner_id, 'COPIED', value_encrypted from secret where name = 'FINE'`,
  );
  expect((await found()).detail).toContain('COPIED');
  await em().execute(`delete from secret where name = 'COPIED'`);
});

test('only the newest are tried, and only those whose key is there', async () => {
  await secret({ id: 'gone', key: randomBytes(32) }, 'OF_ANOTHER_KEY');
  expect((await found()).status).toBe('ok');
  await secret(wrong, 'OLD');
  await em().execute(`update secret set created_at = now() - interval '1 day' where name = 'OLD'`);
  expect((await found()).status).toBe('error');
  for (let n = 0; n < SAMPLE; n += 1) await secret(right, `NEW_${n}`);
  expect((await found()).status).toBe('ok');
});
