import { expect, test } from '@jest/globals';

import { replaceInAddresses } from '../../../contracts/credentials.ts';
import { withoutEnd } from '../../../contracts/text-end.ts';
import { tagged } from '../../../contracts/process-policy.ts';
import { functionAddress } from '../../../language/definition/resources.ts';
import { threadClock } from '../../support/machine.ts';

const replaced = (text: string): [string, string[]] => {
  const found: string[] = [];
  const result = replaceInAddresses(text, (value, name) => {
    found.push(`${name}: ${value}`);
    return '*';
  });
  return [result, found];
};

test.each([
  ['https://a.test/?token=abc', 'https://a.test/?token=*', ['token: abc']],
  ['https://a.test/?q=1&api_key=a;b?c=d#end', 'https://a.test/?q=1&api_key=*#end', ['api_key: a;b?c=d']],
  ['https://a.test/?q=a;token=b', 'https://a.test/?q=a;token=b', []],
  ['https://a.test/;x;token=b&token=c', 'https://a.test/;x;token=*&token=*', ['token: b', 'token: c']],
  ['https://a.test/?token=<HIDDEN>&key=${x}', 'https://a.test/?token=<HIDDEN>&key=${x}', []],
  [
    'https://u:p@a.test/?password=x "y"',
    'https://u:*@a.test/?password=* "y"',
    ['password: p', 'password: x'],
  ],
  [`https://a.test/?token=${'x'.repeat(4_001)}`, `https://a.test/?token=${'x'.repeat(4_001)}`, []],
  ['?token=abc', '?token=abc', []],
])('credentials in %s', (text, result, found) => {
  expect(replaced(text)).toEqual([result, found]);
});

test.each([
  ['https://a.test///', '/', 'https://a.test'],
  ['yes!..', '.!', 'yes'],
  ['///', '/', ''],
  ['a/b', '/', 'a/b'],
])('%s without its end', (text, characters, result) => {
  expect(withoutEnd(text, characters)).toBe(result);
});

test.each([
  ['alpine', 'alpine:latest'],
  ['a.test:5000/alpine', 'a.test:5000/alpine:latest'],
  ['a.test:5000/alpine:3', 'a.test:5000/alpine:3'],
  ['alpine@sha256:1', 'alpine@sha256:1'],
  ['a/*', 'a/*'],
])('the tag of %s', (image, result) => {
  expect(tagged(image)).toBe(result);
});

test('texts of users take time that grows with their length only', () => {
  const spentMs = threadClock();
  replaced(`://${';a='.repeat(400_000)}`);
  replaced(`://${'?token='.repeat(200_000)}`);
  withoutEnd(`${'/'.repeat(1_000_000)}x`, '/');
  tagged(`${':'.repeat(1_000_000)}/x`);
  const definition = { use: { catalogs: { c: { endpoint: `https://a/${'/'.repeat(900_000)}x` } } } };
  expect(functionAddress('f:1@c', definition)?.url).toMatch(/x\/functions\/f\/1\/function.yaml$/);
  expect(spentMs()).toBeLessThan(3_000);
});
