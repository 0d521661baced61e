/**
 * A small HTTP agent: `POST /draft {topic}` → `{text}`, `POST /publish {text}` → `{published, url}`.
 * Plain Node, no dependencies: `node examples/agents/writer.mjs [port]`.
 */
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const ROUTES = {
  '/draft': ({ topic = 'nothing' }) => ({ text: `${topic}: three things that everybody should know.` }),
  '/publish': ({ text = '' }) => ({ published: true, url: `https://example.com/posts/${encodeURIComponent(text.split(':')[0])}` }),
};

export function createWriter() {
  return createServer(async (request, response) => {
    const route = request.method === 'POST' ? ROUTES[request.url] : undefined;
    const answer = (status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (!route) return answer(404, { error: 'POST /draft or /publish' });
    let text = '';
    for await (const chunk of request) text += chunk;
    try {
      return answer(200, route(JSON.parse(text || '{}')));
    } catch (error) {
      return answer(400, { error: String(error) });
    }
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const port = Number(process.argv[2] ?? 4000);
  createWriter().listen(port, '127.0.0.1', () => process.stdout.write(`writer agent on http://127.0.0.1:${port}\n`));
}
