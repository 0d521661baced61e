/**
 * References resolve: links of the documents with their anchors, and in documents and comments
 * `docs/<page>.md#<heading>`, `ADR <n>` and paths of files.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from '@jest/globals';

import { headingAnchor } from '../../api/reference/documents.ts';
import { sourceFiles } from '../support/source-files.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Files of the repository and new ones, without what is recorded or generated. */
const files = sourceFiles(root, /\.(ts|mjs|cjs|sql|ya?ml|sh|md)$|^\.env\.example$/).filter(
  (file) => !file.startsWith('test/replay/histories/'),
);
const documents = files.filter((file) => file.endsWith('.md'));
const folders = new Set(files.map((file) => file.split('/', 1)[0] ?? ''));
const decisions = new Set(files.map((file) => /^docs\/adr\/(\d{4})-/.exec(file)?.[1]).filter(Boolean));

function anchorsOf(file: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutCode(read(file)).matchAll(/^#{1,6} (.+)$/gm))
    headingAnchor(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'), anchors);
  return anchors;
}

function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^ *```[\s\S]*?^ *```/gm, '');
}

/** What is wrong with a path, from the root, that may end in an anchor; null if nothing is. */
function problemOf(target: string): string | null {
  const [path = '', anchor] = target.split('#');
  if (!existsSync(join(root, path))) return `there is no ${path}`;
  if (anchor === undefined || !path.endsWith('.md')) return null;
  return anchorsOf(path).has(anchor) ? null : `${path} has no heading #${anchor}`;
}

/** Links of a document to others of the repository. */
function linksIn(file: string, markdown: string): string[] {
  const links = [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return links
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => (target.startsWith('#') ? file + target : normalize(join(dirname(file), target))));
}

/** The text of a source file's comments; all of a document. */
function proseOf(file: string): string {
  const text = read(file);
  if (file.endsWith('.md')) return withoutCode(text);
  const comment = /\.(ya?ml|sh|example)$/.test(file)
    ? /^\s*#.*$/gm
    : file.endsWith('.sql')
      ? /--.*$/gm
      : /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;
  return [...text.matchAll(comment)].map(([one]) => one).join('\n');
}

/** What a document or a comment names: pages with headings, decisions, paths of files. */
function referencesIn(file: string, prose: string): (string | null)[] {
  const pages = [...prose.matchAll(/\bdocs\/[\w/-]+\.(?:md|json)(?:#[\w-]+)?/g)].map(([target]) => target);
  const numbered = [...prose.matchAll(/\bADRs? (\d+)/g)].map(([, number = '']) =>
    decisions.has(number.padStart(4, '0')) ? null : `there is no ADR ${number}`,
  );
  return [...pages.map(problemOf), ...numbered, ...pathsIn(file, prose).map(problemOf)];
}

/** Paths that begin in a folder of the repository: of source files anywhere, others in backticks. */
function pathsIn(file: string, prose: string): string[] {
  // Decisions name what was there when they were made.
  if (file.startsWith('docs/adr/') || file === 'CHANGELOG.md') return [];
  const quoted = [...prose.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\/?)`/g)];
  const sources = [...prose.matchAll(/(?<![\w/.<>*-])((?:[\w-]+\/)+[\w.-]+\.(?:ts|mjs|sql))\b/g)];
  return [...quoted, ...sources]
    .map(([, path = '']) => path)
    .filter((path) => folders.has(path.split('/', 1)[0] ?? '') && !isBuilt(path));
}

/** The built console is in no checkout (.gitignore). */
function isBuilt(path: string): boolean {
  return /^web\/\.?dist\b/.test(path);
}

function broken(names: readonly string[], check: (file: string) => (string | null)[]): string[] {
  return names.flatMap((file) =>
    check(file)
      .filter((problem) => problem !== null)
      .map((problem) => `${file}: ${problem}`),
  );
}

test('links of documents lead to files and headings', () => {
  expect(broken(documents, (file) => linksIn(file, read(file)).map(problemOf))).toEqual([]);
});

test('pages, decisions and paths that documents and comments name are there', () => {
  expect(broken(files, (file) => referencesIn(file, proseOf(file)))).toEqual([]);
});

test('no comment cites a paragraph of a text that is not in the repository', () => {
  const cited = /interface-(?:decisions|spec)|architecture(?:\.md)? §|a2a\.md §/;
  const self = 'test/unit/references.test.ts';
  expect(files.filter((file) => file !== self && cited.test(proseOf(file)))).toEqual([]);
});

describe('the check of references', () => {
  const first = (list: (string | null)[]): string | null | undefined => list[0];

  test.each([
    ['a page', 'docs/nowhere.md', 'there is no docs/nowhere.md'],
    ['a heading', 'docs/interface.md#nowhere', 'docs/interface.md has no heading #nowhere'],
    ['a decision', 'ADR 99', 'there is no ADR 99'],
    ['a source file', 'see domain/nowhere.ts', 'there is no domain/nowhere.ts'],
    ['a folder', '`domain/nowhere`', 'there is no domain/nowhere'],
  ])('finds the broken %s', (_, prose, problem) => {
    expect(first(referencesIn('README.md', prose))).toBe(problem);
  });

  test('finds a broken link', () => {
    const links = linksIn('docs/a2a.md', 'see [there](agents.md#nowhere) and [here](#tour)');
    expect(links.map(problemOf)).toEqual([
      'docs/agents.md has no heading #nowhere',
      'docs/a2a.md has no heading #tour',
    ]);
  });

  test.each(['docs/interface.md#call-agent', 'ADR 4', '`domain/errors.ts`'])('accepts %s', (prose) => {
    expect(first(referencesIn('README.md', prose))).toBeNull();
  });
});
