/** One remote agent: a thin wrapper of the SDK's client, with limits on each exchange. */
import {
  TaskState,
  type AgentCard,
  type AgentInterface,
  type ListTasksRequest,
  type Message,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
} from '@a2a-js/sdk';
import {
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
  type RequestOptions,
  type TransportFactory,
} from '@a2a-js/sdk/client';
import type { GrpcTransport } from './grpc-transport.ts';

const EXCHANGE_TIMEOUT_MS = 30_000;
/** Where a message is searched for: the latest tasks of its context, and the latest messages of each. */
const SEARCHED_TASKS = 50;
const SEARCHED_MESSAGES = 50;

export interface RemoteAgent {
  streaming: boolean;
  /** See `createTaskView`. */
  losesAppend: boolean;
  /** A stream if the agent supports streaming; else at most one response. */
  send(message: Message, signal: AbortSignal): AsyncIterable<StreamResponse>;
  subscribe(taskId: string, signal: AbortSignal): AsyncIterable<StreamResponse>;
  task(taskId: string, signal: AbortSignal): Promise<Task>;
  cancel(taskId: string, signal: AbortSignal): Promise<void>;
  /** The task that a message created; null if there is none, or if the agent cannot tell. */
  taskOf(message: Message, signal: AbortSignal): Promise<Task | null>;
  close(): void;
}

export interface RemoteOptions {
  fetch: typeof fetch;
  /** Opens a gRPC interface at its URL. */
  grpc: (url: string) => Promise<GrpcTransport>;
  streaming: boolean;
  acceptedOutputModes: string[];
  extensions: string[];
}

export async function connectRemote(
  card: AgentCard,
  chosen: AgentInterface,
  options: RemoteOptions,
): Promise<RemoteAgent> {
  const { client, close } = await createClient(card, chosen, options);
  const isLegacy = client.protocolVersion.startsWith('0.');
  const withSignal = (signal: AbortSignal): RequestOptions => ({
    signal,
    serviceParameters:
      options.extensions.length === 0 ? {} : { 'A2A-Extensions': options.extensions.join(',') },
  });
  const withTimeLimit = (signal: AbortSignal): RequestOptions =>
    withSignal(AbortSignal.any([signal, AbortSignal.timeout(EXCHANGE_TIMEOUT_MS)]));

  return {
    streaming: options.streaming,
    losesAppend: isLegacy && chosen.protocolBinding.toUpperCase() === 'HTTP+JSON',
    close,
    async *send(message, signal) {
      const request = sendRequestOf(message, options);
      if (options.streaming) yield* client.sendMessageStream(request, withSignal(signal));
      else yield await sendOnce(client, request, withSignal(signal));
    },
    subscribe: (id, signal) => client.resubscribeTask({ tenant: '', id }, withSignal(signal)),
    task: (id, signal) => client.getTask({ tenant: '', id }, withTimeLimit(signal)),
    async cancel(id, signal) {
      await client.cancelTask({ tenant: '', id, metadata: undefined }, withTimeLimit(signal));
    },
    async taskOf({ contextId, messageId }, signal) {
      // Version 0.3 cannot list tasks.
      if (isLegacy) return null;
      const { tasks } = await client.listTasks(newestTasks(contextId), withTimeLimit(signal));
      return tasks.find(({ history }) => history.some((sent) => sent.messageId === messageId)) ?? null;
    },
  };
}

/** The SDK's client for the chosen interface, and what closes its connections. */
async function createClient(
  card: AgentCard,
  chosen: AgentInterface,
  options: RemoteOptions,
): Promise<{ client: Client; close: () => void }> {
  const overHttp = { fetchImpl: options.fetch, legacyCompat: { enabled: true } };
  const opened: GrpcTransport[] = [];
  const overGrpc: TransportFactory = {
    protocolName: 'GRPC',
    async create(url) {
      const transport = await options.grpc(url);
      opened.push(transport);
      return transport;
    },
  };
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(overHttp), new RestTransportFactory(overHttp), overGrpc],
  });
  const client = await factory.createFromAgentCard({ ...card, supportedInterfaces: [chosen] });
  return { client, close: () => opened.forEach((transport) => transport.close()) };
}

function sendRequestOf(
  message: Message,
  { acceptedOutputModes, streaming }: RemoteOptions,
): SendMessageRequest {
  return {
    tenant: '',
    message,
    configuration: {
      acceptedOutputModes,
      taskPushNotificationConfig: undefined,
      returnImmediately: !streaming,
    },
    metadata: undefined,
  };
}

function newestTasks(contextId: string): ListTasksRequest {
  return {
    tenant: '',
    contextId,
    status: TaskState.TASK_STATE_UNSPECIFIED,
    pageToken: '',
    pageSize: SEARCHED_TASKS,
    historyLength: SEARCHED_MESSAGES,
    statusTimestampAfter: undefined,
  };
}

async function sendOnce(
  client: Client,
  request: SendMessageRequest,
  options: RequestOptions,
): Promise<StreamResponse> {
  const result = await client.sendMessage(request, options);
  return 'messageId' in result
    ? { payload: { $case: 'message', value: result } }
    : { payload: { $case: 'task', value: result } };
}
