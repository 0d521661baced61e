/** HTTP+JSON 1.0. The SDK does not export its REST handler, so the routes and their ProtoJSON are here. */
import {
  A2A_CONTENT_TYPE,
  AgentCard,
  CancelTaskRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  Message,
} from '@a2a-js/sdk';
import { ServerCallContext } from '@a2a-js/sdk/server';
import type { Context } from 'koa';

import { isRecord } from '../../contracts/is-record.ts';
import { badRequest } from '../../domain/errors.ts';
import type { A2ACall } from './call.ts';
import { causeOf, restError } from './errors.ts';
import { checkListBounds } from './list-bounds.ts';
import { matchRoute, pathOf, type RestRoute, type RouteMatch } from './match-route.ts';
import { createRequestHandler } from './request-handler.ts';
import { sendEvents } from './sse.ts';

type Handler = ReturnType<typeof createRequestHandler>;

interface Request {
  handler: Handler;
  context: ServerCallContext;
  /** Path parameters, decoded. */
  params: string[];
  /** Parsed JSON body; `{}` if there is none. */
  body: Record<string, unknown>;
  query: Record<string, unknown>;
}

interface Route extends RestRoute {
  answer?: (request: Request) => Promise<unknown>;
  stream?: (request: Request) => AsyncGenerator<StreamResponse, void, undefined>;
}

const TASK = '/tasks/([^/:]+)';
const CONFIG = `${TASK}/pushNotificationConfigs/([^/:]+)`;

const ROUTES: Route[] = [
  { method: 'POST', path: /^\/message:send$/, answer: sendMessage },
  {
    method: 'POST',
    path: /^\/message:stream$/,
    stream: ({ handler, context, body }) =>
      handler.sendMessageStream(SendMessageRequest.fromJSON(body), context),
  },
  { method: 'GET', path: /^\/tasks$/, answer: listTasks },
  {
    method: 'GET',
    path: pathOf(TASK),
    answer: async ({ handler, context, params: [id], query }) =>
      Task.toJSON(await handler.getTask(GetTaskRequest.fromJSON({ ...query, id }), context)),
  },
  {
    method: 'POST',
    path: pathOf(`${TASK}:cancel`),
    answer: async ({ handler, context, params: [id], body }) =>
      Task.toJSON(await handler.cancelTask(CancelTaskRequest.fromJSON({ ...body, id }), context)),
  },
  { method: 'POST', path: pathOf(`${TASK}:subscribe`), stream: subscribe },
  { method: 'GET', path: pathOf(`${TASK}:subscribe`), stream: subscribe },
  { method: 'POST', path: pathOf(`${TASK}/pushNotificationConfigs`), answer: createConfig },
  { method: 'GET', path: pathOf(`${TASK}/pushNotificationConfigs`), answer: listConfigs },
  {
    method: 'GET',
    path: pathOf(CONFIG),
    answer: async ({ handler, context, params: [taskId = '', id = ''] }) =>
      TaskPushNotificationConfig.toJSON(
        await handler.getTaskPushNotificationConfig({ tenant: '', taskId, id }, context),
      ),
  },
  { method: 'DELETE', path: pathOf(CONFIG), answer: deleteConfig },
  {
    method: 'GET',
    path: /^\/extendedAgentCard$/,
    answer: async ({ handler, context }) =>
      AgentCard.toJSON(await handler.getAuthenticatedExtendedAgentCard({ tenant: '' }, context)),
  },
];

type Match = RouteMatch<Route>;

export const matchRest = (method: string, path: string): Match => matchRoute(ROUTES, method, path);

