/**
 * The egress policy as adapters see it: all their outgoing requests pass through it. `createEgressPolicy`
 * makes one.
 */

export interface EgressRequest {
  url: string;
  /** Upper case. */
  method: string;
  /** Names are in lower case. */
  headers?: Record<string, string>;
  body?: string | StreamBody;
  /** For the whole exchange, including redirects and body. */
  timeoutMs: number;
  signal: AbortSignal;
  maxBytes?: number;
  /**
   * Default true: follows up to 5 redirects as the Fetch standard specifies. Otherwise 3xx responses are
   * returned.
   */
  followRedirects?: boolean;
  /** Allows http without TLS only to hosts that EGRESS_ALLOW names. */
  plainOnlyAllowed?: boolean;
  /**
   * Only the status matters: reads and discards a little of the body, so that the connection can be reused.
   */
  ignoreBody?: boolean;
  /**
   * Called with the response before its body is read. The returned function receives the decoded body, which
   * may have any size, and `bytes` is empty. Null: the body is read normally. Errors of that function are
   * rethrown unchanged.
   */
  take?: (answer: AnswerHead) => ((body: AsyncIterable<Uint8Array>) => Promise<void>) | null;
}

/**
 * A body that is not held in memory. `open` is called for each request sent, because redirects repeat the
 * body.
 */
export interface StreamBody {
  /** Bytes. */
  size: number;
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/** Header names are in lower case. `url` is the last one requested; `bytes` is the decoded body. */
export interface EgressResponse {
  status: number;
  headers: Record<string, string>;
  bytes: Uint8Array;
  url: string;
}

export type AnswerHead = Omit<EgressResponse, 'bytes'>;

/**
 * Like `EgressResponse`, with the body as it arrives, not decoded. Reading throws like `request`. Leaving the
 * loop closes the connection.
 */
interface EgressStream extends AnswerHead {
  chunks: AsyncIterable<Uint8Array>;
}

export interface EgressPolicy {
  /**
   * For protocols other than HTTP/1: resolves the host once and checks every address. Throws `Fault` like
   * `request`.
   */
  pin(origin: string): Promise<PinnedOrigin>;
  /** Throws `Fault` if the counterpart or the rules refuse, and the signal's reason when it is aborted. */
  request(request: EgressRequest): Promise<EgressResponse>;
  /** Ignores `maxBytes` and `ignoreBody`. */
  stream(request: EgressRequest): Promise<EgressStream>;
  close(): Promise<void>;
}

/** An origin whose addresses have been checked; callers connect to them without another lookup. */
export interface PinnedOrigin {
  /** IP addresses of one family. */
  addresses: string[];
  family: 4 | 6;
  port: number;
  secure: boolean;
}

export type HostLookup = (hostname: string) => Promise<{ address: string; family: number }[]>;
