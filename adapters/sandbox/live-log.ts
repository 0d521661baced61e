/**
 * Passes on what a process writes while it runs, in batches. A process that ends within a second, and well,
 * needs none: its log travels with its outcome.
 */
import type { LoggedBytes, LoggedText, ProcessLog, ProcessStream } from '../../domain/ports.ts';
import type { Sensitive } from '../secrets/sensitive.ts';

export interface LiveLog {
  /** The output comes again from its beginning. */
  begin(): void;
  write(stream: ProcessStream, bytes: Uint8Array): void;
  /**
   * Passes on the rest, if something was passed on before or `always`. @returns whether this log has it all
   * @throws what the last attempt to pass it on threw
   */
  end(always: boolean): Promise<boolean>;
  /** Passes on nothing more. */
  stop(): void;
}

/** Of both streams of one call. */
const MAX_BYTES = 64 * 1024;
const BATCH_BYTES = 8 * 1024;
/** More parts become one for each stream. */
const MAX_PARTS = 20;
const PAUSE_MS = 1_000;
/** Of a process that runs for long, the pause is this share of its age: a day has about 200 batches. */
const PAUSE_SHARE = 1 / 20;
const CUT = '… truncated';
const STREAMS = ['stdout', 'stderr'] as const;

interface Part {
  stream: ProcessStream;
  bytes: Buffer;
}

/** @param returned the streams that the task returns; their size alone is no reason to log them */
export function createLiveLog(
  log: ProcessLog,
  sensitive: Pick<Sensitive, 'clean' | 'openEnd'>,
  returned: readonly ProcessStream[],
): LiveLog {
  return new Batches(log, sensitive, returned);
}

class Batches implements LiveLog {
  readonly #log: ProcessLog;
  readonly #sensitive: Pick<Sensitive, 'clean' | 'openEnd'>;
  readonly #returned: readonly ProcessStream[];
  readonly #startedAt = performance.now();
  /** Bytes of each stream that the log has or that are pending. */
  readonly #taken: Record<ProcessStream, number>;
  /** How many of these come again. */
  #skip: Record<ProcessStream, number>;
  #logged: LoggedBytes;
  #pending: Part[] = [];
  /** Bytes that came since the last batch and are a reason for the next one. */
  #waiting = 0;
  /** There is more than the log takes. */
  #cut: boolean;
  #begun: boolean;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  #passing: Promise<void> | null = null;

  constructor(
    log: ProcessLog,
    sensitive: Pick<Sensitive, 'clean' | 'openEnd'>,
    returned: readonly ProcessStream[],
  ) {
    this.#log = log;
    this.#sensitive = sensitive;
    this.#returned = returned;
    this.#logged = log.logged;
    this.#taken = { stdout: log.logged.stdout, stderr: log.logged.stderr };
    this.#skip = { ...this.#taken };
    this.#cut = log.logged.cut;
    this.#begun = this.#taken.stdout + this.#taken.stderr > 0 || this.#cut;
  }

  begin(): void {
    this.#skip = { ...this.#taken };
  }

