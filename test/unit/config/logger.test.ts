import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createLogger } from '../../../config/logger.ts';
import { isSecretKey, redact, redactText } from '../../../config/redact.ts';

function logged(write: (logger: ReturnType<typeof createLogger>) => void): Record<string, unknown> {
  const lines: string[] = [];
  write(createLogger({ name: 'test', destination: { write: (line: string) => lines.push(line) } }));
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
}

describe('logger', () => {
  test('writes one JSON object a line with time, level and name', () => {
    expect(logged((logger) => logger.child({ request_id: 'r1' }).warn({ run_id: 'x' }, 'hello %s', 'you'))).toMatchObject({
      level: 'warn', name: 'test', msg: 'hello you', run_id: 'x', request_id: 'r1', time: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  test('no secret is written: headers, bodies, messages, arguments, bindings, errors and their causes', () => {
    const cause = new Error('connect postgres://cadenza:s3cret-1@db:5432/cadenza failed');
    const error = Object.assign(new Error('Bearer s3cret-2abcdef refused', { cause }), { headers: { authorization: 's3cret-3' } });
    const line = JSON.stringify(
      logged((logger) =>
        logger.child({ token: 's3cret-4' }).error(
          { err: error, req: { headers: { Authorization: 's3cret-5', 'x-api-key': 's3cret-6', cookie: 's3cret-7' } }, body: [{ newPassword: 's3cret-8' }] },
          'sent %s with Basic s3cret-9abc', 'https://u:s3cret-0@host/',
        ),
      ),
    );
    expect(line).not.toContain('s3cret');
    expect(line).toContain('refused');
    expect(line).toContain('/cadenza failed');
  });

  test('an error alone is written with type, message and stack', () => {
    expect(logged((logger) => logger.error(new TypeError('broken')))).toMatchObject({
      msg: 'broken', err: { type: 'TypeError', message: 'broken', stack: expect.stringContaining('broken') },
    });
  });

  test.each(['password', 'Authorization', 'API-Key', 'apiKey', 'refresh_token', 'clientSecret', 'private_key', 'X-Api-Key', 'password_hash'])('%s is a secret key', (key) => {
    expect(isSecretKey(key)).toBe(true);
  });

  test.each(['input_tokens', 'total_tokens', 'tokens', 'key', 'name', 'secretary', 'author', 'secret_names'])('%s is not a secret key', (key) => {
    expect(isSecretKey(key)).toBe(false);
  });

  test('cycles, depth, dates, bytes and big numbers do not break a line', () => {
    const cycle: Record<string, unknown> = { at: new Date(0), n: 1n, bytes: Buffer.from('abc'), map: new Map([['a', 1]]) };
    cycle['self'] = cycle;
    expect(redact(cycle)).toEqual({ at: '1970-01-01T00:00:00.000Z', n: '1', bytes: '[3 bytes]', map: [['a', 1]], self: '[circular]' });
    expect(redact({ at: new Date(Number.NaN) })).toEqual({ at: null });
    let deep: unknown = 'end';
    for (let i = 0; i < 100; i += 1) deep = { deep };
    expect(JSON.stringify(redact(deep))).toContain('[too deep]');
  });

  test('values under ordinary keys come through unchanged, whatever they are', () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = JSON.stringify(value);
      fc.pre(redactText(text) === text && !text.split('"').some(isSecretKey) && !text.includes('__proto__'));
      expect(JSON.stringify(redact(value))).toBe(text);
    }));
  });
});
