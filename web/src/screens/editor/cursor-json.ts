/** Where in a JSON text, finished or not, the cursor stands. */
import type { Cursor } from './cursor.ts';
import { tokenAt, type Token } from './json-text.ts';

interface Frame {
  isList: boolean;
  key: string;
  index: number;
  /** Whether the next token is a name. */
  wantsName: boolean;
  entries: Map<string, string>;
}

export function cursorInJson(text: string, offset: number): Cursor | null {
  const frames: Frame[] = [];
  let token = tokenAt(text, 0);
  for (; token.kind !== '' && token.to <= offset && !isOpenAt(token, offset); token = tokenAt(text, token.to))
    take(frames, token);
  const frame = frames.at(-1);
  if (frame === undefined) return null;
  const isInside = token.kind !== '' && token.from < offset && !isMark(token);
  const isQuoted = isInside && (token.kind === '"' || token.kind === '?');
  const isName = !frame.isList && frame.wantsName;
  return {
    path: [...frames.slice(0, -1).map(partOf), ...(isName ? [] : [partOf(frame)])],
    around: frames.map(({ entries }) => entries),
    at: isName ? 'name' : 'value',
    typed: isInside ? text.slice(token.from + (isQuoted ? 1 : 0), offset) : '',
    from: isInside ? token.from : offset,
    to: isInside && token.kind !== '?' ? token.to : offset,
  };
}

/** A text without its end, or a word that may go on, is still being typed. */
function isOpenAt(token: Token, offset: number): boolean {
  return token.kind === '?' || (token.kind === 'a' && token.to === offset);
}

function isMark({ kind }: Token): boolean {
  return '{}[],:'.includes(kind);
}

function partOf({ isList, index, key }: Frame): string {
  return isList ? String(index) : key;
}

function take(frames: Frame[], { kind, text }: Token): void {
  const frame = frames.at(-1);
  if (kind === '{' || kind === '[') {
    if (frame?.isList === false) frame.entries.set(frame.key, '');
    frames.push({ isList: kind === '[', key: '', index: 0, wantsName: kind === '{', entries: new Map() });
    return;
  }
  if (frame === undefined) return;
  if (kind === '}' || kind === ']') frames.pop();
  else if (kind === ',') {
    frame.index += 1;
    frame.wantsName = !frame.isList;
  } else if (kind === ':') frame.wantsName = false;
  else if (frame.isList) frame.entries.set(String(frame.index), plainText(text));
  else if (frame.wantsName) frame.key = plainText(text);
  else frame.entries.set(frame.key, plainText(text));
}

function plainText(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1) : text;
}
