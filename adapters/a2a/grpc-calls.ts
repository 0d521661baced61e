/** Calls of one gRPC agent, each with current credentials and the platform's faults. */
import type { RequestOptions } from '@a2a-js/sdk/client';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { Metadata, status, type Client } from '@grpc/grpc-js';
import { fault } from '../../contracts/fault.ts';
import { traceHeaders } from '../../tracing/context.ts';
import type { AgentCredentials } from '../authentication/agent-authentication.ts';
import type { Words } from '../http/message.ts';
import { grpcFault } from './grpc-faults.ts';

type Methods = typeof A2AService;
type Method = keyof Methods;
type StreamMethod = 'sendStreamingMessage' | 'subscribeToTask';
type RequestOf<M extends Method> = Parameters<Methods[M]['requestSerialize']>[0];
type ResponseOf<M extends Method> = ReturnType<Methods[M]['responseDeserialize']>;

export interface GrpcCallOptions {
  /** Called before each call, because a task may outlive a token. */
  credentials: () => Promise<AgentCredentials>;
  headers: Record<string, string>;
  words: Words;
  /** A stream that is silent for longer is cancelled. */
  idleMs: number;
}

interface OpenStream<M extends StreamMethod> {
  first: IteratorResult<ResponseOf<M>>;
  events: AsyncIterator<ResponseOf<M>>;
  leave: () => void;
}

export class GrpcCalls {
  readonly #client: Client;
  readonly #origin: string;
  readonly #host: string;
  readonly #options: GrpcCallOptions;

  /** `origin` is that of the client's channel. */
  constructor(client: Client, origin: string, options: GrpcCallOptions) {
    this.#client = client;
    this.#origin = origin;
    this.#host = new URL(origin).host;
    this.#options = options;
  }

  async unary<M extends Method>(
    method: M,
    request: RequestOf<M>,
    requestOptions?: RequestOptions,
  ): Promise<ResponseOf<M>> {
    try {
      return await this.#authorized((credentials) =>
        this.#sendUnary(method, request, this.#metadata(credentials, requestOptions), requestOptions?.signal),
      );
    } catch (error) {
      throw this.#failureOf(error, requestOptions?.signal);
    }
  }

  async *stream<M extends StreamMethod>(
    method: M,
    request: RequestOf<M>,
    requestOptions?: RequestOptions,
  ): AsyncGenerator<ResponseOf<M>, void, undefined> {
    try {
      const { first, events, leave } = await this.#authorized((credentials) =>
        this.#openStream(
          method,
          request,
          this.#metadata(credentials, requestOptions),
          requestOptions?.signal,
        ),
      );
      try {
        for (let next = first; next.done !== true; next = await this.#beforeSilence(events.next()))
          yield next.value;
      } finally {
        leave();
      }
    } catch (error) {
      throw this.#failureOf(error, requestOptions?.signal);
    }
  }

  /** Repeats the call once if the credentials were refused and can be renewed. */
  async #authorized<T>(call: (credentials: AgentCredentials) => Promise<T>): Promise<T> {
    const credentials = await this.#options.credentials();
    try {
      return await call(credentials);
    } catch (error) {
      if (!isUnauthenticated(error)) throw error;
      credentials.refused();
      if (credentials.renewable !== true) throw error;
      return await call(await this.#options.credentials());
    }
  }

  #metadata(credentials: AgentCredentials, requestOptions: RequestOptions | undefined): Metadata {
    const url = `${this.#origin}/`;
    if (credentials.withQuery(url) !== url)
      throw fault('configuration', 'A key in the query cannot be sent over gRPC: use a header');
    const headers = {
      ...traceHeaders(),
      ...this.#options.headers,
      ...credentials.headers,
      ...requestOptions?.serviceParameters,
    };
    const metadata = new Metadata();
    try {
      for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    } catch (error) {
      throw fault('configuration', 'A header has a name or value that gRPC cannot send', { cause: error });
    }
    return metadata;
  }

  #sendUnary<M extends Method>(
    method: M,
    request: RequestOf<M>,
    metadata: Metadata,
    signal: AbortSignal | undefined,
  ): Promise<ResponseOf<M>> {
    const { path, requestSerialize, responseDeserialize } = A2AService[method];
    // The assertions hold: the codecs of one definition belong together, which the union type does not
    // express.
    const serialize = requestSerialize as (value: RequestOf<M>) => Buffer;
    const deserialize = responseDeserialize as (bytes: Buffer) => ResponseOf<M>;
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        path,
        serialize,
        deserialize,
        request,
        metadata,
        (error, value) => {
          stopWatching();
          if (error) reject(error);
          else if (value === undefined) reject(new Error('a response without a message'));
          else resolve(value);
        },
      );
      const stopWatching = cancelOnAbort(call, signal);
    });
  }

  /** Waits for the first event, because a refusal arrives only with it. */
  async #openStream<M extends StreamMethod>(
    method: M,
    request: RequestOf<M>,
    metadata: Metadata,
    signal: AbortSignal | undefined,
  ): Promise<OpenStream<M>> {
    const { path, requestSerialize, responseDeserialize } = A2AService[method];
    const call = this.#client.makeServerStreamRequest(
      path,
      // The assertion holds as above.
      requestSerialize as (value: RequestOf<M>) => Buffer,
      responseDeserialize,
      request,
      metadata,
    );
    const events = call[Symbol.asyncIterator]();
    const stopWatching = cancelOnAbort(call, signal);
    const leave = (): void => {
      stopWatching();
      // Ignore the error that a cancelled call emits last.
      call.on('error', () => undefined);
      call.cancel();
    };
    try {
      return { first: await this.#beforeSilence(events.next()), events, leave };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** The next event of a stream. Throws `Fault` if it does not arrive within `idleMs`. */
  async #beforeSilence<T>(next: Promise<T>): Promise<T> {
    const { idleMs } = this.#options;
    const { promise: silence, reject } = Promise.withResolvers<never>();
    const message = `The stream of ${this.#host} was silent for ${idleMs} ms`;
    const timer = setTimeout(() => reject(fault('communication', message, { status: 504 })), idleMs);
    // If the stream is silent, nobody waits for its later error.
    next.catch(() => undefined);
    try {
      return await Promise.race([next, silence]);
    } finally {
      clearTimeout(timer);
    }
  }

  #failureOf(error: unknown, signal: AbortSignal | undefined): unknown {
    return signal?.aborted === true ? signal.reason : grpcFault(error, this.#host, this.#options.words);
  }
}

/** Cancels the call when the signal aborts. @returns stops that */
function cancelOnAbort(call: { cancel(): void }, signal: AbortSignal | undefined): () => void {
  const cancel = (): void => call.cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted === true) cancel();
  return () => signal?.removeEventListener('abort', cancel);
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === status.UNAUTHENTICATED;
}
