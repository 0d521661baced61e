/** Claims come from outside: paths, lists and texts of any shape. */
import { expect, test } from '@jest/globals';

import { claimMapping, externalIdClaim } from '../../../contracts/identity.ts';
import { groupsOf, rolesOf, textAt, valuesAt } from '../../../domain/identity/claims.ts';
import { safeReturn } from '../../../domain/identity/pending-log-in.ts';

test('a path is a name, which may have dots and slashes, or a pointer into nested claims', () => {
  const claims = {
    'https://example.com/roles': ['a'],
    realm_access: { roles: ['b', 7, true, { c: 1 }, null] },
    '': 'empty',
  };
  expect(valuesAt(claims, 'https://example.com/roles')).toEqual(['a']);
  expect(valuesAt(claims, '/realm_access/roles')).toEqual(['b', '7', 'true']);
  expect(valuesAt(claims, '/https:~1~1example.com~1roles')).toEqual(['a']);
  for (const path of ['realm_access', 'toString', '__proto__', '/realm_access/roles/0', '/constructor/name'])
    expect([path, valuesAt(claims, path)]).toEqual([path, []]);
});

test('roles are those of all rules that fit, and never a part of a value', () => {
  const rule = (value: string, role: 'viewer' | 'admin') => ({ claim: 'groups', value, roles: [role] });
  const mapping = claimMapping.parse({ roles: [rule('staff', 'viewer'), rule('chiefs', 'admin')] });
  expect(rolesOf(mapping, { groups: ['chiefs', 'staff'] })).toEqual(['viewer', 'admin']);
  expect(rolesOf(mapping, { groups: 'staff' })).toEqual(['viewer']);
  expect(rolesOf(mapping, { groups: 'staff chiefs' })).toEqual([]);
  expect(rolesOf(mapping, {}, ['chiefs'])).toEqual(['admin']);
});

test('groups are bounded, and none reads as another', () => {
  const mapping = claimMapping.parse({});
  const given = ['a', 'a', '', 'x'.repeat(101), 'hidden\u200b', 'right\u202eleft', 'b:c'];
  expect(groupsOf(mapping, { groups: given })).toEqual(['a', 'b:c']);
  const many = Array.from({ length: 10_000 }, (_, n) => `g${n}`);
  expect(groupsOf(mapping, { groups: many })).toHaveLength(200);
  expect(groupsOf({ ...mapping, groups: null }, { groups: ['a'] })).toEqual([]);
  expect(textAt({ name: ' A\u0000da\u202e ' }, 'name', 255)).toBe('Ada');
});

test('nobody is found by a claim that can be given to somebody else', () => {
  for (const claim of ['email', '/user/email', 'preferred_username', 'upn'])
    expect(externalIdClaim.safeParse(claim).success).toBe(false);
  for (const claim of ['sub', 'oid', '/ids/employee'])
    expect(externalIdClaim.safeParse(claim).success).toBe(true);
});

test('a browser returns to pages of ours only', () => {
  const base = 'https://cadenza.example';
  for (const page of ['/console/', '/console/runs?q=1', '/auth/authorize?x=1', '/api/v1/auth/authorize?x=1'])
    expect(safeReturn(base, page)).toBe(page);
  for (const page of [
    '//evil.example/console/',
    '/console/../auth/token',
    '/consolex',
    '/\\evil',
    'https://x',
    '/console/%2e%2e/a',
  ])
    expect(safeReturn(base, page)).toBe('/console/');
});
