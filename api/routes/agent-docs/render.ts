/**
 * Renders an agent's Markdown as a page. User content is not trusted: no HTML, scripts, frames or remote
 * styles.
 */
import MarkdownIt from 'markdown-it';

import { escapeHtml } from '../../../contracts/escape-html.ts';

const markdown = new MarkdownIt({ html: false, linkify: true, typographer: false });

const defaultLink =
  markdown.renderer.rules['link_open'] ??
  ((tokens, index, options, _env, self) => self.renderToken(tokens, index, options));
markdown.renderer.rules['link_open'] = (tokens, index, options, env, self) => {
  tokens[index]?.attrSet('rel', 'nofollow noopener noreferrer');
  return defaultLink(tokens, index, options, env, self);
};

/**
 * Content-Security-Policy of the page. It also blocks anything that the renderer might let through. Images of
 * other servers would tell them who reads the page.
 */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'";

const STYLE =
  'body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}' +
  'pre{overflow:auto;padding:1rem;background:#8881}table{border-collapse:collapse}' +
  'td,th{border:1px solid #8886;padding:.3rem .6rem}img{max-width:100%}' +
  '@media(prefers-color-scheme:dark){body{background:#111;color:#eee}a{color:#8bf}}';

/** Can take seconds: see rendered.ts. */
export function renderMarkdown(text: string): string {
  return markdown.render(text);
}

/** `html`: the rendered documentation; null shows it as it is written. */
export function agentPage(
  { name, version, documentation }: { name: string; version: string; documentation: string },
  html: string | null,
): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(name)}</title><style>${STYLE}</style></head>
<body><header><strong>${escapeHtml(name)}</strong> ${escapeHtml(version)}</header>
<main>${html ?? `<pre>${escapeHtml(documentation)}</pre>`}</main></body>
</html>
`;
}
