/**
 * Renders an agent's Markdown as a page. User content is not trusted: no HTML, scripts, frames or remote
 * styles.
 */
import MarkdownIt from 'markdown-it';

const markdown = new MarkdownIt({ html: false, linkify: true, typographer: false });

const defaultLink =
  markdown.renderer.rules['link_open'] ??
  ((tokens, index, options, _env, self) => self.renderToken(tokens, index, options));
markdown.renderer.rules['link_open'] = (tokens, index, options, env, self) => {
  tokens[index]?.attrSet('rel', 'nofollow noopener noreferrer');
  return defaultLink(tokens, index, options, env, self);
};

/** Content-Security-Policy of the page. It also blocks anything that the renderer might let through. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'";

const STYLE =
  'body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}' +
  'pre{overflow:auto;padding:1rem;background:#8881}table{border-collapse:collapse}' +
  'td,th{border:1px solid #8886;padding:.3rem .6rem}img{max-width:100%}' +
  '@media(prefers-color-scheme:dark){body{background:#111;color:#eee}a{color:#8bf}}';

export function renderAgentPage(agent: { name: string; version: string; documentation: string }): string {
  const { escapeHtml } = markdown.utils;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(agent.name)}</title><style>${STYLE}</style></head>
<body><header><strong>${escapeHtml(agent.name)}</strong> ${escapeHtml(agent.version)}</header>
<main>${markdown.render(agent.documentation)}</main></body>
</html>
`;
}
