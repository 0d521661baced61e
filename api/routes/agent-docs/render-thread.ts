/** The worker thread of rendered.ts. */
import { parentPort } from 'node:worker_threads';

import { renderMarkdown } from './render.ts';

/** References of Markdown can make a page thousands of times as long as its text. */
const MAX_RENDERED = 1024 * 1024;

parentPort?.on('message', (text: string) => {
  const html = renderMarkdown(text);
  parentPort?.postMessage(html.length > MAX_RENDERED ? null : html);
});
