/**
 * The pages of `docs/`, rendered: what the API and the console say names them (`docs/operations.md#…`), and
 * their readers have no copy of the repository.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import MarkdownIt from 'markdown-it';

import { escapeHtml } from '../../contracts/escape-html.ts';
import { staticFileOf, type StaticFile } from '../static/files.ts';

const FOLDER = join(import.meta.dirname, '../../docs');
/** Below `/docs`. No dots but the last, so it leads to no other folder. */
const DOCUMENT = /^\/(?:adr\/)?[a-z0-9-]+\.md$/;

const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });

markdown.core.ruler.push('anchors', ({ tokens }) => {
  const taken = new Set<string>();
  tokens.forEach((token, index) => {
    if (token.type !== 'heading_open') return;
    const words = tokens[index + 1]?.children?.map(({ content }) => content) ?? [];
    token.attrSet('id', headingAnchor(words.join(''), taken));
  });
});

const plainLink = markdown.renderer.rules['link_open'];
markdown.renderer.rules['link_open'] = (tokens, index, options, env, self) => {
  const token = tokens[index];
  // What is not served, such as the examples, is named without a link.
  if (token && !isServed(String(token.attrGet('href')), String(env?.['name']))) token.attrs = [];
  return plainLink?.(tokens, index, options, env, self) ?? self.renderToken(tokens, index, options);
};

/** The anchor of a heading as GitHub makes it. @param taken those above it; gets this one */
export function headingAnchor(text: string, taken: Set<string>): string {
  const words = text.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '');
  const anchor = words.replaceAll(/\s/g, '-');
  let unique = anchor;
  for (let number = 1; taken.has(unique); number += 1) unique = `${anchor}-${number}`;
  taken.add(unique);
  return unique;
}

export function isDocument(name: string): boolean {
  return DOCUMENT.test(name);
}

/** @param name below `/docs`; an `isDocument` @returns null if there is none */
export async function readDocument(name: string): Promise<StaticFile | null> {
  const text = await readFile(join(FOLDER, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  return text === null ? null : staticFileOf(Buffer.from(pageOf(name, text)), '.html');
}

function pageOf(name: string, text: string): string {
  const [, title = name] = /^# (.+)$/m.exec(text) ?? [];
  // Marks of generated parts.
  const written = text.replaceAll(/^<!--.*-->$/gm, '');
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)} · Cadenza</title>
<link rel="icon" href="/docs/icon.png"><link rel="stylesheet" href="/docs/document.css"></head>
<body><main>${markdown.render(written, { name })}</main></body>
</html>
`;
}

function isServed(href: string, from: string): boolean {
  const server = 'http://server.invalid';
  const { origin, pathname } = new URL(href, `${server}/docs${from}`);
  return origin !== server || (pathname.startsWith('/docs/') && isDocument(pathname.slice('/docs'.length)));
}
