/** Parses Server-Sent Events (WHATWG HTML, section 9.2), however the chunks are cut. */

export interface SseEvent {
  /** The id of the last event so far; empty if none had one. */
  id: string;
  /** `message` if the event names no type. */
  type: string;
  data: string;
}

export class SseParser {
  /** Where a reconnecting client continues. Blocks without data, such as heartbeats, set it too. */
  lastEventId: string;
  /** Pause before reconnecting, if the server has set one. */
  retryMs: number | null = null;
  #rest = '';
  #type = '';
  #data: string[] = [];
  #id: string;
  #started = false;

  constructor(lastEventId = '') {
    this.lastEventId = lastEventId;
    this.#id = lastEventId;
  }

  /** @returns the events that the chunk completes */
  push(chunk: string): SseEvent[] {
    let text = this.#rest + chunk;
    if (!this.#started && text !== '') {
      this.#started = true;
      if (text.startsWith('\uFEFF')) text = text.slice(1);
    }
    // A carriage return at the end may be the first half of a line end.
    const held = text.endsWith('\r') ? 1 : 0;
    const lines = text.slice(0, text.length - held).split(/\r\n|\r|\n/);
    this.#rest = (lines.pop() ?? '') + text.slice(text.length - held);
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): SseEvent[] {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return [];
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (field === 'event') this.#type = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
    return [];
  }

  #dispatch(): SseEvent[] {
    this.lastEventId = this.#id;
    const [type, data] = [this.#type, this.#data];
    this.#type = '';
    this.#data = [];
    if (data.length === 0) return [];
    return [{ id: this.#id, type: type === '' ? 'message' : type, data: data.join('\n') }];
  }
}
