/**
 * A remote A2A agent on this machine: the SDK's own request handler behind a plain HTTP server, over
 * JSON-RPC, REST and gRPC of 1.0 and 0.3 (REST of 0.3 in ProtoJSON, as the Python and JS servers of 0.3 have
 * it). The first word of the message's text selects its behaviour.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Role,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskState,
  type AgentCard,
  type Message,
  type Part,
} from '@a2a-js/sdk';
import {
  LegacyJsonRpcTransportHandler,
  LegacyRestTransportHandler,
  toLegacyHTTPError,
} from '@a2a-js/sdk/compat/v0_3/server';
import {
  A2AError,
  restStatusFor,
  toJsonRpcError,
  toRestErrorBody,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import {
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
  type AgentExecutor,
  type RequestContext,
} from '@a2a-js/sdk/server';
import { serveGrpc, type GrpcAgent } from './grpc-agent.ts';
import { responseToProto, sendParamsFromProto, taskToProto } from '../../api/a2a/legacy-proto.ts';
import { keepIdle } from './http-server.ts';

export interface RemoteA2aAgent {
  url: string;
  /** All messages that reached the agent, in order. */
  messages: Message[];
  /** Ids of the tasks that it began. */
  tasks: Set<string>;
  cancelled: string[];
  /** Paths with their JSON-RPC method. */
  requests: { path: string; method: string; headers: Record<string, string | string[] | undefined> }[];
  /** Ends every open connection, as a restarting proxy does. */
  drop(): void;
  /** Lets `hold` tasks continue. */
  release(): void;
  close(): Promise<void>;
}

export interface RemoteOptions {
  version?: '1.0' | '0.3';
  binding?: 'JSONRPC' | 'HTTP+JSON' | 'GRPC';
  streaming?: boolean;
  /** False: the agent streams, but a stream cannot be resumed. */
  resubscribe?: boolean;
  /** Required as `Authorization`. */
  authorization?: () => string;
  port?: number;
  inputModes?: string[];
  cardPath?: string;
}

const text = (value: string): Part => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: '',
});
const data = (value: unknown): Part => ({
  content: { $case: 'data', value },
  metadata: undefined,
  filename: '',
  mediaType: '',
});
const raw = (bytes: string, filename: string, mediaType: string): Part => ({
  content: { $case: 'raw', value: Buffer.from(bytes) },
  metadata: undefined,
  filename,
  mediaType,
});

export async function startRemoteAgent(options: RemoteOptions = {}): Promise<RemoteA2aAgent> {
  const { version = '1.0', binding = 'JSONRPC', streaming = true } = options;
  const state: Omit<RemoteA2aAgent, 'url' | 'drop' | 'release' | 'close'> = {
    messages: [],
    tasks: new Set(),
    cancelled: [],
    requests: [],
  };
  const gates: (() => void)[] = [];
  const executor = script(state, () => new Promise<void>((resolve) => gates.push(resolve)));
  let url = '';
  let grpc: GrpcAgent | null = null;
  const card = (): AgentCard =>
    cardOf(grpc?.url ?? `${url}/rpc`, {
      version,
      binding,
      streaming,
      inputModes: options.inputModes ?? ['text/plain', 'application/json'],
    });
  let handlers: ReturnType<typeof makeHandlers> | null = null;
  const server = createServer(keepIdle, (request, response) => {
    void serve(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
    const path = request.url ?? '';
    state.requests.push({ path, method: body.method ?? request.method, headers: request.headers });
    if (options.authorization && request.headers.authorization !== options.authorization()) {
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"message":"who are you?"}');
      return;
    }
    if (path === (options.cardPath ?? '/.well-known/agent-card.json'))
      return json(response, version === '1.0' ? card() : legacyCard(card()));
    handlers ??= makeHandlers(card(), executor, options);
    if (!path.startsWith('/rpc')) return json(response, { error: 'nothing here' }, 404);
    if (binding === 'HTTP+JSON')
      return (version === '1.0' ? rest : legacyRest)(handlers.handler, path.slice(4), body, response);
    const result = await handlers[version === '1.0' ? 'rpc' : 'legacyRpc'].handle(body, contextOf(version));
    if (!(Symbol.asyncIterator in result)) return json(response, result);
    await events(response, result).catch((error: unknown) => {
      if (response.headersSent) throw error;
      json(response, { jsonrpc: '2.0', id: body.id, error: toJsonRpcError(error) });
    });
  };
  url = await listen(server, options.port ?? 0);
  if (binding === 'GRPC') {
    // The card is built when the address is known; the handler reads its version and binding.
    grpc = await serveGrpc(
      makeHandlers(card(), executor, options).handler,
      ({ method, tenant, metadata }) => state.requests.push({ path: tenant, method, headers: metadata }),
      ({ authorization }) => options.authorization !== undefined && authorization !== options.authorization(),
    );
  }
  return {
    ...state,
    url,
    drop: () => {
      server.closeAllConnections();
      grpc?.drop();
    },
    release: () => gates.splice(0).forEach((open) => open()),
    close: async () => {
      gates.splice(0).forEach((open) => open());
      await grpc?.close();
      await new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      });
    },
  };
}

