/** PATCH of SCIM, in the dialects of its clients. */
import { expect, test } from '@jest/globals';

import { applyPatch } from '../../../domain/scim/patch.ts';
import { threadClock } from '../../support/machine.ts';

const user = {
  userName: 'ada',
  name: { givenName: 'Ada' },
  emails: [
    { type: 'work', value: 'a@work.example' },
    { type: 'home', value: 'a@home.example' },
  ],
};

test('paths lead to attributes, parts of them, and values that a filter finds', () => {
  const changed = applyPatch(user, [
    { op: 'replace', path: 'displayname', value: 'Ada L.' },
    { op: 'Add', path: 'name.familyName', value: 'Lovelace' },
    { op: 'replace', path: 'emails[type eq "work"].value', value: 'new@work.example' },
    { op: 'remove', path: 'emails[type eq "home"]' },
    {
      op: 'add',
      path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department',
      value: 'R&D',
    },
  ]);
  expect(changed).toEqual({
    userName: 'ada',
    displayName: 'Ada L.',
    name: { givenName: 'Ada', familyName: 'Lovelace' },
    emails: [{ type: 'work', value: 'new@work.example' }],
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'R&D' },
  });
  expect(user.emails).toHaveLength(2);
});

test('Entra writes dotted names in a value, and values that do not exist yet', () => {
  const changed = applyPatch({ userName: 'ada' }, [
    { op: 'Add', value: { 'name.familyName': 'Lovelace', active: 'True' } },
    { op: 'Add', path: 'emails[type eq "work"].value', value: 'a@b.example' },
  ]);
  expect(changed).toEqual({
    userName: 'ada',
    name: { familyName: 'Lovelace' },
    active: 'True',
    emails: [{ type: 'work', value: 'a@b.example' }],
  });
});

test('what cannot be done is refused', () => {
  const wrong = [
    { op: 'move', path: 'userName' },
    { op: 'remove' },
    { op: 'add', value: 'x' },
    { op: 'replace', path: '__proto__', value: {} },
    { op: 'replace', path: 'a..b', value: 1 },
    { op: 'replace', path: 'emails[type eq', value: 1 },
    { op: 'remove', path: 'emails[type eq "fax"].value' },
  ];
  for (const operation of wrong) expect(() => applyPatch(user, [operation])).toThrow();
});

test('lists and names are bounded, so that many operations take little time', () => {
  const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 1]));
  const add = (value: unknown, path = 'x') => ({ op: 'add', path, value });
  const small = Array.from({ length: 999 }, () => add(1));
  const numbers = Array.from({ length: 100_000 }, (_, index) => index);
  const spentMs = threadClock();
  for (const first of [add(numbers), { op: 'add', value: wide }, add(wide), add([1, numbers])])
    try {
      applyPatch(user, [first, ...small]);
    } catch (error) {
      expect(error).toMatchObject({ status: 400, scimType: 'tooMany' });
    }
  expect(() => applyPatch(user, [add(numbers), add(1)])).toThrow('at most 5000 values');
  expect(() => applyPatch(user, [{ op: 'add', value: wide }])).toThrow('at most 500 attributes');
  const members = numbers.slice(0, 4_000).map((number) => ({ value: `m${number}`, display: 'Somebody' }));
  const group = applyPatch({ displayName: 'all', members }, [
    ...numbers.slice(0, 500).map((number) => add([{ value: `n${number}` }, { value: 'm1' }], 'members')),
    ...numbers.slice(0, 499).map((number) => ({
      op: 'remove',
      path: 'members',
      value: [{ value: `m${number}` }],
    })),
  ]);
  expect(group['members']).toHaveLength(4_000 + 500 - 499);
  expect(spentMs()).toBeLessThan(10_000);
});

test('a value that a filter has changed is compared as it is now', () => {
  const { emails } = applyPatch(user, [
    { op: 'add', path: 'emails', value: { value: 'new@work.example' } },
    { op: 'replace', path: 'emails[type eq "work"].value', value: 'b@work.example' },
    { op: 'add', path: 'emails', value: [{ value: 'b@work.example' }, { value: 'a@work.example' }] },
  ]);
  expect((emails as { value: string }[]).map(({ value }) => value)).toEqual([
    'b@work.example',
    'a@home.example',
    'new@work.example',
    'a@work.example',
  ]);
});
