/** A2A 1.0 over gRPC as the SDK's client wants a transport: to addresses that the egress policy has judged, with credentials of the moment. */
import type { Transport, RequestOptions } from '@a2a-js/sdk/client';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { Client, credentials as channelCredentials, Metadata } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { isIP } from 'node:net';
import { fault } from '../../contracts/fault.ts';
import type { AgentCredentials } from '../agent-authentication.ts';
import type { EgressPolicy } from '../egress.ts';
import { grpcFault } from './grpc-faults.ts';

export interface GrpcOptions {
  egress: EgressPolicy;
  /** Asked before each call: a task may outlive a token. */
  credentials: () => Promise<AgentCredentials>;
  headers: Record<string, string>;
  redact: (text: string) => string;
  /** A stream that is silent for longer is broken off. */
  idleMs: number;
  maxBytes: number;
}

export interface GrpcTransport extends Transport {
  close(): void;
}

type Methods = typeof A2AService;
type Answer<M extends keyof Methods> = ReturnType<Methods[M]['responseDeserialize']>;
type Question<M extends keyof Methods> = Parameters<Methods[M]['requestSerialize']>[0];

/** `origin`: scheme (https: TLS), host and port. Throws `Fault`: what the egress policy refuses. */
export async function openGrpc(origin: string, options: GrpcOptions): Promise<GrpcTransport> {
  const { host, hostname } = new URL(origin);
  const { addresses, family, port, secure } = await options.egress.pin(origin);
  const target = `ipv${family}:${addresses.map((address) => (family === 6 ? `[${address}]:${port}` : `${address}:${port}`)).join(',')}`;
  const client = new Client(target, secure ? channelCredentials.createSsl() : channelCredentials.createInsecure(), {
    'grpc.default_authority': host,
    // An address has no name to be checked against; its certificate names the address.
    ...(secure ? { 'grpc.ssl_target_name_override': hostname.replace(/^\[(.*)\]$/, '$1') } : {}),
    'grpc.max_receive_message_length': options.maxBytes,
    // No way round the egress policy.
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.use_local_subchannel_pool': 1,
  });

  const metadataOf = (shown: AgentCredentials, asked: RequestOptions | undefined): Metadata => {
    if (shown.withQuery(`${origin}/`) !== `${origin}/`) throw fault('configuration', 'A key in the query cannot be sent over gRPC: use a header');
    const metadata = new Metadata();
    try {
      for (const [name, value] of Object.entries({ ...options.headers, ...shown.headers, ...asked?.serviceParameters })) metadata.set(name, value);
    } catch (error) {
      throw fault('configuration', 'A header has a name or value that gRPC cannot send', { cause: error });
    }
    return metadata;
  };
  /** Once more where credentials were refused and others can be had. */
  const authorized = async <T>(work: (shown: AgentCredentials) => Promise<T>): Promise<T> => {
    const shown = await options.credentials();
    try {
      return await work(shown);
    } catch (error) {
      if (!isUnauthenticated(error)) throw error;
      shown.refused();
      if (shown.renewable !== true) throw error;
      return await work(await options.credentials());
    }
  };
  const failure = (error: unknown, signal: AbortSignal | undefined): unknown => (signal?.aborted === true ? signal.reason : grpcFault(error, host, options.redact));

  const unary = async <M extends keyof Methods>(method: M, request: Question<M>, asked?: RequestOptions): Promise<Answer<M>> => {
    const { path, requestSerialize, responseDeserialize } = A2AService[method];
    const once = (shown: AgentCredentials) =>
      new Promise<Answer<M>>((resolve, reject) => {
        // One of the service's definitions: its codecs belong together, which the union of all of them does not say.
        const serialize = requestSerialize as (value: Question<M>) => Buffer;
        const deserialize = responseDeserialize as (bytes: Buffer) => Answer<M>;
        const call = client.makeUnaryRequest(path, serialize, deserialize, request, metadataOf(shown, asked), (error, value) => {
          asked?.signal?.removeEventListener('abort', cancel);
          if (error) reject(error);
          else if (value === undefined) reject(new Error('an answer without a message'));
          else resolve(value);
        });
        const cancel = (): void => call.cancel();
        asked?.signal?.addEventListener('abort', cancel, { once: true });
        if (asked?.signal?.aborted === true) cancel();
      });
    try {
      return await authorized(once);
    } catch (error) {
      throw failure(error, asked?.signal);
    }
  };

  async function* streamed<M extends 'sendStreamingMessage' | 'subscribeToTask'>(method: M, request: Question<M>, asked?: RequestOptions) {
    const { path, requestSerialize, responseDeserialize } = A2AService[method];
    const open = async (shown: AgentCredentials) => {
      const call = client.makeServerStreamRequest(path, requestSerialize as (value: Question<M>) => Buffer, responseDeserialize, request, metadataOf(shown, asked));
      const events = call[Symbol.asyncIterator]();
      const cancel = (): void => call.cancel();
      asked?.signal?.addEventListener('abort', cancel, { once: true });
      if (asked?.signal?.aborted === true) cancel();
      const leave = (): void => {
        asked?.signal?.removeEventListener('abort', cancel);
        // What a cancelled call says last, nobody waits for.
        call.on('error', () => undefined);
        call.cancel();
      };
      try {
        return { first: await within(events.next(), options.idleMs, host), events, leave };
      } catch (error) {
        leave();
        throw error;
      }
    };
    try {
      const { first, events, leave } = await authorized(open);
      try {
        for (let next = first; next.done !== true; next = await within(events.next(), options.idleMs, host)) yield next.value;
      } finally {
        leave();
      }
    } catch (error) {
      throw failure(error, asked?.signal);
    }
  }

  return {
    protocolName: 'GRPC',
    protocolVersion: '1.0',
    close: () => client.close(),
    async sendMessage(request, asked) {
      const { payload } = await unary('sendMessage', request, asked);
      if (payload === undefined) throw fault('communication', `${host} answered with neither a message nor a task`, { status: 502 });
      return payload.value;
    },
    sendMessageStream: (request, asked) => streamed('sendStreamingMessage', request, asked),
    resubscribeTask: (request, asked) => streamed('subscribeToTask', request, asked),
    getTask: (request, asked) => unary('getTask', request, asked),
    cancelTask: (request, asked) => unary('cancelTask', request, asked),
    listTasks: (request, asked) => unary('listTasks', request, asked),
    getExtendedAgentCard: (request, asked) => unary('getExtendedAgentCard', request, asked),
    createTaskPushNotificationConfig: (request, asked) => unary('createTaskPushNotificationConfig', request, asked),
    getTaskPushNotificationConfig: (request, asked) => unary('getTaskPushNotificationConfig', request, asked),
    listTaskPushNotificationConfig: (request, asked) => unary('listTaskPushNotificationConfigs', request, asked),
    async deleteTaskPushNotificationConfig(request, asked) {
      await unary('deleteTaskPushNotificationConfig', request, asked);
    },
  };
}

