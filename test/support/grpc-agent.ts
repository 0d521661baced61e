/**
 * A handler of the SDK behind a gRPC service, and a TCP proxy in front of it that can cut connections.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { A2AService, grpcService, UserBuilder } from '@a2a-js/sdk/server/grpc';
import {
  Server,
  ServerCredentials,
  status,
  type ServerUnaryCall,
  type UntypedHandleCall,
} from '@grpc/grpc-js';

export interface GrpcAgent {
  /** `host:port` */
  url: string;
  drop(): void;
  close(): Promise<void>;
}

export interface GrpcCallSeen {
  method: string;
  tenant: string;
  metadata: Record<string, string>;
}

/** `refuses`: whether a call is answered UNAUTHENTICATED. */
export async function serveGrpc(
  handler: A2ARequestHandler,
  seen: (call: GrpcCallSeen) => void,
  refuses: (metadata: Record<string, string>) => boolean,
): Promise<GrpcAgent> {
  const service = grpcService({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication });
  const server = new Server();
  const wrapped = Object.entries(service).map(([method, handle]): [string, UntypedHandleCall] => [
    method,
    (call: ServerUnaryCall<{ tenant: string }, unknown>, callback?: (error: unknown) => void) => {
      const metadata = Object.fromEntries(
        Object.entries(call.metadata.getMap()).map(([name, value]) => [name, String(value)]),
      );
      seen({ method, tenant: call.request.tenant, metadata });
      const refusal = { code: status.UNAUTHENTICATED, details: 'who are you?' };
      if (!refuses(metadata)) (handle as (call: unknown, callback: unknown) => void)(call, callback);
      else if (callback) callback(refusal);
      else call.emit('error', refusal);
    },
  ]);
  server.addService(A2AService, Object.fromEntries(wrapped));
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    const upstream = connect(port, '127.0.0.1');
    for (const each of [socket, upstream]) {
      sockets.add(each);
      each.on('error', () => each.destroy()).on('close', () => sockets.delete(each));
    }
    socket.on('close', () => upstream.destroy()).pipe(upstream);
    upstream.on('close', () => socket.destroy()).pipe(socket);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const drop = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    // The address of a listening TCP server has this type.
    url: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    drop,
    close: async () => {
      drop();
      server.forceShutdown();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
