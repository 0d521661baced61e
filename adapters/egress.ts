/** The one way out: every request of an adapter passes here, each connection and each redirect checked against the rules. */
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import { Agent, buildConnector, request as send } from 'undici';
import { Fault, fault } from '../contracts/fault.ts';
import { connectionFault, hostOf } from './connection-fault.ts';
import { parseEgressRules } from './egress-rules.ts';
import type { EgressRules, EgressSettings } from './egress-rules.ts';
import { judgeAddresses, pinOrigin } from './pin-origin.ts';
import type { PinnedOrigin } from './pin-origin.ts';
import { decoded, readBody } from './response-body.ts';

export const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;
const IGNORED_BODY_BYTES = 64 * 1024;
const MAX_REDIRECTS = 5;
const CONNECT_TIMEOUT_MS = 10_000;
/** What may follow a redirect to another origin: nothing that could be a credential. */
const HEADERS_FOR_ANY_ORIGIN = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

export interface EgressRequest {
  url: string;
  /** Upper case. */
  method: string;
  /** Names in lower case. */
  headers?: Record<string, string>;
  body?: string | StreamBody;
  /** For the whole exchange, redirects and body included. */
  timeoutMs: number;
  signal: AbortSignal;
  maxBytes?: number;
  /** Default true: up to 5, as the Fetch standard does them; 3xx answers are returned otherwise. */
  followRedirects?: boolean;
  /** http without TLS only to what EGRESS_ALLOW names. */
  plainOnlyAllowed?: boolean;
  /** The status is what counts: a little of the body is read, so that the connection can be used again, and thrown away. */
  ignoreBody?: boolean;
  /**
   * Looks at an answer before its body: what it gives is handed the decoded body, which may be of any size, and `bytes` is empty.
   * Null: the body is read as always. Its own errors come out as they are.
   */
  take?: (answer: AnswerHead) => ((body: AsyncIterable<Uint8Array>) => Promise<void>) | null;
}