/**
 * The origin of a gRPC interface: `https://…`, `http://…`, `grpcs://…`, `grpc://…`, or a bare `host:port`, which has TLS where its
 * card was read with TLS, and on port 443. Throws `Fault` for what is none of these.
 */
export function grpcOrigin(url: string, cardOverTls: boolean): string {
  const [, scheme = '', rest = ''] = /^(?:(https?|grpcs?):\/\/|dns:(?:\/\/[^/]*\/)?)?(.*)$/i.exec(url.trim()) ?? [];
  const [authority = ''] = rest.split(/[/?#]/);
  const secure = scheme === '' ? cardOverTls || authority.endsWith(':443') : /s$/i.test(scheme);
  const origin = `${secure ? 'https' : 'http'}://${isIP(authority) === 6 ? `[${authority}]` : authority}`;
  if (authority === '' || authority.includes('@') || !URL.canParse(origin)) throw fault('configuration', `The card names "${url.slice(0, 200)}" for gRPC, which is not an address`);
  return new URL(origin).origin;
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error as ServiceError).code === 16;
}

async function within<T>(work: Promise<T>, ms: number, host: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silent = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(fault('communication', `The stream of ${host} was silent for ${ms} ms`, { status: 504 })), ms);
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, silent]);
  } finally {
    clearTimeout(timer);
  }
}
