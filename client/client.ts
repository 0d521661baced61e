/** The typed client: one method for requests, one for pages of lists, one for event streams. */
import { followEvents, type ServerEvent, type StreamOptions } from './events.ts';
import {
  OPERATIONS,
  type CloudEvent,
  type EventStream,
  type LogEntry,
  type Operations,
} from './operations.ts';
import type { PartialOutput } from './partial-output.ts';
import { apiErrorOf, notJson } from './problem.ts';

export type OperationId = keyof Operations;

export interface ClientOptions {
  /** Where the API is, without a trailing slash. Default: the origin of the page. */
  baseUrl?: string;
  /** Access token of each request. Without it, a browser sends its session cookie. */
  token?: () => string | undefined | Promise<string | undefined>;
  fetch?: typeof fetch;
}

interface CallOptions {
  signal?: AbortSignal | undefined;
  /** The server answers a repeated request with the same key from its memory, for 24 h. */
  idempotencyKey?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

type Given<Id extends OperationId> = Omit<Operations[Id], 'answer'>;
type Optional<Options> = Record<never, never> extends Options ? [options?: Options] : [options: Options];
type Arguments<Id extends OperationId, More> = Optional<Given<Id> & More>;
export type Answer<Id extends OperationId> = Operations[Id]['answer'];

/** Operations that answer a page of a list. */
export type ListId = {
  [Id in OperationId]: Operations[Id] extends {
    query?: { cursor?: string | undefined };
    answer: readonly unknown[];
  }
    ? Id
    : never;
}[OperationId];
type Item<Id extends ListId> = Answer<Id>[number];

export interface Page<T> {
  items: T[];
  /**
   * Cursor of the next page; null on the last one. Of a list that was asked for with `after`: its next
   * value.
   */
  next: string | null;
}

/** Operations that answer an event stream. */
export type StreamId = {
  [Id in OperationId]: [Extract<Answer<Id>, EventStream>] extends [never] ? never : Id;
}[OperationId];
/** What the events of a stream carry. */
interface StreamData extends Record<StreamId, unknown> {
  streamEvents: CloudEvent;
  streamRunEvents: LogEntry | PartialOutput;
}

export interface Client {
  /** @throws ApiError if the server refuses or is not Cadenza, TypeError if it cannot be reached */
  call<Id extends Exclude<OperationId, StreamId>>(
    id: Id,
    ...args: Arguments<Id, CallOptions>
  ): Promise<Answer<Id>>;
  /** Like `call`, with the state of the record; sent as `If-Match`, it guards a change against others. */
  tagged<Id extends Exclude<OperationId, StreamId>>(
    id: Id,
    ...args: Arguments<Id, CallOptions>
  ): Promise<{ record: Answer<Id>; etag: string | null }>;
  /** One page of a list; `query.cursor` is `next` of the page before. */
  page<Id extends ListId>(id: Id, ...args: Arguments<Id, CallOptions>): Promise<Page<Item<Id>>>;
  /** All records of a list, one page after the other as they are consumed. */
  items<Id extends ListId>(id: Id, ...args: Arguments<Id, CallOptions>): AsyncGenerator<Item<Id>, void>;
  /** Follows an event stream, and resumes it when the connection is lost. Ends when the stream is over. */
  events<Id extends StreamId>(
    id: Id,
    ...args: Arguments<Id, StreamOptions>
  ): AsyncGenerator<ServerEvent<StreamData[Id]>, void>;
}

/** The options of any operation, as requests are built from them. */
interface AnyOptions extends CallOptions {
  path?: Readonly<Record<string, string | number>> | undefined;
  query?: Readonly<Record<string, unknown>> | undefined;
  body?: unknown;
}

export function createClient({ baseUrl = '', token, fetch: send = fetch }: ClientOptions = {}): Client {
  const request = async (id: OperationId, options: AnyOptions): Promise<Response> => {
    const { method, path, ...operation } = OPERATIONS[id];
    const { body, type } = encodeBody(options.body, 'sent' in operation ? operation.sent : undefined);
    const access = await token?.();
    return send(`${baseUrl}${fill(path, options.path)}${search(options.query)}`, {
      method,
      headers: {
        accept: 'application/json, */*;q=0.5',
        ...(access === undefined ? {} : { authorization: `Bearer ${access}` }),
        ...(type === undefined ? {} : { 'content-type': type }),
        ...(options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  };
  const answered = async (id: OperationId, options: AnyOptions): Promise<Response> => {
    const response = await request(id, options);
    if (!response.ok) throw await apiErrorOf(response, Object.values(options.path ?? {}).map(String));
    if (!('other' in OPERATIONS[id]) && !isJsonOrNone(response)) {
      await response.body?.cancel();
      throw notJson(response);
    }
    return response;
  };
  const readPage = async <Id extends ListId>(id: Id, options: AnyOptions): Promise<Page<Item<Id>>> => {
    const response = await answered(id, options);
    // The server checks its answers against the schemas that these types are generated from.
    return { items: (await response.json()) as Item<Id>[], next: nextCursor(response.headers.get('link')) };
  };
  return {
    call: async (id, ...[options = {}]) => readBody(await answered(id, options)),
    tagged: async (id, ...[options = {}]) => {
      const response = await answered(id, options);
      return { record: await readBody(response), etag: response.headers.get('etag') };
    },
    page: (id, ...[options = {}]) => readPage(id, options),
    async *items(id, ...[options = {}]) {
      const { query, ...rest }: AnyOptions = options;
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await readPage(id, { ...rest, query: { ...query, ...(cursor ? { cursor } : {}) } });
        yield* page.items;
        cursor = page.next;
      }
    },
    events: (id, ...[options = {}]) => {
      const { path, query }: AnyOptions = options;
      return followEvents((headers, signal) => answered(id, { path, query, headers, signal }), options);
    },
  };
}

/** @throws TypeError for a value that would lead to another path: `..` leaves its folder, even encoded */
function fill(path: string, values: AnyOptions['path'] = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined || value === '') throw new TypeError(`the path ${path} needs ${name}`);
    if (value === '.' || value === '..')
      throw new TypeError(`the path ${path} cannot have "${value}" as ${name}`);
    return encodeURIComponent(value);
  });
}

/** The query string of the values that are given; a name with a list is repeated (OpenAPI's default). */
function search(query: AnyOptions['query'] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const pairs = given.flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

type Body = string | Blob | FormData | Uint8Array<ArrayBuffer>;

function encodeBody(body: unknown, sent = 'application/json'): { body?: Body; type?: string } {
  if (body === undefined) return {};
  if (body instanceof Blob || body instanceof FormData) return { body };
  if (body instanceof Uint8Array) return { body: new Uint8Array(body), type: 'application/octet-stream' };
  return { body: JSON.stringify(body), type: sent };
}

const typeOf = (response: Response): string => response.headers.get('content-type') ?? '';
const isJson = (type: string): boolean => /^[^;]*\bjson\b/.test(type);
const isJsonOrNone = (response: Response): boolean =>
  response.status === 204 || typeOf(response) === '' || isJson(typeOf(response));

/** JSON as its value, text as a string, anything else as a blob. */
async function readBody<Id extends OperationId>(response: Response): Promise<Answer<Id>> {
  const type = typeOf(response);
  let body: unknown;
  if (response.status === 204 || type === '') body = undefined;
  else if (isJson(type)) body = await response.json();
  else body = /^text\/|\+xml|\byaml\b/.test(type) ? await response.text() : await response.blob();
  // The server checks its answers against the schemas that these types are generated from.
  return body as Answer<Id>;
}

/** The cursor in `<https://…?cursor=…>; rel="next"` (RFC 8288), which may also be called `after`. */
function nextCursor(link: string | null): string | null {
  const url = /<([^>]+)>\s*;[^,]*\brel="?next"?/.exec(link ?? '')?.[1];
  if (url === undefined) return null;
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1));
  return query.get('cursor') ?? query.get('after');
}
