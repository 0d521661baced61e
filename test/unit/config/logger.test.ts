import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createLogger } from '../../../config/logger.ts';
import { namesCredential } from '../../../contracts/credentials.ts';
import { redact, redactText } from '../../../config/redact.ts';
import { threadClock } from '../../support/machine.ts';

function logged(write: (logger: ReturnType<typeof createLogger>) => void): Record<string, unknown> {
  const lines: string[] = [];
  write(createLogger({ name: 'test', destination: { write: (line: string) => lines.push(line) } }));
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
}

describe('logger', () => {
  test('writes one JSON object a line with time, level and name', () => {
    expect(
      logged((logger) => logger.child({ request_id: 'r1' }).warn({ run_id: 'x' }, 'hello %s', 'you')),
    ).toMatchObject({
      level: 'warn',
      name: 'test',
      msg: 'hello you',
      run_id: 'x',
      request_id: 'r1',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  test('writes no secret of headers, bodies, messages, arguments, bindings or errors', () => {
    const cause = new Error('connect postgres://cadenza:s3cret-1@db:5432/cadenza failed');
    const error = Object.assign(new Error('Bearer s3cret-2abcdef refused', { cause }), {
      headers: { authorization: 's3cret-3' },
    });
    const line = JSON.stringify(
      logged((logger) =>
        logger.child({ token: 's3cret-4' }).error(
          {
            err: error,
            req: { headers: { Authorization: 's3cret-5', 'x-api-key': 's3cret-6', cookie: 's3cret-7' } },
            body: [{ newPassword: 's3cret-8' }],
          },
          'sent %s with Basic s3cret-9abc',
          'https://u:s3cret-0@host/',
        ),
      ),
    );
    expect(line).not.toContain('s3cret');
    expect(line).toContain('refused');
    expect(line).toContain('/cadenza failed');
  });

  test('writes type, message and stack of an error that is logged alone', () => {
    expect(logged((logger) => logger.error(new TypeError('broken')))).toMatchObject({
      msg: 'broken',
      err: { type: 'TypeError', message: 'broken', stack: expect.stringContaining('broken') },
    });
  });

  test.each([
    'password',
    'Authorization',
    'API-Key',
    'apiKey',
    'refresh_token',
    'clientSecret',
    'private_key',
    'X-Api-Key',
    'password_hash',
    'encryption_keys',
    'PRIVATE-TOKEN',
    'accessToken',
    'set-cookie',
    'passphrase',
    'Ocp-Apim-Subscription-Key',
  ])('hides the value under %s, be it a text or a structure', (key) => {
    for (const value of ['s3cret', ['s3cret'], { inner: 's3cret' }])
      expect(redact({ [key]: value })).toEqual({ [key]: '[redacted]' });
  });

  test.each(['key', 'name', 'secretary', 'author', 'token_url', 'token_type', 'tokenizer'])(
    'writes the value under %s',
    (key) => {
      expect(redact({ [key]: 'plain' })).toEqual({ [key]: 'plain' });
    },
  );

  test('writes token counts and switches, but no number under a password key', () => {
    const counts = { input_tokens: 12, total_tokens: 30, tokens: 1, token_epoch: 3, has_secret: true };
    expect(redact(counts)).toEqual(counts);
    expect(redact({ password: 123_456 })).toEqual({ password: '[redacted]' });
  });

  test.each([
    'GET https://api.example/v1?page=2&api_key=s3cret-value&x=1',
    'the key sk-proj-s3cret1234567890abcd was refused',
    'ghp_s3crets3crets3crets3crets3cret12 is not valid',
  ])('hides a credential inside a text: %s', (text) => {
    const written = String(redact(text));
    expect(written).not.toContain('s3cret');
    expect(written).toContain('[redacted]');
  });

  test('writes cycles, deep values, dates, bytes and big numbers', () => {
    const cycle: Record<string, unknown> = {
      at: new Date(0),
      n: 1n,
      bytes: Buffer.from('abc'),
      map: new Map([['a', 1]]),
    };
    cycle['self'] = cycle;
    expect(redact(cycle)).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      n: '1',
      bytes: '[3 bytes]',
      map: [['a', 1]],
      self: '[circular]',
    });
    expect(redact({ at: new Date(Number.NaN) })).toEqual({ at: null });
    let deep: unknown = 'end';
    for (let i = 0; i < 100; i += 1) deep = { deep };
    expect(JSON.stringify(redact(deep))).toContain('[too deep]');
  });

  test('searches a long text in linear time', () => {
    for (const piece of ['a.', 'a://', '://a:', 'Bearer ', 'eyJ-'])
      for (const [name, text] of [
        ['path', `/${piece.repeat(15_000)}`],
        ['spaced', ` ${piece.repeat(15_000)} `],
      ]) {
        const spentMs = threadClock();
        redactText(text ?? '');
        expect([piece, name, spentMs() < 1_000]).toEqual([piece, name, true]);
      }
  });

  test('writes any value under ordinary keys unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(
          redactText(text) === text && !text.split('"').some(namesCredential) && !text.includes('__proto__'),
        );
        expect(JSON.stringify(redact(value))).toBe(text);
      }),
      { seed: 20260801 },
    );
  });
});