function makeHandlers(card: AgentCard, executor: AgentExecutor, { resubscribe = true }: RemoteOptions) {
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  if (!resubscribe) {
    handler.resubscribe = () => {
      throw new UnsupportedOperationError('there is no way back to a stream');
    };
  }
  return {
    handler,
    rpc: new JsonRpcTransportHandler(handler),
    legacyRpc: new LegacyJsonRpcTransportHandler(handler),
  };
}

const contextOf = (requestedVersion: string) => new ServerCallContext({ requestedVersion });

async function rest(
  handler: DefaultRequestHandler,
  path: string,
  body: unknown,
  response: ServerResponse,
): Promise<void> {
  const context = contextOf('1.0');
  const [plain = ''] = path.split('?');
  const id = decodeURIComponent(/^\/tasks\/([^/:]+)/.exec(plain)?.[1] ?? '');
  try {
    if (plain === '/message:send') {
      const sent = await handler.sendMessage(SendMessageRequest.fromJSON(body), context);
      const payload =
        'messageId' in sent
          ? { $case: 'message' as const, value: sent }
          : { $case: 'task' as const, value: sent };
      return json(response, SendMessageResponse.toJSON({ payload }));
    }
    if (plain === '/message:stream')
      return await events(
        response,
        handler.sendMessageStream(SendMessageRequest.fromJSON(body), context),
        StreamResponse.toJSON,
      );
    if (plain.endsWith(':subscribe'))
      return await events(response, handler.resubscribe({ tenant: '', id }, context), StreamResponse.toJSON);
    if (plain.endsWith(':cancel'))
      return json(
        response,
        Task.toJSON(await handler.cancelTask({ tenant: '', id, metadata: undefined }, context)),
      );
    if (plain === '/tasks') return json(response, { tasks: [] });
    return json(response, Task.toJSON(await handler.getTask({ tenant: '', id }, context)));
  } catch (error) {
    const status = restStatusFor(error);
    json(response, toRestErrorBody(error, status), status);
  }
}

