/** PATCH of SCIM, in the dialects of its clients. */
import { expect, test } from '@jest/globals';

import { applyPatch } from '../../../domain/scim/patch.ts';

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