/** A body that is not held in memory. `open` is called for each request that is sent: redirects repeat it. */
export interface StreamBody {
  /** Bytes. */
  size: number;
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/** Header names are in lower case. `url` is the last one asked; `bytes` is the decoded body. */
export interface EgressResponse {
  status: number;
  headers: Record<string, string>;
  bytes: Uint8Array;
  url: string;
}

export type AnswerHead = Omit<EgressResponse, 'bytes'>;

/** As `EgressResponse`, its body while it comes, not decoded; reading throws as `request` does. Leaving the loop ends the connection. */
export interface EgressStream extends AnswerHead {
  chunks: AsyncIterable<Uint8Array>;
}

export interface EgressPolicy {
  /** For other protocols than HTTP/1: resolves once and judges every address. Throws `Fault` as `request` does. */
  pin(origin: string): Promise<PinnedOrigin>;
  /** Throws `Fault` for what the counterpart or the rules refuse, and the signal's reason when it is aborted. */
  request(request: EgressRequest): Promise<EgressResponse>;
  /** `maxBytes` and `ignoreBody` have no meaning here. */
  stream(request: EgressRequest): Promise<EgressStream>;
  close(): Promise<void>;
}

export type HostLookup = (hostname: string) => Promise<{ address: string; family: number }[]>;

/** Settings as in EGRESS_ALLOW and EGRESS_HOST_MAP; throws an Error for a faulty one. `lookup` is for tests. */
export function createEgressPolicy(settings: EgressSettings & { lookup?: HostLookup } = {}): EgressPolicy {
  const rules = parseEgressRules(settings);
  const resolve = settings.lookup ?? ((hostname: string) => systemLookup(hostname, { all: true }));
  const checked = checkedAgent(rules, resolve, false);
  const strict = checkedAgent(rules, resolve, true);
  // Where the operator maps a host to, is trusted as it stands.
  const mapped = new Agent({ allowH2: false, connect: { timeout: CONNECT_TIMEOUT_MS } });

  const once = async (url: URL, request: EgressRequest, headers: Record<string, string>, signal: AbortSignal) => {
    const target = rules.mapped(url.origin);
    const { body } = request;
    const stream = typeof body === 'object' ? { length: { 'content-length': String(body.size) }, source: Readable.from(await body.open(), { objectMode: false }) } : null;
    const answer = await send(target === null ? url : new URL(url.pathname + url.search, target), {
      dispatcher: target !== null ? mapped : request.plainOnlyAllowed === true ? strict : checked,
      method: request.method,
      headers: { 'accept-encoding': 'gzip, deflate, br', ...headers, ...stream?.length, ...(target === null ? {} : { host: url.host }) },
      ...(body === undefined ? {} : { body: stream?.source ?? (body as string) }),
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return { ...answer, headers: flatHeaders(answer.headers) };
  };

  const follow = async (first: EgressRequest, signal: AbortSignal) => {
    let request = first;
    let url = webUrl(first.url);
    for (let hop = 0; ; hop += 1) {
      const answer = await once(url, request, request.headers ?? {}, signal);
      const location = answer.headers['location'];
      if (first.followRedirects === false || location === undefined || ![301, 302, 303, 307, 308].includes(answer.statusCode)) {
        return { ...answer, method: request.method, url: url.href };
      }
      answer.body.on('error', () => undefined).destroy();
      if (hop === MAX_REDIRECTS) throw fault('communication', `${url.host} redirected more than ${MAX_REDIRECTS} times`, { status: 502 });
      const next = redirectTarget(url, location);
      request = redirected(request, answer.statusCode, url, next);
      url = next;
    }
  };

  const whole = async (request: EgressRequest, signal: AbortSignal, failure: (error: unknown) => unknown): Promise<EgressResponse> => {
    const { statusCode: status, headers, body, method, url } = await follow(request, signal);
    if (request.ignoreBody === true) {
      // Neither a slow nor a broken body changes what the status said.
      await body.dump({ limit: IGNORED_BODY_BYTES, signal }).catch(() => undefined);
      return { status, headers, bytes: new Uint8Array(0), url };
    }
    const sink = request.take?.({ status, headers, url });
    if (sink) {
      await sink(readable(decoded(body, headers), failure)).catch((error: unknown) => {
        // The connection's failure came out of the body as it is to be; all else is the sink's own.
        throw error instanceof Fault ? error : new SinkFailure({ cause: error });
      }).finally(() => body.on('error', () => undefined).destroy());
      return { status, headers, bytes: new Uint8Array(0), url };
    }
    const bytes = await readBody(body, { statusCode: status, headers, method, maxBytes: request.maxBytes ?? MAX_RESPONSE_BYTES });
    return { status, headers, bytes, url };
  };

  const begin = (request: EgressRequest) => {
    request.signal.throwIfAborted();
    const deadline = AbortSignal.timeout(request.timeoutMs);
    const failure = (error: unknown): unknown => {
      if (request.signal.aborted) return request.signal.reason;
      if (error instanceof SinkFailure) return error.cause;
      if (error instanceof Fault) return error;
      if (!deadline.aborted) return connectionFault(request, error);
      return fault('timeout', `${hostOf(request.url)} did not answer ${request.method} within ${request.timeoutMs} ms`, { cause: error });
    };
    return { signal: AbortSignal.any([request.signal, deadline]), failure };
  };

  return {
    async request(request) {
      const { signal, failure } = begin(request);
      try {
        return await whole(request, signal, failure);
      } catch (error) {
        throw failure(error);
      }
    },
    async stream(request) {
      const { signal, failure } = begin(request);
      try {
        const headers = { ...request.headers, 'accept-encoding': 'identity' };
        const answer = await follow({ ...request, headers }, signal);
        return { status: answer.statusCode, headers: answer.headers, url: answer.url, chunks: readable(answer.body, failure) };
      } catch (error) {
        throw failure(error);
      }
    },
    pin: async (origin) => pinOrigin(rules, resolve, webUrl(origin)),
    async close() {
      await Promise.all([checked.destroy(), strict.destroy(), mapped.destroy()]);
    },
  };
}

/** Resolves once, judges every address, and connects to those that were judged: a second answer of DNS is never asked for. */
function checkedAgent(rules: EgressRules, resolve: HostLookup, plainOnlyAllowed: boolean): Agent {
  const lookupFor = (plain: boolean): LookupFunction => (hostname, options, callback) => {
    resolve(hostname)
      .then((found) => {
        judgeAddresses(rules, hostname, found.map(({ address }) => address), plain);
        const [first] = found;
        if (first === undefined) throw new Error(`${hostname} has no address`);
        if (options.all === true) callback(null, found);
        else callback(null, first.address, first.family);
      })
      .catch((error: Error) => callback(error, '', 0));
  };
  const connectors = [false, true].map((plain) => buildConnector({ lookup: lookupFor(plain), allowH2: false, timeout: CONNECT_TIMEOUT_MS }));
  return new Agent({
    allowH2: false,
    connect(options, callback) {
      // Node does not look up what is an address already.
      const plain = plainOnlyAllowed && options.protocol === 'http:';
      const literal = options.hostname.replace(/^\[(.*)\]$/, '$1');
      try {
        if (isIP(literal) !== 0) judgeAddresses(rules, literal, [literal], plain);
      } catch (error) {
        callback(error as Error, null); // Faults only
        return;
      }
      connectors[plain ? 1 : 0]?.(options, callback);
    },
  });
}

/** On its way out of `request` only. */
class SinkFailure extends Error {
  constructor(options: { cause: unknown }) {
    super('what took the body failed', options);
  }
}

async function* readable(body: AsyncIterable<Uint8Array>, failure: (error: unknown) => unknown): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk;
  } catch (error) {
    throw failure(error);
  }
}

function webUrl(text: string): URL {
  if (!URL.canParse(text)) throw fault('configuration', 'The address to call is not an absolute URL');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw fault('configuration', `Only http and https addresses can be called, not ${url.protocol}`);
  if (url.username !== '' || url.password !== '') throw fault('configuration', 'Credentials in an address are not sent; configure an authentication');
  return url;
}

function redirectTarget(from: URL, location: string): URL {
  if (!URL.canParse(location, from.href)) throw fault('communication', `${from.host} redirected to something that is not a URL`, { status: 502 });
  const next = webUrl(new URL(location, from).href);
  if (from.protocol === 'https:' && next.protocol === 'http:') {
    throw fault('communication', `${from.host} redirected from https to http, which is not followed`, { status: 502 });
  }
  return next;
}

/** Fetch standard, "HTTP-redirect fetch". */
function redirected(request: EgressRequest, status: number, from: URL, to: URL): EgressRequest {
  const { body, ...rest } = request;
  const asGet = status === 303 ? request.method !== 'HEAD' : status < 303 && request.method === 'POST';
  const crossOrigin = from.origin !== to.origin;
  if (!asGet && crossOrigin && body !== undefined) {
    throw fault('communication', `${from.host} redirected a ${request.method} with its body to another host, which is not followed`, { status: 502 });
  }
  const headers = Object.entries(request.headers ?? {}).filter(
    ([name]) => (!crossOrigin || HEADERS_FOR_ANY_ORIGIN.has(name)) && !(asGet && name.startsWith('content-')),
  );
  return {
    ...rest,
    headers: Object.fromEntries(headers),
    method: asGet ? 'GET' : request.method,
    ...(body === undefined || asGet ? {} : { body }),
  };
}

function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]])),
  );
}
