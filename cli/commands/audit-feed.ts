/**
 * The audit log oldest first, as JSON lines for programs that collect it: each line once, and none is
 * missing, however often the server or this program restarts.
 */
import { fsyncSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { ApiError, isRefusal, type AuditEntry, type Operations, type Page } from '../../client/index.ts';
import type { Cli } from '../core/cli.ts';
import { CliError, EXIT, failureOf, usageError } from '../core/errors.ts';
import { hasCode } from '../core/lock.ts';
import { replaceFile } from '../core/replace-file.ts';
import { unreadable } from '../core/unreadable.ts';

/** The most that the server gives in one page. */
const PAGE = 200;
const LONGEST_PAUSE_MS = 30_000;
/** An answer that takes longer may never come: its connection is dead. */
const TIMEOUT_MS = 60_000;
/** From the oldest entry. */
const START = '0';

interface Feed {
  /** Filters of the log. */
  query: NonNullable<Operations['listAudit']['query']>;
  after?: string | undefined;
  /** Keeps the cursor. What it holds counts, and not `after`. */
  state?: string | undefined;
  /** Goes on for ever. */
  follow: boolean;
  everyMs: number;
}

/**
 * Prints the entries after the cursor. The state is stored after the lines were handed over: a process that
 * dies in between prints the last page again, at most 200 lines.
 */
export async function printFeed(
  cli: Cli,
  { query, after = START, state, follow, everyMs }: Feed,
): Promise<void> {
  const { signal } = cli;
  let cursor = (state === undefined ? null : storedCursor(state)) ?? after;
  const read = async (): Promise<Page<AuditEntry>> => {
    const limits = follow ? [signal, AbortSignal.timeout(TIMEOUT_MS)] : [signal];
    const page = { ...query, after: cursor, limit: PAGE };
    return cli.client.page('listAudit', { query: page, signal: AbortSignal.any(limits) });
  };
  while (!signal.aborted) {
    const { items, next } = follow ? await untilAnswered(cli, everyMs, read) : await read();
    if (items.length > 0) await cli.out.lines(items.map((entry) => JSON.stringify(entry)));
    if (items.length > 0 && state !== undefined) putOnDisk(cli.surroundings.stdout);
    if (next !== null && next !== cursor) {
      cursor = next;
      if (state !== undefined) store(state, cursor);
    } else if (follow) await sleep(everyMs, undefined, { signal });
    else break;
  }
  if (state === undefined) cli.say(`For what follows: --after ${cursor}`);
}

/** Tries again until the server answers. @throws what would be the same the next time */
async function untilAnswered<T>(cli: Cli, firstPauseMs: number, read: () => Promise<T>): Promise<T> {
  let pauseMs = firstPauseMs;
  for (let failures = 0; ; failures += 1) {
    try {
      const answer = await read();
      if (failures > 0) cli.say('The server answers again.');
      return answer;
    } catch (error) {
      if (cli.signal.aborted || isFinal(error)) throw error;
      if (failures === 0) cli.say(`${failureOf(error).detail.split('\n', 1)[0] ?? ''} Trying again.`);
      const wantedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
      await sleep(Math.max(pauseMs, wantedMs), undefined, { signal: cli.signal });
      pauseMs = Math.min(Math.max(pauseMs, 1_000) * 2, LONGEST_PAUSE_MS);
    }
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof CliError ? error.exitCode !== EXIT.failed : isRefusal(error);
}

/** Null if there is no file yet. */
function storedCursor(path: string): string | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw unreadable(path, error);
  }
  if (!/^[\w-]{1,200}$/.test(text))
    throw usageError(
      `${path} holds no cursor.`,
      'Remove it to begin with the oldest entry, or with --after.',
    );
  return text;
}

/** A cursor that survives a crash of the machine must not be ahead of what it is about. */
function putOnDisk(stdout: object): void {
  const fd: unknown = Reflect.get(stdout, 'fd');
  if (typeof fd !== 'number') return;
  try {
    fsyncSync(fd);
  } catch {
    // It is no file, but a pipe or a terminal.
  }
}

function store(path: string, cursor: string): void {
  try {
    replaceFile(path, `${cursor}\n`);
  } catch (error) {
    throw new CliError(`Cannot write ${path}: ${messageOf(error)}`, { code: 'file_unwritable' });
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
