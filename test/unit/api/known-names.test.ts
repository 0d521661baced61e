/** Which names of people are kept, and for how long. */
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { KnownNames } from '../../../api/known-names.ts';

let asked: string[][] = [];
let name = 'Ada';
const read = async (unknown: string[]): Promise<Map<string, string>> => {
  asked.push(unknown);
  return new Map(unknown.filter((person) => person !== 'nobody').map((person) => [person, name]));
};
const nameOf = async (names: KnownNames, person: string): Promise<string | undefined> => {
  const found = new Map<string, string>();
  await names.complete(found, new Set([person]), read);
  return found.get(person);
};

beforeEach(() => {
  asked = [];
  name = 'Ada';
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

test('a name is read again after a second and after a change, and so is that there is none', async () => {
  const names = new KnownNames(() => true);
  for (let n = 0; n < 2; n++) {
    expect(await nameOf(names, 'ada')).toBe('Ada');
    expect(await nameOf(names, 'nobody')).toBeUndefined();
  }
  expect(asked).toEqual([['ada'], ['nobody']]);
  name = 'Ada Lovelace';
  expect(await nameOf(names, 'ada')).toBe('Ada');
  names.clear();
  expect(await nameOf(names, 'ada')).toBe('Ada Lovelace');
  name = 'Ada King';
  jest.advanceTimersByTime(1_000);
  expect(await nameOf(names, 'ada')).toBe('Ada King');
});

test('nothing is kept while changes go unnoticed, nor what was read before a change', async () => {
  let isNotified = false;
  const names = new KnownNames(() => isNotified);
  await nameOf(names, 'ada');
  await nameOf(names, 'ada');
  expect(asked).toHaveLength(2);
  isNotified = true;
  await names.complete(new Map(), new Set(['ada']), async (unknown) => {
    names.clear();
    return read(unknown);
  });
  await nameOf(names, 'ada');
  expect(asked).toHaveLength(4);
});