async function legacyRest(
  handler: DefaultRequestHandler,
  path: string,
  body: Record<string, unknown>,
  response: ServerResponse,
): Promise<void> {
  const legacy = new LegacyRestTransportHandler(handler);
  const context = contextOf('0.3');
  const [plain = ''] = path.split('?');
  const id = decodeURIComponent(/^\/v1\/tasks\/([^/:]+)/.exec(plain)?.[1] ?? '');
  // A client's message has this shape, or the test fails.
  const params = () => sendParamsFromProto(body) as unknown as Parameters<typeof legacy.sendMessage>[0];
  try {
    if (plain === '/v1/message:send')
      return json(response, responseToProto(await legacy.sendMessage(params(), context)));
    if (plain === '/v1/message:stream')
      return await events(response, await legacy.sendMessageStream(params(), context), responseToProto);
    if (plain.endsWith(':subscribe'))
      return await events(response, await legacy.resubscribe(id, context), responseToProto);
    if (plain.endsWith(':cancel')) return json(response, taskToProto(await legacy.cancelTask(id, context)));
    if (/^\/v1\/tasks\/[^/:]+$/.test(plain))
      return json(response, taskToProto(await legacy.getTask(id, context)));
    json(response, { code: -32601, message: 'no such path' }, 404);
  } catch (error) {
    json(
      response,
      error instanceof A2AError ? toLegacyHTTPError(error) : { code: -32603, message: String(error) },
      restStatusFor(error),
    );
  }
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

async function events<T>(
  response: ServerResponse,
  items: AsyncIterable<T>,
  encode: (item: T) => unknown = (item) => item,
): Promise<void> {
  const iterator = items[Symbol.asyncIterator]();
  // A refusal before the stream begins is an ordinary response.
  const first = await iterator.next();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  if (first.done) return void response.end();
  response.write(`data: ${JSON.stringify(encode(first.value))}\n\n`);
  for await (const item of { [Symbol.asyncIterator]: () => iterator })
    response.write(`data: ${JSON.stringify(encode(item))}\n\n`);
  response.end();
}

async function listen(server: Server, port: number): Promise<string> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
}

/** The behaviours of the agent, one for each word. */
function script(
  state: Pick<RemoteA2aAgent, 'messages' | 'tasks' | 'cancelled'>,
  held: () => Promise<void>,
): AgentExecutor {
  const stopped = new Set<string>();
  return {
    async execute(context, bus) {
      const { userMessage, taskId, contextId } = context;
      state.messages.push(userMessage);
      const words = userMessage.parts
        .flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
        .join('\n');
      const first = state.messages.find((message) => message.contextId === contextId) ?? userMessage;
      const [word = ''] = (context.task ? textIn(context.task.history[0] ?? first) : words).split(' ');
      if (word === 'message')
        return bus.publish({ kind: 'message', data: agentMessage(context, [text('just a word')]) });
      state.tasks.add(taskId);
      const task: Task = context.task ?? {
        id: taskId,
        contextId,
        status: undefined,
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      };
      bus.publish({
        kind: 'task',
        data: { ...task, status: statusOf(context, TaskState.TASK_STATE_SUBMITTED) },
      });
      const status = (of: TaskState, parts: Part[] = []): void =>
        bus.publish({
          kind: 'statusUpdate',
          data: { taskId, contextId, status: statusOf(context, of, parts), metadata: undefined },
        });
      const artifact = (artifactId: string, parts: Part[], append = false): void =>
        bus.publish({
          kind: 'artifactUpdate',
          data: {
            taskId,
            contextId,
            artifact: {
              artifactId,
              name: artifactId,
              description: '',
              parts,
              metadata: undefined,
              extensions: [],
            },
            append,
            lastChunk: false,
            metadata: undefined,
          },
        });
      const done = (): void => status(TaskState.TASK_STATE_COMPLETED);
      status(TaskState.TASK_STATE_WORKING);
      switch (word) {
        case 'pieces':
          artifact('story', [text('Once ')]);
          artifact('story', [text('upon ')], true);
          await sleep(20);
          artifact('story', [text('a time')], true);
          return done();
        case 'two':
          artifact('a', [text('first')]);
          artifact('b', [data({ second: true })]);
          return done();
        case 'file':
          artifact('report', [
            text('see the file'),
            raw('a,b\n1,2\n', 'table.csv', 'text/csv'),
            {
              ...text(''),
              content: { $case: 'url', value: 'https://files.example/x.png' },
              filename: 'x.png',
              mediaType: 'image/png',
            },
          ]);
          return done();
        case 'status':
          return status(TaskState.TASK_STATE_COMPLETED, [text('said by status')]);
        case 'fail':
          return status(TaskState.TASK_STATE_FAILED, [text('the oven is cold')]);
        case 'reject':
          return status(TaskState.TASK_STATE_REJECTED, [text('not my job')]);
        case 'auth':
          status(TaskState.TASK_STATE_AUTH_REQUIRED, [text('log in at example.org')]);
          await held();
          if (stopped.has(taskId)) return;
          artifact('granted', [text('what only you may see')]);
          return done();
        case 'hold':
          artifact('part', [text('before ')]);
          await held();
          if (stopped.has(taskId)) return;
          artifact('part', [text('and after')], true);
          return done();
        case 'slow':
          await sleep(1_500);
          if (stopped.has(taskId)) return;
          artifact('slow', [text('at last')]);
          return done();
        case 'ask': {
          const turn = context.task
            ? context.task.history.filter(({ role }) => role === Role.ROLE_USER).length - 1
            : 0;
          if (turn === 0)
            return status(TaskState.TASK_STATE_INPUT_REQUIRED, [text('Which city?\nFor the hotel.')]);
          if (turn === 1)
            return status(TaskState.TASK_STATE_INPUT_REQUIRED, [
              text('And the date?'),
              data({
                type: 'form',
                form: { type: 'object', properties: { date: { type: 'string' } }, required: ['date'] },
              }),
            ]);
          artifact('booking', [data({ answers: userMessage.parts.map(({ content }) => content?.value) })]);
          return done();
        }
        case 'approve': {
          if (!context.task)
            return status(TaskState.TASK_STATE_INPUT_REQUIRED, [
              text('May I?'),
              data({
                type: 'hitl_request',
                id: 'r-1',
                title: 'May I ${ .spend }?',
                decisions: [
                  { id: 'yes', label: 'Yes' },
                  { id: 'no', label: 'No', requires_comment: true },
                ],
              }),
            ]);
          artifact('answer', [data(userMessage.parts[0]?.content?.value)]);
          return done();
        }
        default:
          artifact('echo', [
            data({
              said: words,
              parts: userMessage.parts.map(({ content, filename, mediaType }) => ({
                kind: content?.$case,
                value: content?.$case === 'raw' ? Buffer.from(content.value).toString() : content?.value,
                filename,
                mediaType,
              })),
              metadata: userMessage.metadata ?? null,
              context: userMessage.contextId,
            }),
          ]);
          return done();
      }
    },
    async cancelTask(taskId, bus) {
      state.cancelled.push(taskId);
      stopped.add(taskId);
      bus.publish({
        kind: 'statusUpdate',
        data: {
          taskId,
          contextId: '',
          status: {
            state: TaskState.TASK_STATE_CANCELED,
            message: undefined,
            timestamp: new Date().toISOString(),
          },
          metadata: undefined,
        },
      });
    },
  };
}

