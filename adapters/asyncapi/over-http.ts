/** Messages over HTTP: a request for each message to send; server-sent events for a subscription. */
import { fault } from '../../contracts/fault.ts';
import { contentOf, headersOf, methodOf, statusFault } from '../http/message.ts';
import { textOf } from '../openapi/document.ts';
import type { MessageQueue } from './message-queue.ts';
import type { Connecting, OutboundMessage, Protocol } from './protocol.ts';

const MAX_EVENT_LENGTH = 8 * 1024 * 1024;

export const overHttp: Protocol = {
  async send({ egress, guard, target, credentials, id }, { payload, headers }: OutboundMessage) {
    const method = methodOf(textOf(target.bindings, 'method') ?? 'POST');
    const answer = await egress.request({
      url: urlOf(target),
      method,
      headers: {
        accept: 'application/json, */*;q=0.8',
        'user-agent': 'Cadenza',
        'idempotency-key': id,
        'content-type': 'application/json',
        ...headersOf(headers),
        ...credentials,
      },
      ...(method === 'GET' || method === 'HEAD' ? {} : { body: payload }),
      timeoutMs: guard.leftMs(),
      signal: guard.signal,
    });
    if (answer.status < 200 || answer.status > 299) throw statusFault(answer, method, guard.sensitive);
    return contentOf(answer, (base64) => base64);
  },

  async subscribe({ egress, guard, target, credentials }, queue) {
    const leaving = new AbortController();
    const url = urlOf(target);
    const answer = await egress.stream({
      url,
      method: 'GET',
      headers: { accept: 'text/event-stream', 'user-agent': 'Cadenza', ...credentials },
      timeoutMs: guard.leftMs(),
      signal: AbortSignal.any([guard.signal, leaving.signal]),
    });
    const isStream = (answer.headers['content-type'] ?? '').startsWith('text/event-stream');
    if (answer.status !== 200 || !isStream) {
      leaving.abort(new Error('not a stream'));
      if (answer.status === 200)
        throw fault('communication', `${target.host} did not answer with server-sent events`, {
          status: 502,
        });
      throw statusFault({ ...answer, bytes: new Uint8Array() }, 'GET', guard.sensitive);
    }
    void readEvents(answer.chunks, queue).then(
      () => queue.end(),
      (error: unknown) => queue.fail(error instanceof Error ? error : new Error('the stream failed')),
    );
    return async () => leaving.abort(new Error('the subscription is over'));
  },
};

function urlOf({ secure, host, path, address }: Connecting['target']): string {
  return `${secure ? 'https' : 'http'}://${host}${path}/${address.replace(/^\/+/, '')}`;
}

/** HTML Living Standard "Server-sent events": the data of each event is a message. */
async function readEvents(chunks: AsyncIterable<Uint8Array>, queue: MessageQueue): Promise<void> {
  let data: string[] = [];
  let headers: Record<string, string> = {};
  let length = 0;
  for await (const line of linesOf(chunks)) {
    length += line.length + 1;
    if (length > MAX_EVENT_LENGTH) throw tooLong();
    if (line === '') {
      if (data.length > 0) queue.push({ payload: Buffer.from(data.join('\n')), headers });
      [data, headers, length] = [[], {}, 0];
      continue;
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?([\s\S]*))?$/.exec(line) ?? [];
    if (name === 'data') data.push(value);
    if (name === 'id' || name === 'event') headers[name] = value;
  }
}

/** Each part of a line is looked at once, however small the parts are in which it arrives. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let length = 0;
  let afterReturn = false;
  for await (const chunk of chunks) {
    const decoded = decoder.decode(chunk, { stream: true });
    // The end of a line may be split across chunks.
    const text = afterReturn && decoded.startsWith('\n') ? decoded.slice(1) : decoded;
    if (decoded !== '') afterReturn = decoded.endsWith('\r');
    parts.push(text);
    length += text.length;
    if (/[\r\n]/.test(text)) {
      const lines = parts.join('').split(/\r\n|\r|\n/);
      const rest = lines.pop() ?? '';
      [parts, length] = [[rest], rest.length];
      yield* lines;
    }
    if (length > MAX_EVENT_LENGTH) throw tooLong();
  }
}

function tooLong(): Error {
  return fault('communication', `An event has more than ${MAX_EVENT_LENGTH} characters`, { status: 502 });
}
