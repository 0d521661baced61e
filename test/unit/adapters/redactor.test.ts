import { expect, test } from '@jest/globals';

import { createRedactor } from '../../../adapters/secrets/redactor.ts';
import { createSensitive } from '../../../adapters/secrets/sensitive.ts';
import { processorClock } from '../../support/machine.ts';

const secret = 'Top/Secret "ä" +Key&7';

function redactorOf(...values: string[]) {
  const redactor = createRedactor();
  for (const value of values) redactor.protect(value, '<S>');
  return redactor;
}

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collected(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString('utf8');
}

test.each<[string, string]>([
  ['as it is', secret],
  ['in another case', secret.toUpperCase()],
  ['in JSON', JSON.stringify(secret).slice(1, -1)],
  ['in JSON with escaped slashes', JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/')],
  ['in JSON of ASCII only', JSON.stringify(secret).slice(1, -1).replace('ä', '\\u00e4')],
  ['in a URL', encodeURIComponent(secret)],
  ['in a URL with small letters', encodeURIComponent(secret).toLowerCase()],
  ['in a form', new URLSearchParams({ k: secret }).toString().slice(2)],
  ['in HTML', secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
  ['in hex', Buffer.from(secret).toString('hex')],
  ['in hex with capitals', Buffer.from(secret).toString('hex').toUpperCase()],
])('a secret is hidden %s', (_how, written) => {
  expect(redactorOf(secret).redact(`before ${written} after`)).toBe('before <S> after');
});

test('a secret is hidden in base64 and base64url, wherever it begins in the encoded bytes', () => {
  const { redact } = redactorOf(secret);
  for (const before of ['', 'u', 'us', 'usr', 'user:']) {
    const plain = Buffer.from(`${before}${secret} and more`);
    for (const encoding of ['base64', 'base64url'] as const) {
      const shown = redact(plain.toString(encoding));
      expect([before, encoding, shown]).toEqual([before, encoding, expect.stringContaining('<S>')]);
      expect(Buffer.from(shown.replace('<S>', ''), encoding).toString()).not.toContain(secret.slice(3, -3));
    }
  }
});

test('a numeric secret is hidden as a JSON number, and other numbers are not', () => {
  const sensitive = createSensitive(
    new Map([
      ['PIN', '48213377'],
      ['SHORT', '1234'],
    ]),
  );
  expect(sensitive.clean({ pin: 48213377, other: 482133770, short: 1234, text: 'it is 48213377' })).toEqual({
    pin: '<PIN>',
    other: 482133770,
    short: 1234,
    text: 'it is <PIN>',
  });
});

test('each part of a secret that is an object is hidden', () => {
  const sensitive = createSensitive(
    new Map([['DB', JSON.stringify({ username: 'service', password: 'p4ssw0rd!', pin: 1234567 })]]),
  );
  expect(sensitive.clean(['P4SSW0RD!', 1234567])).toEqual(['<DB>', '<DB>']);
});

test('letters whose length changes with their case do not shift the redaction', () => {
  expect(redactorOf('secret-key').redact('İİİ SECRET-KEY İ')).toBe('İİİ <S> İ');
});

test('redaction leaves no rest of overlapping secrets', () => {
  const redactor = createRedactor();
  redactor.protect('abcdefgh', '<A>');
  redactor.protect('fghijklm', '<B>');
  expect(redactor.redact('__abcdefghijklm__')).toBe('__<A>__');
});

test('a quotation is redacted before it is shortened, including the line breaks of a secret', () => {
  const key = '-----BEGIN KEY-----\nMIIEowIBAAKCAQEA1234\n-----END KEY-----';
  const { quote } = createSensitive(new Map([['KEY', key]]));
  expect(quote(`${'x'.repeat(280)} ${key}`, 300)).toBe(`${'x'.repeat(280)} <KEY>`);
  expect(quote(`${'x'.repeat(290)} ${key}`, 300)).toBe(`${'x'.repeat(290)} <KEY>`.slice(0, 300));
});

test('a stream hides a secret split over chunks of any size, and passes on the rest', async () => {
  const text = `${'ä'.repeat(70_000)}${secret}${'b'.repeat(100)}${secret}`;
  for (const size of [1_000, 4_097, 65_536, 1_000_000]) {
    expect(await collected(redactorOf(secret).redactStream(inChunks(Buffer.from(text), size)))).toBe(
      text.replaceAll(secret, '<S>'),
    );
  }
  const short = Buffer.from(`a${secret}`);
  expect(await collected(redactorOf(secret).redactStream(inChunks(short, 1)))).toBe('a<S>');
  expect(await collected(redactorOf().redactStream(inChunks(short, 3)))).toBe(short.toString());
});

test('redaction takes linear time, even for texts and secrets made to be slow', async () => {
  const { redact, redactStream } = redactorOf(`${'a'.repeat(60_000)}b`, `b${'a'.repeat(60_000)}`);
  const text = 'a'.repeat(4_000_000);
  const spentMs = processorClock();
  expect(redact(text).length).toBeLessThan(text.length);
  await collected(redactStream(inChunks(Buffer.from(text), 1_000)));
  // Quadratic work would take minutes.
  expect(spentMs()).toBeLessThan(20_000);
});

test('in a growing text, too, for twenty secrets of 64 KiB that all but fit', () => {
  const redactor = createRedactor();
  for (const last of 'bdefghijklmnopqrstuv') redactor.protect(`${'a'.repeat(65_535)}${last}`, '<S>');
  const text = `${'a'.repeat(65_534)}c`;
  const spentMs = processorClock();
  const { done, rest } = redactor.redactHead(`${text}${text}${'a'.repeat(65_000)}`);
  expect(rest).toBe('a'.repeat(65_000));
  expect(done).toBe('<S>c<S>c');
  expect(redactor.openEnd(Buffer.from(`${'a'.repeat(60_000)}c`))).toBe(60_001);
  // Quadratic work would take minutes.
  expect(spentMs()).toBeLessThan(10_000);
});

test('what is held back of a growing text is the longest beginning of a secret', () => {
  const beginsAt = (text: string, secrets: readonly string[]): number => {
    for (let at = 0; at < text.length; at++)
      if (secrets.some((value) => value.startsWith(text.slice(at)))) return at;
    return text.length;
  };
  let tried = 0;
  for (let n = 0; n < 5_000; n++) {
    // Of two letters, so that beginnings are often inside of each other; one is another character in bytes.
    const written = (length: number): string =>
      Array.from({ length }, () => (Math.random() < 0.7 ? 'a' : 'ä')).join('');
    const secrets = [written(6 + (n % 14)), written(9)];
    const text = written(1 + (n % 23));
    const { redact, redactHead, openEnd } = redactorOf(...secrets);
    if (redact(text) !== text) continue;
    tried += 1;
    const at = beginsAt(text, secrets);
    expect([text, secrets, redactHead(text)]).toEqual([
      text,
      secrets,
      { done: text.slice(0, at), rest: text.slice(at) },
    ]);
    expect(openEnd(Buffer.from(text))).toBe(Buffer.byteLength(text.slice(0, at)));
  }
  expect(tried).toBeGreaterThan(1_000);
});

test('a secret is hidden in a text that grows, however it is cut, and other text is not held back', () => {
  const { redact, redactHead } = redactorOf(secret, 'abcabcabd');
  const whole = `before ${secret}${secret} abcabcabcabd ${Buffer.from(secret).toString('hex')} after`;
  for (let size = 1; size < 30; size++) {
    let shown = '';
    let held = '';
    for (let at = 0; at < whole.length; at += size) {
      const { done, rest } = redactHead(held + whole.slice(at, at + size));
      shown += done;
      held = rest;
    }
    expect([size, shown + redact(held)]).toEqual([size, redact(whole)]);
  }
  expect(redactHead('nothing of it.')).toEqual({ done: 'nothing of it.', rest: '' });
  expect(redactHead(`so far ${secret.slice(0, 5)}`)).toEqual({ done: 'so far ', rest: secret.slice(0, 5) });
});
