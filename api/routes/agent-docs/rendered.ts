/**
 * Renders users' Markdown in a worker thread: some texts take a second and more, which must not block the
 * event loop. One text is rendered at a time; the queue, the time of each text and what is kept are bounded.
 */
import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';

import { isLongDocumentation } from '../../../domain/registry/agent-size.ts';
import { WaitingPlaces } from '../../../domain/waiting-places.ts';

/** No text of the allowed length is known to take more than a second; a busy machine takes longer. */
const MAX_MS = 30_000;
/** Of at most 1 Mi characters each. */
const MAX_KEPT = 20;

/** Null is for a text that is too much to render. By digest, the latest used last. */
const kept = new Map<string, Promise<string | null>>();
const places = new WaitingPlaces('Too many pages are being rendered right now.');
let last: Promise<unknown> = Promise.resolve();
let thread: Worker | null = null;

/**
 * The HTML of a text; null if it is too long, or too much to render. @throws 503 if too many texts are
 * queued, in total or of this user
 */
export async function renderedMarkdown(userId: string, text: string): Promise<string | null> {
  if (isLongDocumentation(text)) return null;
  const digest = createHash('sha256').update(text).digest('base64');
  const known = kept.get(digest);
  const html = known ?? queued(userId, text);
  kept.delete(digest);
  kept.set(digest, html);
  for (const oldest of kept.keys()) if (kept.size > MAX_KEPT) kept.delete(oldest);
  return html;
}

/** Never rejects: a failure of the thread is that of the text. @throws 503 */
function queued(userId: string, text: string): Promise<string | null> {
  const leave = places.take(userId);
  const html = last.then(async () => {
    try {
      return await inThread(text);
    } catch {
      // No thread could be started.
      return null;
    } finally {
      leave();
    }
  });
  last = html;
  return html;
}

/** Ends a thread that takes too long or too much memory. The next text gets a new one. */
async function inThread(text: string): Promise<string | null> {
  thread ??= startThread();
  const used = thread;
  used.ref();
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const giveUp = (): void => {
    thread = null;
    void used.terminate();
    resolve(null);
  };
  const timer = setTimeout(giveUp, MAX_MS);
  used.once('message', resolve);
  used.once('error', giveUp);
  used.postMessage(text);
  const html = await promise;
  clearTimeout(timer);
  used.off('message', resolve);
  used.off('error', giveUp);
  used.unref();
  return html;
}

/** Lives as long as the process; keeps the process alive only while it renders. */
function startThread(): Worker {
  const started = new Worker(new URL('render-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  return started.on('error', () => {
    if (thread === started) thread = null;
  });
}
