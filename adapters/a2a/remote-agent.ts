/** One remote agent as the rest needs it: a thin view of the SDK's client, with limits on each exchange. */
import { TaskState } from '@a2a-js/sdk';
import type { AgentCard, AgentInterface, Message, StreamResponse, Task } from '@a2a-js/sdk';
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import type { Client, RequestOptions, TransportFactory } from '@a2a-js/sdk/client';
import type { GrpcTransport } from './grpc-transport.ts';

const EXCHANGE_MS = 30_000;
const HISTORY = 50;

export interface RemoteAgent {
  streaming: boolean;
  /** See `createTaskView`. */
  losesAppend: boolean;
  /** A stream where the agent has one; else at most one answer. */
  send(message: Message, signal: AbortSignal): AsyncIterable<StreamResponse>;
  subscribe(taskId: string, signal: AbortSignal): AsyncIterable<StreamResponse>;
  task(taskId: string, signal: AbortSignal): Promise<Task>;
  cancel(taskId: string, signal: AbortSignal): Promise<void>;
  /** The task that a message has made; null if there is none, or the agent has no way to tell. */
  taskOf(message: Message, signal: AbortSignal): Promise<Task | null>;
  close(): void;
}

export interface RemoteOptions {
  fetch: typeof fetch;
  /** Opens a gRPC interface at its url. */
  grpc: (url: string) => Promise<GrpcTransport>;
  streaming: boolean;
  acceptedOutputModes: string[];
  extensions: string[];
}

export async function connectRemote(card: AgentCard, chosen: AgentInterface, options: RemoteOptions): Promise<RemoteAgent> {
  const legacyCompat = { enabled: true };
  const transport = { fetchImpl: options.fetch, legacyCompat };
  const opened: GrpcTransport[] = [];
  const grpc: TransportFactory = {
    protocolName: 'GRPC',
    async create(url) {
      const made = await options.grpc(url);
      opened.push(made);
      return made;
    },
  };
  const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory(transport), new RestTransportFactory(transport), grpc] });
  const client = await factory.createFromAgentCard({ ...card, supportedInterfaces: [chosen] });
  const legacy = client.protocolVersion.startsWith('0.');
  const withSignal = (signal: AbortSignal): RequestOptions => ({
    signal,
    serviceParameters: options.extensions.length === 0 ? {} : { 'A2A-Extensions': options.extensions.join(',') },
  });
  const soon = (signal: AbortSignal): RequestOptions => withSignal(AbortSignal.any([signal, AbortSignal.timeout(EXCHANGE_MS)]));

  return {
    streaming: options.streaming,
    close: () => opened.forEach((each) => each.close()),
    losesAppend: legacy && chosen.protocolBinding.toUpperCase() === 'HTTP+JSON',
    async *send(message, signal) {
      const configuration = { acceptedOutputModes: options.acceptedOutputModes, taskPushNotificationConfig: undefined, returnImmediately: !options.streaming };
      const request = { tenant: '', message, configuration, metadata: undefined };
      if (options.streaming) yield* client.sendMessageStream(request, withSignal(signal));
      else yield await sendOnce(client, request, withSignal(signal));
    },
    subscribe: (id, signal) => client.resubscribeTask({ tenant: '', id }, withSignal(signal)),
    task: (id, signal) => client.getTask({ tenant: '', id }, soon(signal)),
    async cancel(id, signal) {
      await client.cancelTask({ tenant: '', id, metadata: undefined }, soon(signal));
    },
    async taskOf(message, signal) {
      // 0.3 has no list.
      if (legacy) return null;
      const { tasks } = await client.listTasks(
        { tenant: '', contextId: message.contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: '', pageSize: HISTORY, historyLength: HISTORY, statusTimestampAfter: undefined },
        soon(signal),
      );
      return tasks.find((task) => task.history.some(({ messageId }) => messageId === message.messageId)) ?? null;
    },
  };
}

async function sendOnce(client: Client, request: Parameters<Client['sendMessage']>[0], options: RequestOptions): Promise<StreamResponse> {
  const result = await client.sendMessage(request, options);
  return 'messageId' in result ? { payload: { $case: 'message', value: result } } : { payload: { $case: 'task', value: result } };
}
