import { expect, test } from '@jest/globals';
import { loggedPath } from '../../../api/middleware/request-id.ts';

test('the capability of the codec endpoint is not logged', () => {
  for (const base of ['', '/api/v1']) {
    expect(loggedPath(`${base}/temporal-codec/abc-DEF_1/decode`)).toBe(
      `${base}/temporal-codec/[redacted]/decode`,
    );
    expect(loggedPath(`${base}/temporal-codec/abc`)).toBe(`${base}/temporal-codec/[redacted]`);
  }
  expect(loggedPath('/runs/temporal-codec/abc')).toBe('/runs/temporal-codec/abc');
});

test('a long path is cut, a long capability too', () => {
  expect(loggedPath(`/${'a.'.repeat(30_000)}`)).toHaveLength(1_000);
  expect(loggedPath(`/temporal-codec/${'a'.repeat(30_000)}/decode`)).toBe('/temporal-codec/[redacted]');
});