function textIn(message: Message): string {
  return message.parts
    .flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
    .join('\n');
}

let counter = 0;

function agentMessage(
  { taskId, contextId }: Pick<RequestContext, 'taskId' | 'contextId'>,
  parts: Part[],
): Message {
  return {
    messageId: `agent-${++counter}`,
    taskId,
    contextId,
    role: Role.ROLE_AGENT,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function statusOf(context: RequestContext, state: TaskState, parts: Part[] = []) {
  return {
    state,
    message: parts.length === 0 ? undefined : agentMessage(context, parts),
    timestamp: new Date().toISOString(),
  };
}

function cardOf(
  url: string,
  {
    version,
    binding,
    streaming,
    inputModes,
  }: { version: string; binding: string; streaming: boolean; inputModes: string[] },
): AgentCard {
  return {
    name: 'Remote',
    description: 'A remote agent',
    version: '1.0.0',
    provider: undefined,
    supportedInterfaces: [
      {
        url,
        protocolBinding: binding,
        protocolVersion: version,
        tenant: binding === 'GRPC' ? 'the-tenant' : '',
      },
    ],
    capabilities: { streaming, pushNotifications: false, extensions: [], extendedAgentCard: false },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: inputModes,
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [
      {
        id: 'books',
        name: 'Books',
        description: '',
        tags: [],
        examples: [],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    signatures: [],
  };
}

function legacyCard(card: AgentCard): Record<string, unknown> {
  const [first] = card.supportedInterfaces;
  return {
    name: card.name,
    description: card.description,
    version: card.version,
    protocolVersion: '0.3.0',
    url: first?.url,
    preferredTransport: first?.protocolBinding,
    capabilities: { streaming: card.capabilities?.streaming },
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: [],
  };
}
