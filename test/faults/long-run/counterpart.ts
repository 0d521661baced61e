/**
 * What the runs call, and what webhooks are sent to. It keeps every call, so memory grows with the load: some
 * hundred bytes a call.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sendJson, startServer, type SeenRequest } from '../../support/http-server.ts';

export interface EffectCall {
  /** Idempotency key. */
  key: string;
  /** `<operation>/<step>`, from the body: the same whoever calls again, with whatever key. */
  effect: string;
  /** No two answers have the same. */
  nonce: number;
  /** Of the clock of this process. */
  at: number;
}

export interface Receipt {
  /** `webhook-id`: `<run>:<seq>`. */
  id: string;
  at: number;
}

export interface Counterpart {
  url: string;
  calls: EffectCall[];
  receipts: Receipt[];
  close(): Promise<void>;
}

/** What an effect asks for in its body. */
interface Asked {
  effect: string;
  /** How long the answer takes. */
  ms?: number;
  /** Of a text in the answer. */
  bytes?: number;
  /** Only the second key of this effect gets an answer; the first gets 503. */
  flaky?: boolean;
}

export async function startCounterpart(): Promise<Counterpart> {
  const calls: EffectCall[] = [];
  const receipts: Receipt[] = [];
  const firstKeys = new Map<string, string>();
  const server = await startServer(async (request, response) => {
    // The server keeps every request, with its body.
    server.seen.length = 0;
    if (request.path === '/hook') {
      receipts.push({ id: String(request.headers['webhook-id']), at: Date.now() });
      response.writeHead(204).end();
      return;
    }
    const asked = JSON.parse(request.body) as Asked;
    const { effect, ms = 0, bytes = 0, flaky = false } = asked;
    const key = keyOf(request);
    const nonce = calls.push({ key, effect, nonce: calls.length, at: Date.now() }) - 1;
    if (flaky && !firstKeys.has(effect)) firstKeys.set(effect, key);
    if (ms > 0) await sleep(ms);
    if (flaky && firstKeys.get(effect) === key) sendJson(response, { nonce }, 503);
    else sendJson(response, { nonce, ...(bytes > 0 ? { text: 'x'.repeat(bytes) } : {}) });
  });
  return { url: server.url, calls, receipts, close: () => server.close() };
}

function keyOf(request: SeenRequest): string {
  return decodeURI(String(request.headers['idempotency-key'] ?? ''));
}
