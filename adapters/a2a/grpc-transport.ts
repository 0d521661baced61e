/** A transport for the SDK's client that speaks A2A 1.0 over gRPC. */
import type { Transport } from '@a2a-js/sdk/client';
import { fault } from '../../contracts/fault.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { GrpcCalls, type GrpcCallOptions } from './grpc-calls.ts';
import { openChannel } from '../grpc/open-channel.ts';

export interface GrpcOptions extends GrpcCallOptions {
  egress: EgressPolicy;
  maxBytes: number;
}

export interface GrpcTransport extends Transport {
  close(): void;
}

/** `origin`: scheme (https: TLS), host and port. Throws `Fault` for what the egress policy refuses. */
export async function openGrpc(origin: string, options: GrpcOptions): Promise<GrpcTransport> {
  const channel = await openChannel(origin, options);
  const calls = new GrpcCalls(channel, origin, options);
  return {
    protocolName: 'GRPC',
    protocolVersion: '1.0',
    close: () => channel.close(),
    async sendMessage(request, call) {
      const { payload } = await calls.unary('sendMessage', request, call);
      if (payload === undefined) {
        const { host } = new URL(origin);
        throw fault('communication', `${host} answered with neither a message nor a task`, { status: 502 });
      }
      return payload.value;
    },
    sendMessageStream: (request, call) => calls.stream('sendStreamingMessage', request, call),
    resubscribeTask: (request, call) => calls.stream('subscribeToTask', request, call),
    getTask: (request, call) => calls.unary('getTask', request, call),
    cancelTask: (request, call) => calls.unary('cancelTask', request, call),
    listTasks: (request, call) => calls.unary('listTasks', request, call),
    getExtendedAgentCard: (request, call) => calls.unary('getExtendedAgentCard', request, call),
    createTaskPushNotificationConfig: (request, call) =>
      calls.unary('createTaskPushNotificationConfig', request, call),
    getTaskPushNotificationConfig: (request, call) =>
      calls.unary('getTaskPushNotificationConfig', request, call),
    listTaskPushNotificationConfig: (request, call) =>
      calls.unary('listTaskPushNotificationConfigs', request, call),
    async deleteTaskPushNotificationConfig(request, call) {
      await calls.unary('deleteTaskPushNotificationConfig', request, call);
    },
  };
}
