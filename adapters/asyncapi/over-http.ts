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
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split(/\r?\n\r?\n|\r\r/);
    rest = blocks.pop() ?? '';
    if (rest.length > MAX_EVENT_LENGTH)
      throw fault('communication', `An event has more than ${MAX_EVENT_LENGTH} characters`, { status: 502 });
    for (const block of blocks) {
      const fields = block.split(/\r?\n|\r/).map((line): [string, string] => {
        const [, name = '', value = ''] = /^([^:]*)(?:: ?([\s\S]*))?$/.exec(line) ?? [];
        return [name, value];
      });
      const data = fields.flatMap(([name, value]) => (name === 'data' ? [value] : []));
      const headers = Object.fromEntries(fields.filter(([name]) => name === 'id' || name === 'event'));
      if (data.length > 0) queue.push({ payload: Buffer.from(data.join('\n')), headers });
    }
  }
}
