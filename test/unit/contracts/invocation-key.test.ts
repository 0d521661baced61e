/** The idempotency key of a call in a header. */
import { expect, test } from '@jest/globals';

import { fromHeader, invocationKey, toHeader } from '../../../contracts/invocation-key.ts';

const RUN = '0199a1b2-0000-7000-8000-000000000001';
const key = (task: string, visit = 1) => invocationKey(RUN, { task, name: 't', visit, attempt: 1 });

test('a key that fits is sent as it is', () => {
  expect(toHeader(key('/do/0/ask'))).toBe(`${RUN}:/do/0/ask:1:1`);
  expect(fromHeader(toHeader(key('/do/0/größe')))).toEqual({ key: key('/do/0/größe'), cut: false });
});

test('long keys that differ only at their end stay different, and name their run', () => {
  const long = `/do/0/${'größe/'.repeat(60)}`;
  const headers = [key(long), key(long, 2), key(`${long}x`)].map(toHeader);
  expect(new Set(headers).size).toBe(3);
  for (const header of headers) {
    expect(header).toMatch(/^[\x21-\x7e]{255}$/);
    const { key: beginning = '', cut } = fromHeader(header) ?? {};
    expect(cut).toBe(true);
    expect(key(long).startsWith(beginning)).toBe(true);
    expect(beginning.length).toBeGreaterThan(100);
  }
});
