/** A local OpenAI-compatible server whose streamed answers grow when the test says so. */
import type { ServerResponse } from 'node:http';
import { startServer } from './http-server.ts';
import { until } from './platform.ts';

export interface StreamingModel {
  url: string;
  /** Of the requests so far. */
  bodies: Record<string, unknown>[];
  /** Resolves when so many answers have begun. */
  begun(count: number): Promise<unknown>;
  /** Continues all answers that have begun. */
  say(text: string): void;
  /** Ends them. */
  finish(): void;
  /** Breaks their connections. */
  drop(): void;
  close(): Promise<void>;
}

function chunkOf(delta: object, more: object = {}): string {
  const choices = [{ index: 0, delta, ...more }];
  return `data: ${JSON.stringify({ id: 'c1', created: 1, model: 'tiny-2026', choices })}\n\n`;
}

/** `whole`: what it answers to requests that do not ask for a stream; with `never`, to all. */
export async function startStreamingModel(
  options: { whole?: string; never?: boolean } = {},
): Promise<StreamingModel> {
  const { whole = 'all at once', never = false } = options;
  const bodies: StreamingModel['bodies'] = [];
  const open = new Set<ServerResponse>();
  let begun = 0;
  const usage = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };
  const server = await startServer((request, response) => {
    const body = JSON.parse(request.body) as Record<string, unknown>;
    bodies.push(body);
    if (never || body['stream'] !== true) {
      const message = { role: 'assistant', content: whole };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: 'c1', created: 1, model: 'tiny-2026', choices, usage }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunkOf({ role: 'assistant', content: '' }));
    open.add(response);
    response.on('close', () => open.delete(response));
    begun += 1;
  });
  return {
    url: server.url,
    bodies,
    begun: (count) =>
      until(
        async () => begun,
        (now) => now >= count,
      ),
    say: (text) => open.forEach((response) => response.write(chunkOf({ content: text }))),
    finish() {
      for (const response of open) {
        response.write(chunkOf({}, { finish_reason: 'stop' }));
        response.write(`data: ${JSON.stringify({ id: 'c1', model: 'tiny-2026', choices: [], usage })}\n\n`);
        response.end('data: [DONE]\n\n');
      }
    },
    drop: () => open.forEach((response) => response.destroy()),
    close: () => server.close(),
  };
}
