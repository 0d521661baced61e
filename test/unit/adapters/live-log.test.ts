/** What a process writes on its way to the run's log. */
import { expect, test } from '@jest/globals';
import { createLiveLog, type LiveLog } from '../../../adapters/sandbox/live-log.ts';
import { createSensitive } from '../../../adapters/secrets/sensitive.ts';
import type { LoggedBytes, LoggedText } from '../../../domain/ports.ts';

const NOTHING: LoggedBytes = { stdout: 0, stderr: 0, cut: false };
const SECRET = 'a-very-secret-value';

/**
 * A run's log that counts as the database does, and fails as often as it is told; with `lost` after it has
 * stored the entries.
 */
function createRunLog(logged = NOTHING, failures = 0, lost = false) {
  const entries: LoggedText[] = [];
  const log = {
    logged,
    async append(texts: readonly LoggedText[], from: LoggedBytes, to: LoggedBytes): Promise<LoggedBytes> {
      const fails = failures-- > 0;
      if (fails && !lost) throw new Error('the database is away');
      if (JSON.stringify(from) === JSON.stringify(log.logged)) {
        entries.push(...texts);
        log.logged = to;
      }
      if (fails) throw new Error('the answer is lost');
      return log.logged;
    },
  };
  const textOf = (stream: string): string =>
    entries.map((entry) => (entry.stream === stream ? entry.text : '')).join('');
  return { log, entries, textOf };
}

function protectedLog(log: ReturnType<typeof createRunLog>['log'], ...secrets: string[]): LiveLog {
  const sensitive = createSensitive();
  for (const secret of secrets) sensitive.protect(secret, '<SECRET>');
  const live = createLiveLog(log, sensitive, ['stdout']);
  live.begin();
  return live;
}

const bytes = (text: string): Buffer => Buffer.from(text);

test('a quick process logs nothing, a failed one everything in order', async () => {
  const { log, entries } = createRunLog();
  const quick = protectedLog(log);
  quick.write('stdout', bytes('result'));
  expect(await quick.end(false)).toBe(false);
  const failed = protectedLog(log);
  failed.write('stdout', bytes('one\n'));
  failed.write('stderr', bytes('two\n'));
  failed.write('stdout', bytes('three\n'));
  expect(await failed.end(true)).toBe(true);
  expect(entries).toEqual([
    { stream: 'stdout', text: 'one\n' },
    { stream: 'stderr', text: 'two\n' },
    { stream: 'stdout', text: 'three\n' },
  ]);
});

test('a repeat logs only what the attempt before has not, also after a lost batch', async () => {
  const { log, textOf } = createRunLog();
  const first = protectedLog(log);
  first.write('stdout', bytes('one\ntw'));
  await first.end(true);
  const second = protectedLog(log);
  second.write('stdout', bytes('one\n'));
  second.write('stdout', bytes('two\n'));
  // The engine started anew: its log comes again.
  second.begin();
  second.write('stdout', bytes('one\ntwo\nthree\n'));
  expect(await second.end(false)).toBe(true);
  expect(textOf('stdout')).toBe('one\ntwo\nthree\n');

  const away = createRunLog(NOTHING, 1);
  const live = protectedLog(away.log);
  live.write('stderr', bytes(`${'x'.repeat(8_191)}\n`));
  live.write('stderr', bytes('rest'));
  expect(await live.end(false)).toBe(true);
  expect(away.textOf('stderr')).toBe(`${'x'.repeat(8_191)}\nrest`);
});

test('a batch whose answer is lost is logged once, and so is all that follows', async () => {
  const { log, textOf } = createRunLog(NOTHING, 1, true);
  const live = protectedLog(log);
  live.write('stderr', bytes(`${'x'.repeat(8_191)}\n`));
  live.write('stderr', bytes('rest'));
  expect(await live.end(false)).toBe(true);
  expect(textOf('stderr')).toBe(`${'x'.repeat(8_191)}\nrest`);
});

test('an attempt goes on where another one has brought the log meanwhile', async () => {
  const { log, textOf } = createRunLog();
  const line = `${'x'.repeat(8_191)}\n`;
  const [slow, fast] = [protectedLog(log), protectedLog(log)];
  fast.write('stderr', bytes(`${line}two\n`));
  await fast.end(true);
  slow.write('stderr', bytes(line));
  await new Promise(setImmediate);
  slow.write('stderr', bytes('two\nthree\n'));
  expect(await slow.end(false)).toBe(true);
  expect(textOf('stderr')).toBe(`${line}two\nthree\n`);
});

test('a secret that ends a batch is not cut, even if it ends as it begins', async () => {
  const secret = 'x-very-secret-value-x';
  const { log, entries, textOf } = createRunLog();
  const live = protectedLog(log, secret, 'value-x-and-more');
  live.write('stderr', bytes(`${'.'.repeat(8_192)}${secret}`));
  await new Promise(setImmediate);
  expect(entries).toHaveLength(1);
  live.write('stderr', bytes(' then'));
  await live.end(false);
  expect(textOf('stderr')).toBe(`${'.'.repeat(8_192)}<SECRET> then`);
});

test.each([1, 2, 3, 7, 19, 4_096])('no secret is logged in pieces of %d bytes', async (size) => {
  const { log, entries, textOf } = createRunLog();
  const live = protectedLog(log, SECRET, 'ää-umlaute-secret');
  const dots = '.'.repeat(8_180);
  const text = `${dots}${SECRET} then ${'-'.repeat(9_000)}ää-umlaute-secret ünd so weiter ${SECRET}`;
  const all = bytes(text);
  for (let at = 0; at < all.length; at += size) {
    live.write('stderr', all.subarray(at, at + size));
    if (at % 4_096 === 0) await new Promise(setImmediate);
    live.write('stdout', bytes('|'));
  }
  await live.end(false);
  const logged = entries.map((entry) => entry.text).join('');
  expect(logged).not.toMatch(/very-secret|umlaute/);
  expect(textOf('stderr')).toBe(
    text.replaceAll(SECRET, '<SECRET>').replaceAll('ää-umlaute-secret', '<SECRET>'),
  );
  expect(entries.length).toBeLessThan(100);
});

test('a long output ends with one entry that says so, without the beginning of a secret', async () => {
  const { log, entries } = createRunLog();
  const live = protectedLog(log, SECRET);
  const text = `${'y'.repeat(64 * 1024 - 5)}${SECRET}${'z'.repeat(1_000_000)}`;
  live.write('stderr', bytes(text));
  live.write('stderr', bytes(text));
  await live.end(true);
  expect(entries.at(-1)).toEqual({ stream: 'stderr', text: '… truncated' });
  expect(entries.filter((entry) => entry.text.includes('truncated'))).toHaveLength(1);
  expect(entries.map((entry) => entry.text).join('')).toBe(`${'y'.repeat(64 * 1024 - 5)}… truncated`);
  expect(Math.max(...entries.map((entry) => entry.text.length))).toBeLessThanOrEqual(8_192);
  const again = protectedLog(log, SECRET);
  again.write('stderr', bytes(text));
  await again.end(true);
  expect(entries.filter((entry) => entry.text.includes('truncated'))).toHaveLength(1);
});

test('invalid UTF-8 and NUL are logged as something that can be stored', async () => {
  const { log, textOf } = createRunLog();
  const live = protectedLog(log);
  live.write('stderr', Buffer.from([0x61, 0xff, 0x00, 0xc3]));
  live.write('stderr', Buffer.from([0xa4, 0x62, 0xf0, 0x9f]));
  await live.end(true);
  expect(textOf('stderr')).toBe('a\ufffd\\u0000äb\ufffd');
});