  write(stream: ProcessStream, bytes: Uint8Array): void {
    const skipped = Math.min(this.#skip[stream], bytes.length);
    this.#skip[stream] -= skipped;
    if (this.#cut || this.#stopped || bytes.length === skipped) return;
    const room = MAX_BYTES - this.#taken.stdout - this.#taken.stderr;
    const fits = bytes.subarray(skipped, skipped + room);
    if (fits.length < bytes.length - skipped) this.#cut = true;
    this.#taken[stream] += fits.length;
    // A copy: the bytes belong to a buffer of the connection.
    if (fits.length > 0) this.#pending.push({ stream, bytes: Buffer.from(fits) });
    if (this.#begun || !this.#returned.includes(stream)) this.#waiting += fits.length;
    if (this.#passing !== null) return;
    if (this.#waiting >= BATCH_BYTES) this.#pass();
    else this.#passLater();
  }

  async end(always: boolean): Promise<boolean> {
    await this.#passing;
    clearTimeout(this.#timer);
    if (!this.#begun && !always) return false;
    await this.#passNow(true);
    // The log was not where this attempt believed.
    if (this.#pending.length > 0 || this.#cut !== this.#logged.cut) await this.#passNow(true);
    return true;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #passLater(): void {
    if (this.#stopped) return;
    const pauseMs = Math.max(PAUSE_MS, (performance.now() - this.#startedAt) * PAUSE_SHARE);
    this.#timer ??= setTimeout(() => this.#pass(), pauseMs).unref();
  }

  #pass(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#begun = true;
    this.#waiting = 0;
    this.#passing = this.#passNow(false)
      // The next batch repeats what failed.
      .catch(() => {})
      .then(() => {
        this.#passing = null;
        if (this.#pending.length > 0) this.#passLater();
      });
  }

  async #passNow(last: boolean): Promise<void> {
    const wasCut = this.#cut;
    const { done, rest } = this.#divided(this.#pending, last && !wasCut);
    const to = { ...this.#logged, cut: wasCut };
    for (const { stream, bytes } of done) to[stream] += bytes.length;
    const texts = this.#textsOf(done);
    if (wasCut && !this.#logged.cut) texts.push({ stream: done.at(-1)?.stream ?? 'stdout', text: CUT });
    if (texts.length === 0 && sizeOf(done) === 0) return;
    this.#pending = wasCut ? [] : rest;
    try {
      this.#goOnAt(await this.#log.append(texts, this.#logged, to), to, done);
    } catch (error) {
      this.#pending = [...done, ...this.#pending];
      throw error;
    }
  }

  /** The log has all up to `now`; usually what was passed on. */
  #goOnAt(now: LoggedBytes, to: LoggedBytes, done: readonly Part[]): void {
    if (now.stdout !== to.stdout || now.stderr !== to.stderr) {
      this.#pending = [...done, ...this.#pending];
      for (const stream of STREAMS) {
        this.#pending = without(this.#pending, stream, now[stream] - this.#logged[stream]);
        // Another attempt was faster: what it logged is still to come here.
        const ahead = Math.max(0, now[stream] - this.#taken[stream]);
        this.#taken[stream] += ahead;
        this.#skip[stream] += ahead;
      }
    }
    if (now.cut) this.#cut = true;
    this.#logged = now;
  }

  /** All up to where, in each stream, a secret or a character may have begun; `all`: everything. */
  #divided(parts: readonly Part[], all: boolean): { done: Part[]; rest: Part[] } {
    const left = { stdout: 0, stderr: 0 };
    for (const stream of STREAMS) {
      const bytes = joined(parts, stream);
      left[stream] = all
        ? bytes.length
        : Math.min(this.#sensitive.openEnd(bytes), bytes.length - openCharacter(bytes));
    }
    const [done, rest]: [Part[], Part[]] = [[], []];
    for (const { stream, bytes } of parts) {
      const [now, later] = [bytes.subarray(0, left[stream]), bytes.subarray(left[stream])];
      left[stream] -= now.length;
      if (now.length > 0) done.push({ stream, bytes: now });
      if (later.length > 0) rest.push({ stream, bytes: later });
    }
    return { done, rest };
  }

  /**
   * In the order in which the parts came, unless a secret may lie across several of them: then stream by
   * stream.
   */
  #textsOf(parts: readonly Part[]): LoggedText[] {
    const groups: Part[][] = [];
    for (const part of parts) {
      const last = groups.at(-1);
      if (last?.[0]?.stream === part.stream) last.push(part);
      else groups.push([part]);
    }
    const merged = groups.map((group) => {
      const stream = group[0]?.stream ?? 'stdout';
      return { stream, bytes: joined(group, stream) };
    });
    const apart = STREAMS.flatMap((stream) => {
      const bytes = joined(merged, stream);
      return bytes.length === 0 ? [] : [{ stream, bytes }];
    });
    const isPlain = apart.every(({ stream, bytes }) => {
      const ofParts = merged.map((part) => (part.stream === stream ? this.#clean(part.bytes) : ''));
      return ofParts.join('') === textOf(bytes) && this.#clean(bytes) === textOf(bytes);
    });
    return (isPlain && merged.length <= MAX_PARTS ? merged : apart).flatMap(({ stream, bytes }) =>
      piecesOf(this.#clean(bytes)).map((text) => ({ stream, text })),
    );
  }

  #clean(bytes: Buffer): string {
    return String(this.#sensitive.clean(textOf(bytes)));
  }
}

function sizeOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

function joined(parts: readonly Part[], stream: ProcessStream): Buffer {
  return Buffer.concat(parts.filter((part) => part.stream === stream).map(({ bytes }) => bytes));
}

/** The parts without so many first bytes of a stream. */
function without(parts: readonly Part[], stream: ProcessStream, count: number): Part[] {
  let left = count;
  return parts.flatMap((part) => {
    if (part.stream !== stream || left <= 0) return [part];
    const bytes = part.bytes.subarray(left);
    left -= part.bytes.length - bytes.length;
    return bytes.length === 0 ? [] : [{ stream, bytes }];
  });
}

/** What is no UTF-8 becomes U+FFFD. */
function textOf(bytes: Buffer): string {
  return bytes.toString('utf8');
}

/** Pieces of at most a batch, cut at the ends of lines where there are some. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let rest = text; rest.length > 0;) {
    const line = rest.length <= BATCH_BYTES ? rest.length : rest.lastIndexOf('\n', BATCH_BYTES - 1) + 1;
    let end = line > 0 ? line : BATCH_BYTES;
    // Not between the halves of one character.
    if (line <= 0 && /[\ud800-\udbff]/.test(rest.charAt(end - 1))) end -= 1;
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return pieces;
}

/** How many bytes at the end are the beginning of a character. */
function openCharacter(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
  }
  return 0;
}
