/** The gRPC port beside the HTTP one: plain HTTP/2, all agents, `tenant` says which. TLS is the proxy's in front, as for HTTP. */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { setTimeout as sleep } from 'node:timers/promises';

import type { AppDeps } from '../app.ts';
import { A2A_BODY_LIMIT_BYTES } from './limits.ts';
import { grpcDefinition } from './grpc-definition.ts';
import { grpcService } from './grpc-service.ts';

const OPTIONS = {
  'grpc.max_receive_message_length': A2A_BODY_LIMIT_BYTES,
  // Connections whose client has vanished are found and closed.
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 20_000,
  'grpc.max_concurrent_streams': 1_000,
  'grpc.enable_channelz': 0,
};

export interface GrpcServer {
  port: number;
  /** Takes no more calls, lets those under way end, and cuts off what takes longer. */
  stop(drainMs: number): Promise<void>;
}

/** From now on the cards list the binding. Port 0: any free one. Rejects if it cannot listen. */
export async function listenGrpc(deps: AppDeps, { host, port }: { host: string; port: number }): Promise<GrpcServer> {
  const server = new Server(OPTIONS);
  server.addService(grpcDefinition, grpcService(deps));
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host.includes(':') ? `[${host}]` : host}:${port}`, ServerCredentials.createInsecure(), (error, found) => (error ? reject(error) : resolve(found)));
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
