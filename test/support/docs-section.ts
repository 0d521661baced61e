/** Sections of a document that tests write: the rest of the file stays as it is. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Puts `body` between the markers of section `name` of a Markdown file, adding file or section where
 * they are missing. The file is touched only when its text changes.
 */
export function writeDocsSection(file: string, name: string, title: string, body: string): void {
  const begin = `<!-- ${name}: written by a test -->`;
  const end = `<!-- /${name} -->`;
  const old = existsSync(file) ? readFileSync(file, 'utf8') : `# ${title}\n`;
  const section = `${begin}\n${body.trim()}\n${end}`;
  const from = old.indexOf(begin);
  const to = old.indexOf(end);
  const text = from >= 0 && to > from ? old.slice(0, from) + section + old.slice(to + end.length) : `${old.trimEnd()}\n\n${section}\n`;
  if (text === old) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
