import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';

import { hasRole, isAdmin } from '../../../domain/auth/actor.ts';
import { hashPassword, verifyPassword } from '../../../domain/auth/password.ts';
import { accountKey, addressKey } from '../../../domain/auth/throttle.ts';
import { createEncryption } from '../../../domain/secrets/encryption.ts';
import { processorClock } from '../../support/machine.ts';

test('passwords are salted, hashed by argon2id, and verified with the parameters of the hash', async () => {
  const [first, second] = [await hashPassword('a long password'), await hashPassword('a long password')];
  expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$]+\$[^$]+$/);
  expect(first).not.toBe(second);
  expect(await verifyPassword('a long password', first)).toBe(true);
  expect(await verifyPassword('a long passwore', first)).toBe(false);
  expect(await verifyPassword('a long password', null)).toBe(false);
  expect(await verifyPassword('a long password', 'none')).toBe(false);
});

test('checking the password of an unknown user takes as long as for a known one', async () => {
  const hash = await hashPassword('a long password');
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] };
  for (let round = 0; round < 7; round += 1) {
    for (const [kind, stored] of [
      ['known', hash],
      ['unknown', null],
    ] as const) {
      const spentMs = processorClock();
      await verifyPassword('something else', stored);
      times[kind].push(spentMs());
    }
  }
  const fastest = (values: number[]) => Math.min(...values);
  expect(fastest(times.unknown)).toBeGreaterThan(fastest(times.known) * 0.5);
});

test('an encrypted value names its key, is bound to its context, and cannot be changed', () => {
  const [old, current] = [
    { id: 'old', key: randomBytes(32) },
    { id: 'new', key: randomBytes(32) },
  ];
  const before = createEncryption([old]).encrypt('sécret', 'secret:1');
  const both = createEncryption([current, old]);
  expect(both.decrypt(before, 'secret:1')).toBe('sécret');
  const sealed = both.encrypt('', 'x');
  expect(sealed).toMatch(/^v1\.new\./);
  expect(both.decrypt(sealed, 'x')).toBe('');
  expect(() => both.decrypt(sealed, 'y')).toThrow();
  const at = sealed.length - 8;
  const other = sealed[at] === 'A' ? 'B' : 'A';
  expect(() => both.decrypt(sealed.slice(0, at) + other + sealed.slice(at + 1), 'x')).toThrow();
  expect(() => createEncryption([current]).decrypt(before, 'secret:1')).toThrow(
    'no encryption key with id old',
  );
  expect(() => both.decrypt('plain', 'x')).toThrow();
  expect(() => createEncryption([])).toThrow('ENCRYPTION_KEYS');
  expect(both.fingerprint('a')).toBe(createEncryption([current]).fingerprint('a'));
  expect(both.fingerprint('a')).not.toBe(createEncryption([old]).fingerprint('a'));
});

test('a role includes the roles below it', () => {
  expect(hasRole({ roles: ['builder'] }, 'approver')).toBe(true);
  expect(hasRole({ roles: ['approver'] }, 'builder')).toBe(false);
  expect(hasRole({ roles: [] }, 'viewer')).toBe(false);
  expect([isAdmin({ roles: ['admin'] }), isAdmin({ roles: ['builder'] })]).toEqual([true, false]);
});

test('log-in attempts are counted by IPv4 address, IPv6 network, and account in any case', () => {
  expect(addressKey('::ffff:10.0.0.1')).toBe('10.0.0.1');
  expect(addressKey('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
  expect(addressKey('2001:db8::9')).toBe('2001:db8:0:0::/64');
  expect(addressKey('::1')).toBe('0:0:0:0::/64');
  expect(accountKey(null, 'Ada')).toBe(accountKey(null, 'ADA'));
  expect(accountKey('id', 'Ada')).toBe('user:id');
});
