/**
 * A small HTTP service that acts as the agents of the examples. Plain Node, no dependencies:
 * `node examples/agents/writer.mjs [http://127.0.0.1:4000]`.
 */
import { realpathSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** Number of requests to /flaky by key. */
const requestCounts = new Map();

const ROUTES = {
  '/draft': ({ topic = 'nothing', remark }) => ({
    text: `${topic}: three things that everybody should know${remark ? ` (${remark})` : ''}.`,
  }),
  '/publish': ({ text = '', headline = text.split(':')[0] }) => ({
    published: true,
    url: `https://example.com/posts/${encodeURIComponent(headline)}`,
  }),
  '/research': ({ topic = 'nothing', angle = 'all' }) => ({
    angle,
    finding: `What ${angle} says about ${topic}`,
  }),
  '/translate': ({ text = '', language = 'en' }) => ({ text: `[${language}] ${text}` }),
  /** Answers after `delay_ms`. */
  '/slow': async ({ delay_ms = 1_000, name = 'slow' }) => {
    await sleep(Math.min(delay_ms, 60_000));
    return { name };
  },
  /** 503 for the first `failures` requests with this key. */
  '/flaky': ({ key = '', failures = 2 }) => {
    const before = requestCounts.get(key) ?? 0;
    requestCounts.set(key, before + 1);
    if (before < failures) throw Object.assign(new Error('busy, come back later'), { status: 503 });
    return { answered_after: before + 1 };
  },
  '/book': ({ what = 'nothing', full }) => {
    if (what === full) throw Object.assign(new Error(`no ${what} is left`), { status: 409 });
    return { booking: `${what}-1` };
  },
  '/cancel': ({ booking = 'nothing' }) => ({ cancelled: booking }),
  '/order': ({ order = 0 }) => ({ order, item: 'a kettle', price: 80 }),
  '/pay-back': ({ order = 0, amount = 0 }) => ({ order, paid_back: amount }),
  /** Requires the token. */
  '/orders': ({ item = 'nothing' }, { authorization = '' }) => {
    if (!/^Bearer .{8,}$/.test(authorization))
      throw Object.assign(new Error('who are you?'), { status: 401 });
    return { ordered: item };
  },
};

export function createWriter() {
  return createServer((request, response) => void respond(request, response));
}

async function respond(request, response) {
  const route = request.method === 'POST' ? ROUTES[request.url] : undefined;
  const answer = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (!route) return answer(404, { error: `POST to one of ${Object.keys(ROUTES).join(', ')}` });
  let text = '';
  for await (const chunk of request) text += chunk;
  try {
    return answer(200, await route(JSON.parse(text || '{}'), request.headers));
  } catch (error) {
    return answer(error.status ?? 400, { error: String(error) });
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  const address = new URL(process.argv[2] ?? 'http://127.0.0.1:4000');
  createWriter()
    .on('error', ({ code }) => {
      process.stderr.write(`The writer cannot listen on ${address.origin}: ${code}\n`);
      process.exit(1);
    })
    .listen(Number(address.port || 80), address.hostname, () =>
      process.stdout.write(`writer agent on ${address.origin}\n`),
    );
}
