import { expect, test } from '@jest/globals';

import {
  SharedReader,
  SharedReaders,
  type Entry,
  type LogSource,
} from '../../../api/streams/shared-reader.ts';

const quiet = { warn: () => {} } as unknown as ConstructorParameters<typeof SharedReader>[2];
const never = new AbortController().signal;

/** A log of numbers that a test appends to. */
class Numbers implements LogSource<Entry<number>, number> {
  readonly all: Entry<number>[] = [];
  failures = 0;
  reads = 0;
  over = false;
  #news = false;
  #wake = (): void => {};

  append(count: number, size = 10): void {
    for (let index = 0; index < count; index += 1) this.all.push({ place: this.all.length + 1, size });
    this.#news = true;
    this.#wake();
  }

  async read(after: number) {
    this.reads += 1;
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error('away');
    }
    const entries = this.all.slice(after, after + 500);
    return {
      entries,
      reached: entries.at(-1)?.place ?? after,
      more: entries.length === 500,
      over: this.over && entries.length < 500,
    };
  }

  /** Like a real source: returns at once if something came since the last wait. */
  async wait(): Promise<void> {
    if (!this.#news) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#news = false;
  }

  close(): void {
    this.#wake();
  }

  isAfter(one: number, other: number): boolean {
    return one > other;
  }
}

async function reached(reader: SharedReader<Entry<number>, number>, place: number): Promise<void> {
  for (let at = 0; at < place;) {
    await reader.next(at, 5_000, never);
    at = reader.after(at)?.reached ?? place;
  }
}

test('a shared reader gives any number of streams the entries after a place, in order', async () => {
  const log = new Numbers();
  const reader = new SharedReader(log, 0, quiet);
  log.append(3);
  await reached(reader, 3);
  expect(reader.after(0)?.entries.map(({ place }) => place)).toEqual([1, 2, 3]);
  expect(reader.after(2)).toMatchObject({ entries: [{ place: 3 }], reached: 3, over: false });
  expect(reader.after(7)).toMatchObject({ entries: [], reached: 7 });
  reader.stop();
});

test('a shared reader keeps a bounded number of entries; a late stream reads alone', async () => {
  const many = new Numbers();
  many.append(5_000);
  const byNumber = new SharedReader(many, 0, quiet);
  await until(() => byNumber.after(5_000)?.reached === 5_000 && byNumber.after(4_999)?.entries.length === 1);
  expect(byNumber.after(2_999)).toBeNull();
  expect(byNumber.after(3_000)?.entries).toHaveLength(2_000);
  byNumber.stop();

  const large = new Numbers();
  large.append(20, 1024 * 1024);
  const bySize = new SharedReader(large, 0, quiet);
  await until(() => bySize.after(19)?.entries.length === 1);
  expect(bySize.after(11)).toBeNull();
  expect(bySize.after(12)?.entries).toHaveLength(8);
  bySize.stop();
});

test('an entry that exceeds the limit of the memory is read by each stream alone', async () => {
  const log = new Numbers();
  log.append(1, 100 * 1024 * 1024);
  const reader = new SharedReader(log, 0, quiet);
  await until(() => reader.after(0) === null);
  expect(reader.after(1)).toMatchObject({ entries: [], reached: 1 });
  reader.stop();
});

test('a shared reader reports the end of the log, and reads no more', async () => {
  const log = new Numbers();
  log.over = true;
  log.append(1);
  const reader = new SharedReader(log, 0, quiet);
  await until(() => reader.after(0)?.over === true);
  const { reads } = log;
  await reader.next(1, 5_000, never);
  expect(log.reads).toBe(reads);
});

test('a shared reader goes on after a failed read', async () => {
  const log = new Numbers();
  log.failures = 1;
  log.append(1);
  const reader = new SharedReader(log, 0, quiet);
  await until(() => reader.after(0)?.entries.length === 1);
  expect(log.reads).toBeGreaterThan(1);
  reader.stop();
});

test('a waiting stream wakes for an entry, for its own end, and for the stop of the reader', async () => {
  const log = new Numbers();
  const reader = new SharedReader(log, 0, quiet);
  const ended = new AbortController();
  const waits = [reader.next(0, 60_000, ended.signal), reader.next(0, 60_000, never)];
  ended.abort();
  await waits[0];
  log.append(1);
  await waits[1];
  const last = reader.next(1, 60_000, never);
  reader.stop();
  await expect(last).resolves.toBeUndefined();
});

test('the first stream starts a reader, and the last one stops it', () => {
  const stopped: string[] = [];
  const readers = new SharedReaders<{ stop(): void }>();
  const join = () => readers.join('a', () => ({ stop: () => void stopped.push('a') }));
  const [first, second] = [join(), join()];
  expect(first.reader).toBe(second.reader);
  first.leave();
  expect([readers.size, stopped]).toEqual([1, []]);
  second.leave();
  expect([readers.size, stopped]).toEqual([0, ['a']]);
});

async function until(ready: () => boolean): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!ready()) {
    if (Date.now() > deadline) throw new Error('it never came');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
