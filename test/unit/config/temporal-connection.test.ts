import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { certificateCheck } from '../../../api/routes/health/certificates.ts';
import {
  readTemporalCredentials,
  temporalProblems,
  type WatchedCertificate,
} from '../../../config/temporal-connection.ts';
import { createAuthority, pem, type Authority } from '../../support/certificates.ts';

const DAY_MS = 86_400_000;
let authority: Authority;
let own: { cert: string; key: string };

beforeAll(() => {
  authority = createAuthority();
  own = authority.issue('own', 5);
});

const env = (more: Record<string, string | boolean>) => ({ TEMPORAL_ADDRESS: 'temporal.test:7233', ...more });
const problems = (more: Record<string, string | boolean>): string[] =>
  temporalProblems(env(more)).map(({ name, message }) => `${name} ${message}`);
const pair = () => ({ TEMPORAL_TLS_CERT: own.cert, TEMPORAL_TLS_KEY: own.key });

test('settings that fit have no problems, as paths and as texts', () => {
  expect(problems({})).toEqual([]);
  expect(problems({ TEMPORAL_TLS: false })).toEqual([]);
  expect(problems({ ...pair(), TEMPORAL_TLS_CA: authority.cert, TEMPORAL_TLS: true })).toEqual([]);
  const texts = { TEMPORAL_TLS_CERT: pem(own.cert), TEMPORAL_TLS_KEY: pem(own.key).replaceAll('\n', '\\n') };
  expect(problems(texts)).toEqual([]);
  expect(problems({ TEMPORAL_API_KEY: 'key' })).toEqual([]);
  expect(readTemporalCredentials(env({ TEMPORAL_API_KEY: 'key' })).tls).toBe(true);
  expect(
    problems({ TEMPORAL_API_KEY: 'key', TEMPORAL_TLS: false, TEMPORAL_ADDRESS: '127.0.0.1:7233' }),
  ).toEqual([]);
});

test('contradictions and unreadable files are refused by the name of the setting, without its value', () => {
  const other = authority.issue('other');
  const empty = join(authority.folder, 'empty');
  writeFileSync(empty, '');
  const secret = 'c2VjcmV0IGtleSBwYXN0ZWQgaGVyZQ';
  expect(problems({ ...pair(), TEMPORAL_TLS: false })).toEqual([
    'TEMPORAL_TLS must not be false with TEMPORAL_TLS_CERT',
  ]);
  expect(problems({ TEMPORAL_API_KEY: secret, TEMPORAL_API_KEY_FILE: empty })).toEqual([
    'TEMPORAL_API_KEY_FILE contradicts TEMPORAL_API_KEY: set one of them',
  ]);
  expect(problems({ TEMPORAL_API_KEY: secret, TEMPORAL_TLS: false })).toEqual([
    'TEMPORAL_TLS must not be false with an API key, except on loopback',
  ]);
  for (const [given, setting] of [
    [{ ...pair(), TEMPORAL_TLS_KEY: other.key }, 'TEMPORAL_TLS_KEY'],
    [{ ...pair(), TEMPORAL_TLS_KEY: secret }, 'TEMPORAL_TLS_KEY'],
    [{ ...pair(), TEMPORAL_TLS_CERT: own.key }, 'TEMPORAL_TLS_CERT'],
    [{ ...pair(), TEMPORAL_TLS_CERT: empty }, 'TEMPORAL_TLS_CERT'],
    [{ TEMPORAL_TLS_CA: '/nowhere/ca.pem' }, 'TEMPORAL_TLS_CA'],
    [
      { TEMPORAL_TLS_CA: `-----BEGIN CERTIFICATE-----\n${secret}\n-----END CERTIFICATE-----` },
      'TEMPORAL_TLS_CA',
    ],
    [{ TEMPORAL_API_KEY: `${secret} x` }, 'TEMPORAL_API_KEY'],
    [{ TEMPORAL_API_KEY_FILE: empty }, 'TEMPORAL_API_KEY_FILE'],
    [{ TEMPORAL_API_KEY_FILE: '/nowhere/key' }, 'TEMPORAL_API_KEY_FILE'],
  ] as const) {
    const found = problems(given);
    expect(found).toHaveLength(1);
    expect(found[0]?.split(' ', 1)).toEqual([setting]);
    expect(found[0]).not.toContain(secret);
  }
});

test('readiness tells in time of a certificate that expires, and of one that was replaced', () => {
  const { certificates } = readTemporalCredentials(env({ ...pair(), TEMPORAL_TLS_CA: authority.cert }));
  const at = (days: number) => certificateCheck(certificates, () => Date.now() + days * DAY_MS)();
  expect(at(0)).toMatchObject({
    state: 'expiring',
    problems: [expect.stringMatching(/^The certificate of TEMPORAL_TLS_CERT expires/)],
  });
  expect(at(6)).toMatchObject({ state: 'expired' });
  expect(at(-20)).toEqual({ state: 'ok', problems: [] });
  expect(certificateCheck([])()).toBeNull();
  const next = authority.issue('next', 90);
  writeFileSync(own.cert, readFileSync(next.cert));
  expect(at(0)).toMatchObject({
    state: 'replaced',
    problems: [expect.stringContaining('restart api and worker')],
  });
  const half: WatchedCertificate[] = certificates.slice(0, 1);
  writeFileSync(authority.cert, '-----BEGIN');
  expect(half[0]?.isReplaced()).toBe(false);
});
