/** A LangGraph server whose runs do what a test says. */
import { randomUUID } from 'node:crypto';
import { sendJson, startServer } from '../../../support/http-server.ts';
import { ANSWER, HUGE_BYTES, type Behaviour, type Counterpart } from './counterpart.ts';

export async function startGraphCounterpart(): Promise<Counterpart> {
  const calls: Counterpart['calls'] = [];
  const threads = new Map<string, string>();
  const held = new Set<string>();
  const over = new Set<string>();
  let behaviour: Behaviour = 'answer';
  let left = 0;
  const textFor = (credential: string): string =>
    behaviour === 'echo' ? `${ANSWER} ${credential}` : behaviour === 'huge' ? 'x'.repeat(HUGE_BYTES) : ANSWER;
  const server = await startServer((request, response) => {
    const path = request.path.split('?')[0] ?? '';
    const credential = request.headers.authorization ?? '';
    const [, threadId = ''] = /^\/threads\/([^/]+)/.exec(path) ?? [];
    // A call has begun when its run has: one that is cancelled before has nothing to leave.
    const begins =
      typeof behaviour === 'object'
        ? path === '/threads'
        : path.endsWith('/runs') && request.method === 'POST';
    if (begins) calls.push({ key: String(request.headers['idempotency-key']), credential });
    if (typeof behaviour === 'object')
      return sendJson(response, { detail: `${behaviour.says} ${credential}` }, behaviour.refuse);
    const runOf = (): object => ({
      run_id: threads.get(threadId),
      metadata: {},
      status: over.has(threadId) ? 'interrupted' : held.has(threadId) ? 'running' : 'success',
    });
    if (path === '/threads') return sendJson(response, {});
    if (request.method === 'DELETE' || path.endsWith('/cancel')) {
      // A thread is also deleted once its answer is kept.
      if (held.has(threadId) && !over.has(threadId)) left += 1;
      over.add(threadId);
      return sendJson(response, {});
    }
    if (path.endsWith('/state'))
      return sendJson(response, { values: { text: textFor(credential) }, next: [], tasks: [] });
    if (path.endsWith('/stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const text = textFor(credential);
      const pieces = behaviour === 'huge' ? [] : [text.slice(0, 4), text.slice(4)];
      for (const content of pieces)
        response.write(
          `event: messages\ndata: ${JSON.stringify([{ type: 'AIMessageChunk', id: 'm', content }, {}])}\n\n`,
        );
      return void response.end();
    }
    if (path.endsWith('/runs') && request.method === 'GET') return sendJson(response, []);
    if (path.endsWith('/runs')) {
      threads.set(threadId, randomUUID());
      // Equal keys have the same thread.
      over.delete(threadId);
      if (behaviour === 'hold') held.add(threadId);
    }
    return sendJson(response, runOf());
  });
  return {
    agent: {
      type: 'api',
      execution_type: 'framework',
      configuration: {
        framework: 'langgraph',
        base_url: server.url,
        assistant_id: 'graph',
        headers: { authorization: 'Bearer <CONTRACT_KEY>' },
      },
    },
    input: {},
    behave: (next) => (behaviour = next),
    release() {
      behaviour = 'answer';
      held.clear();
    },
    calls,
    left: () => left,
    close: () => server.close(),
  };
}
