/**
 * A simulation of docs/adr/0058-cells.md: runs in several cells, requests routed by their ids alone, and
 * lists merged from the cells' own pages. It checks that a reader gets each run once and in order, while
 * others are made and a cell is away, and prints what merging costs. `npm run bench:cells [seed]`
 */
import { strict as assert } from 'node:assert';
import { randomFrom } from '../support/seeded.ts';

/** A cell's runs, newest first, as its own database would list them. */
interface Cell {
  number: number;
  ids: string[];
  away: boolean;
}

interface Page {
  ids: string[];
  cursor: string | null;
  /** Cells that did not answer. */
  missing: number[];
  /** What all cells read for it. */
  rows: number;
}

const CELL_BITS = 10n;
const MAX_CELLS = 1 << Number(CELL_BITS);
const PAGE = 50;
const random = randomFrom(Number(process.argv[2] ?? 1));

/** UUID version 8: the time as in version 7, random bits, and the cell in the last ten bits. */
function idOf(timeMs: number, cell: number): string {
  assert(cell >= 0 && cell < MAX_CELLS);
  const tail = ((bits(62n) >> CELL_BITS) << CELL_BITS) | BigInt(cell);
  const value = (BigInt(timeMs) << 80n) | (8n << 76n) | (bits(12n) << 64n) | (2n << 62n) | tail;
  const hex = value.toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Ids of version 7 are older than cells, and their runs are in cell 0. */
function cellOf(id: string): number {
  return id[14] === '8' ? Number.parseInt(id.slice(-3), 16) % MAX_CELLS : 0;
}

/**
 * The next page over all cells. A cursor is the last id of a page, because ids alone order runs: so each cell
 * continues by its own index, and no cell is asked twice for a page.
 */
function mergedPage(cells: readonly Cell[], after: string | null, size = PAGE): Page {
  const here = cells.filter(({ away }) => !away);
  const pages = here.map(({ ids }) => pageOf(ids, after, size + 1));
  const merged = pages.flat().toSorted(descending);
  const ids = merged.slice(0, size);
  return {
    ids,
    cursor: merged.length > size ? (ids.at(-1) ?? null) : null,
    missing: cells.filter(({ away }) => away).map(({ number }) => number),
    rows: merged.length,
  };
}

function pageOf(ids: readonly string[], after: string | null, size: number): string[] {
  let [low, high] = [0, ids.length];
  while (after !== null && low < high) {
    const middle = (low + high) >> 1;
    if (ids[middle]! >= after) low = middle + 1;
    else high = middle;
  }
  return ids.slice(low, low + size);
}

/** The position of a feed of events: one number for each cell, since no order holds between cells. */
function readFeed(
  logs: readonly number[][],
  position: readonly number[],
  limit: number,
): [number[], number[]] {
  const next = [...position];
  const events: number[] = [];
  // In turns, so that a busy cell does not hold the others up.
  for (let read = true; read && events.length < limit;) {
    read = false;
    for (const [cell, log] of logs.entries()) {
      const at = next[cell] ?? 0;
      if (at >= log.length || events.length >= limit) continue;
      events.push(log[at]!);
      next[cell] = at + 1;
      read = true;
    }
  }
  return [events, next];
}

/** Roots go anywhere, children stay in the cell of their root. */
function makeRuns(cells: readonly Cell[], count: number, from: number): Map<string, string> {
  const roots = new Map<string, string>();
  const made: string[] = [];
  for (let i = 0; i < count; i++) {
    const parent = random() < 0.3 ? made[Math.floor(random() * made.length)] : undefined;
    const cell = parent === undefined ? Math.floor(random() * cells.length) : cellOf(parent);
    const id = idOf(from + Math.floor(i / 3), cell);
    made.push(id);
    roots.set(id, parent === undefined ? id : (roots.get(parent) ?? parent));
    cells[cell]!.ids.push(id);
  }
  for (const { ids } of cells) ids.sort(descending);
  return roots;
}

const rows: string[] = [];
for (const count of [1, 2, 8, 32]) {
  const cells: Cell[] = Array.from({ length: count }, (_unused, number) => ({
    number,
    ids: [],
    away: false,
  }));
  const roots = makeRuns(cells, 20_000, 1_700_000_000_000);
  checkRouting(cells, roots);
  const { pages, rowsRead } = checkPaging(cells);
  checkAbsence(cells);
  checkFeed(count);
  rows.push(`| ${count} | ${pages} | ${count} | ${(rowsRead / pages).toFixed(0)} |`);
}
// Runs from before there were cells.
assert.equal(cellOf('0192f0c1-7a3b-7def-8123-456789abcdef'), 0);
process.stdout.write('| cells | pages of 50 | requests a page | rows a page |\n| --- | --- | --- | --- |\n');
process.stdout.write(`${rows.join('\n')}\n`);

function checkRouting(cells: readonly Cell[], roots: ReadonlyMap<string, string>): void {
  for (const { number, ids } of cells) {
    for (const id of ids) {
      assert.equal(cellOf(id), number);
      assert.equal(cellOf(roots.get(id) ?? ''), number, 'a tree of runs is in one cell');
    }
  }
}

/** Reads all pages while runs are made: none of those that were there is missing, twice or out of order. */
function checkPaging(cells: readonly Cell[]): { pages: number; rowsRead: number } {
  const before = cells.flatMap(({ ids }) => ids).toSorted(descending);
  const read: string[] = [];
  let [cursor, pages, rowsRead]: [string | null, number, number] = [null, 0, 0];
  do {
    const page: Page = mergedPage(cells, cursor);
    read.push(...page.ids);
    [cursor, pages, rowsRead] = [page.cursor, pages + 1, rowsRead + page.rows];
    makeRuns(cells, 2, 1_800_000_000_000 + pages);
  } while (cursor !== null);
  assert.deepEqual(read, before);
  return { pages, rowsRead };
}

/** While a cell is away the others are listed, the page names it, and later reads find its runs again. */
function checkAbsence(cells: readonly Cell[]): void {
  const away = cells.at(-1)!;
  const whole = mergedPage(cells, null).ids;
  away.away = true;
  const page = mergedPage(cells, null);
  assert.deepEqual(page.missing, [away.number]);
  assert(page.ids.every((id) => cellOf(id) !== away.number));
  away.away = false;
  assert.deepEqual(mergedPage(cells, null).ids, whole);
}

/** Events of a cell come in its order and once, whatever the pages, also from a position that was kept. */
function checkFeed(cells: number): void {
  const logs = Array.from({ length: cells }, (_unused, cell) =>
    Array.from({ length: Math.floor(random() * 300) }, (_event, at) => cell * 1_000 + at),
  );
  let position = logs.map(() => 0);
  const read: number[] = [];
  for (;;) {
    const [events, next] = readFeed(logs, position, 1 + Math.floor(random() * 40));
    if (events.length === 0) break;
    read.push(...events);
    position = JSON.parse(JSON.stringify(next)) as number[];
  }
  for (const [cell, log] of logs.entries())
    assert.deepEqual(
      read.filter((event) => Math.floor(event / 1_000) === cell),
      log,
    );
}

function descending(a: string, b: string): number {
  return a < b ? 1 : a > b ? -1 : 0;
}

function bits(count: bigint): bigint {
  let value = 0n;
  for (let i = 0n; i < count; i += 31n) value = (value << 31n) | BigInt(Math.floor(random() * 2 ** 31));
  return BigInt.asUintN(Number(count), value);
}
