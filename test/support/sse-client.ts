/** Reads Server-Sent Events as they arrive. */
interface SseEvent {
  /** Empty if the event has none. */
  id: string;
  // Tests read any property of an event.
  data: any;
}

export interface SseReader {
  /** The events so far. */
  events: SseEvent[];
  /** The number of comments so far, which show that the stream is alive. */
  comments: number;
  /** Of the last event or comment that had one: `Last-Event-ID` of the next connection. */
  lastId: string;
  /** Resolves when the stream has ended, on either side. */
  ended: Promise<void>;
  /** Disconnects like a client whose network fails. */
  drop(): void;
}

/** @throws if the response is no stream. */
export async function openStream(url: string, init: RequestInit): Promise<SseReader> {
  const abort = new AbortController();
  const response = await fetch(url, { ...init, signal: abort.signal });
  if (!response.headers.get('content-type')?.includes('text/event-stream') || !response.body)
    throw new Error(`no stream: ${response.status} ${await response.text()}`);
  const ended = Promise.resolve();
  const drop = (): void => abort.abort();
  const reader: SseReader = { events: [], comments: 0, lastId: '', ended, drop };
  reader.ended = read(response.body, reader).catch(() => undefined);
  return reader;
}

async function read(body: ReadableStream<Uint8Array>, reader: SseReader): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      if (block.startsWith(':')) reader.comments += 1;
      const id = /^id: (.*)$/m.exec(block)?.[1] ?? '';
      if (id !== '') reader.lastId = id;
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) reader.events.push({ id, data: JSON.parse(data) });
    }
  }
}
