/** Where in a YAML text in block style, finished or not, the cursor stands. */
import type { Cursor } from './cursor.ts';

interface Frame {
  column: number;
  isList: boolean;
  key: string;
  index: number;
  entries: Map<string, string>;
}

const ENTRY = /^("[^"]*"|'[^']*'|[^\s:#'"{[][^:#]*?)\s*:(?:\s+(.*))?$/;

export function cursorInYaml(text: string, offset: number): Cursor | null {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1;
  const frames: Frame[] = [];
  // Lines of a block text are no entries.
  let textColumn: number | null = null;
  for (const line of text.slice(0, lineStart).split('\n')) {
    const column = columnOf(line);
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue;
    if (textColumn !== null && column > textColumn) continue;
    textColumn = null;
    const { at, rest } = enterLists(frames, line);
    const [, name, value = ''] = ENTRY.exec(rest.trimEnd()) ?? [];
    if (name === undefined) continue;
    enterEntry(frames, at, plainText(name), value);
    if (/^[|>]/.test(value)) textColumn = column;
  }
  const line = text.slice(lineStart, offset);
  if (textColumn !== null && columnOf(line) > textColumn) return null;
  const { at, rest, isItem } = enterLists(frames, line);
  const [, name, value = ''] = ENTRY.exec(rest) ?? [];
  if (name !== undefined) {
    enterEntry(frames, at, plainText(name), '');
    return cursor(frames, 'value', value, offset);
  }
  while ((frames.at(-1)?.column ?? -1) > at) frames.pop();
  const last = frames.at(-1);
  const isEntryOf = last !== undefined && !last.isList && last.column === at;
  return cursor(frames, isItem ? 'either' : 'name', rest.trimStart(), offset, isEntryOf ? last : undefined);
}

function cursor(frames: Frame[], at: Cursor['at'], typed: string, offset: number, object?: Frame): Cursor {
  const named = frames.filter((frame) => at === 'value' || frame !== object);
  const bare = typed.replace(/^["']/, '');
  return {
    path: named.map(({ isList, index, key }) => (isList ? String(index) : key)),
    around: frames.map(({ entries }) => entries),
    at,
    typed: bare,
    from: offset - typed.length,
    to: offset,
  };
}

function columnOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Enters the list entries that a line begins. @returns where their content begins */
function enterLists(frames: Frame[], line: string): { at: number; rest: string; isItem: boolean } {
  let at = columnOf(line);
  let rest = line.slice(at);
  let isItem = false;
  for (let dash = /^-(\s+|$)/.exec(rest); dash !== null; dash = /^-(\s+|$)/.exec(rest)) {
    isItem = true;
    while ((frames.at(-1)?.column ?? -1) > at) frames.pop();
    const last = frames.at(-1);
    if (last?.isList === true && last.column === at) last.index += 1;
    else frames.push({ column: at, isList: true, key: '', index: 0, entries: new Map() });
    at += dash[0].length;
    rest = rest.slice(dash[0].length);
  }
  return { at, rest, isItem };
}

function enterEntry(frames: Frame[], column: number, key: string, value: string): void {
  // A list may stand at the column of its name.
  while (isLeft(frames.at(-1), column)) frames.pop();
  let frame = frames.at(-1);
  if (frame === undefined || frame.isList || frame.column !== column) {
    frame = { column, isList: false, key, index: 0, entries: new Map() };
    frames.push(frame);
  }
  frame.key = key;
  frame.entries.set(key, plainText(value.trim()));
}

function isLeft(frame: Frame | undefined, column: number): boolean {
  if (frame === undefined) return false;
  return frame.column > column || (frame.isList && frame.column === column);
}

function plainText(text: string): string {
  return /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text;
}
