/**
 * Sections of documents that the results of tests and measurements fill. Only a run that is asked to writes
 * them; an ordinary `npm test` compares.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';

const root = join(import.meta.dirname, '../..');

interface DocsSection {
  /** Path from the root of the repository. */
  file: string;
  name: string;
  /** The npm script that writes the section. The document names it. */
  script: string;
  body: string;
}

/**
 * What is wrong with a section of docs/conformance.md, compared with the result of this run; null if nothing
 * is. `npm run conformance:scores` sets the variable, and then the section is written.
 */
export async function scoreProblem(name: string, body: string): Promise<string | null> {
  const section = { file: 'docs/conformance.md', name, script: 'conformance:scores', body };
  if (process.env['WRITE_DOCS'] === 'true') await writeDocsSection(section);
  const { current, next } = await renderDocsSection(section);
  return current === next ? null : `Run \`npm run ${section.script}\`, which writes:\n${next}`;
}

/** The document as it is, and as it is with the section's new body, formatted by Prettier. */
async function renderDocsSection(section: DocsSection): Promise<{ current: string; next: string }> {
  const path = join(root, section.file);
  const current = readFileSync(path, 'utf8');
  const begin = `<!-- ${section.name}: written by \`npm run ${section.script}\` -->`;
  const end = `<!-- /${section.name} -->`;
  const from = current.indexOf(begin);
  const to = current.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${section.file} lacks the lines ${begin} and ${end}`);
  const text = `${current.slice(0, from)}${begin}\n\n${section.body.trim()}\n\n${current.slice(to)}`;
  const options = await resolveConfig(path);
  return { current, next: await format(text, { ...options, parser: 'markdown' }) };
}

export async function writeDocsSection(section: DocsSection): Promise<void> {
  const { current, next } = await renderDocsSection(section);
  if (next !== current) writeFileSync(join(root, section.file), next);
}
