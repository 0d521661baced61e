/**
 * The gRPC server: plain HTTP/2 on its own port, for all agents (`tenant` selects one). A proxy in front
 * terminates TLS, as for HTTP.
 */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { setTimeout as sleep } from 'node:timers/promises';

import type { AppDeps } from '../deps.ts';
import { A2A_BODY_LIMIT_BYTES } from './limits.ts';
import { grpcAdmission } from './grpc-admission.ts';
import { grpcDefinition } from './grpc-definition.ts';
import { grpcService } from './grpc-service.ts';

const OPTIONS = {
  'grpc.max_receive_message_length': A2A_BODY_LIMIT_BYTES,
  // Detects and closes connections whose client is gone.
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 20_000,
  // Per connection. A client that needs more opens another connection.
  'grpc.max_concurrent_streams': 100,
  // Memory in megabytes that HTTP/2 buffers per connection; above it, new streams are refused.
  'grpc-node.max_session_memory': 64,
  'grpc.enable_channelz': 0,
};

/** Time for the largest message at 2 Mbit/s. */
const RECEIVE_MS = 60_000;
/** As over HTTP. */
const UNREAD_MS = 60_000;

export interface GrpcAddress {
  host: string;
  /** 0 picks a free port. */
  port: number;
  /** Time limit for receiving one message. */
  receiveMs?: number;
  /** How long a client may leave what it is sent unread. */
  unreadMs?: number;
}

export interface GrpcServer {
  port: number;
  /** Accepts no new calls, lets running calls end for up to `drainMs`, then aborts the rest. */
  stop(drainMs: number): Promise<void>;
}

/**
 * Starts the server. From then on, agent cards list the gRPC binding. Rejects if the port cannot be bound.
 */
export async function listenGrpc(
  deps: AppDeps,
  { host, port, receiveMs = RECEIVE_MS, unreadMs = UNREAD_MS }: GrpcAddress,
): Promise<GrpcServer> {
  const server = new Server({ ...OPTIONS, interceptors: [grpcAdmission(deps, { receiveMs, unreadMs })] });
  server.addService(grpcDefinition, grpcService(deps));
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(
      `${host.includes(':') ? `[${host}]` : host}:${port}`,
      ServerCredentials.createInsecure(),
      (error, found) => (error ? reject(error) : resolve(found)),
    );
  });
  deps.grpc.url = deps.env.A2A_GRPC_URL ?? `${new URL(deps.env.BASE_URL).hostname}:${bound}`;
  return {
    port: bound,
    async stop(drainMs) {
      deps.grpc.url = null;
      const drained = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      await Promise.race([drained, sleep(drainMs, undefined, { ref: false })]);
      server.forceShutdown();
    },
  };
}