export async function answerRest(
  ctx: Context,
  { route, params }: Match,
  body: unknown,
  call: A2ACall,
): Promise<void> {
  try {
    if (!isRecord(body)) throw badRequest('malformed_json', 'The body must be a JSON object.');
    checkListBounds(body);
    const context = new ServerCallContext({
      requestedExtensions: [...call.extensions],
      user: { isAuthenticated: true, userName: call.actor.username },
      requestedVersion: call.version,
    });
    const request: Request = {
      handler: createRequestHandler(call),
      context,
      params,
      body,
      query: readQuery(ctx),
    };
    if (route.stream) {
      const source = route.stream(request);
      await sendEvents(ctx, {
        events: toJson(source),
        lastId: () => call.lastItem.id,
        onError: (error) => restError(causeOf(call, error), '1.0').body,
      });
      return;
    }
    sendRest(ctx, 200, (await route.answer?.(request)) ?? {});
  } catch (error) {
    const failure = restError(causeOf(call, error), '1.0');
    sendRest(ctx, failure.status, failure.body);
  }
}

/** Sends `application/a2a+json`, or plain JSON if the client accepts only that. */
export function sendRest(ctx: Context, status: number, body: unknown): void {
  ctx.status = status;
  ctx.body = JSON.stringify(body);
  const accept = ctx.get('accept');
  ctx.set(
    'Content-Type',
    accept === '' || ctx.accepts(A2A_CONTENT_TYPE) ? A2A_CONTENT_TYPE : 'application/json',
  );
}

async function sendMessage({ handler, context, body }: Request): Promise<unknown> {
  const result = await handler.sendMessage(SendMessageRequest.fromJSON(body), context);
  return 'messageId' in result ? { message: Message.toJSON(result) } : { task: Task.toJSON(result) };
}

async function listTasks({ handler, context, query }: Request): Promise<unknown> {
  const params = ListTasksRequest.fromJSON(query);
  const { tasks, ...page } = await handler.listTasks(params, context);
  const json = ListTasksResponse.toJSON({ tasks, ...page }) as { tasks?: Record<string, unknown>[] };
  const listed = (json.tasks ?? []).map((task) =>
    params.includeArtifacts ? { ...task, artifacts: task['artifacts'] ?? [] } : task,
  );
  return { ...page, tasks: listed };
}

function subscribe({
  handler,
  context,
  params: [id = ''],
}: Request): AsyncGenerator<StreamResponse, void, undefined> {
  return handler.resubscribe({ tenant: '', id }, context);
}

async function createConfig({ handler, context, params: [taskId = ''], body }: Request): Promise<unknown> {
  return TaskPushNotificationConfig.toJSON(
    await handler.createTaskPushNotificationConfig(
      TaskPushNotificationConfig.fromJSON({ ...body, taskId }),
      context,
    ),
  );
}

async function listConfigs({ handler, context, params: [taskId = ''] }: Request): Promise<unknown> {
  const { configs, nextPageToken } = await handler.listTaskPushNotificationConfigs(
    { tenant: '', taskId, pageSize: 0, pageToken: '' },
    context,
  );
  return {
    configs: [],
    ...(ListTaskPushNotificationConfigsResponse.toJSON({ configs, nextPageToken }) as object),
  };
}

/** Answers `{}` instead of an empty 204: the Python client always parses JSON. */
async function deleteConfig({ handler, context, params: [taskId = '', id = ''] }: Request): Promise<unknown> {
  await handler.deleteTaskPushNotificationConfig({ tenant: '', taskId, id }, context);
  return {};
}

async function* toJson(
  source: AsyncGenerator<StreamResponse, void, undefined>,
): AsyncGenerator<unknown, void, undefined> {
  try {
    for await (const event of source) yield StreamResponse.toJSON(event);
  } finally {
    await source.return();
  }
}

/** Query parameters as request fields. The SDK parses numbers from text itself, but not booleans. */
function readQuery(ctx: Context): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(ctx.query).flatMap(([name, given]) => {
      const value = Array.isArray(given) ? given[0] : given;
      if (value === undefined) return [];
      return [[name, value === 'true' ? true : value === 'false' ? false : value]];
    }),
  );
}
