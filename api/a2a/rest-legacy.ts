/**
 * HTTP+JSON of 0.3, below `/v1`, on the SDK's transport handler. Responses use the dialect of the task's
 * client.
 */
import { LegacyRestTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { ServerCallContext } from '@a2a-js/sdk/server';
import type { Context } from 'koa';

import { isRecord } from '../../contracts/is-record.ts';
import { badRequest } from '../../domain/errors.ts';
import type { A2ACall } from './call.ts';
import { causeOf, restError } from './errors.ts';
import { checkLegacyParams } from './legacy-params.ts';
import {
  isProtoMessage,
  pushConfigFrom,
  pushConfigToProto,
  responseToProto,
  sendParamsFromProto,
  snake,
  spellsLikeProto,
  taskToProto,
} from './legacy-proto.ts';
import { decodedOnce, encodedTwice, isPythonClient } from './python-files.ts';
import { checkListBounds } from './list-bounds.ts';
import { matchRoute, pathOf, type RestRoute, type RouteMatch } from './match-route.ts';
import { createRequestHandler } from './request-handler.ts';
import { sendEvents } from './sse.ts';

interface Request {
  rest: LegacyRestTransportHandler;
  context: ServerCallContext;
  ctx: Context;
  call: A2ACall;
  params: string[];
  body: Record<string, unknown>;
}

interface Route extends RestRoute {
  answer?: (request: Request) => Promise<unknown>;
  stream?: (request: Request) => Promise<AsyncGenerator<unknown, void, undefined>>;
}

const TASK = '/v1/tasks/([^/:]+)';
const CONFIG = `${TASK}/pushNotificationConfigs/([^/:]+)`;

const ROUTES: Route[] = [
  { method: 'GET', path: /^\/v1\/card$/, answer: extendedCard },
  { method: 'POST', path: /^\/v1\/message:send$/, answer: sendMessage },
  { method: 'POST', path: /^\/v1\/message:stream$/, stream: streamMessage },
  { method: 'GET', path: pathOf(TASK), answer: getTask },
  {
    method: 'POST',
    path: pathOf(`${TASK}:cancel`),
    answer: async (request) =>
      taskIn(request, await request.rest.cancelTask(first(request), request.context)),
  },
  { method: 'POST', path: pathOf(`${TASK}:subscribe`), stream: subscribe },
  { method: 'GET', path: pathOf(`${TASK}:subscribe`), stream: subscribe },
  { method: 'POST', path: pathOf(`${TASK}/pushNotificationConfigs`), answer: setConfig },
  { method: 'GET', path: pathOf(`${TASK}/pushNotificationConfigs`), answer: listConfigs },
  {
    method: 'GET',
    path: pathOf(CONFIG),
    answer: async (request) =>
      configIn(
        request,
        await request.rest.getTaskPushNotificationConfig(
          first(request),
          request.params[1] ?? '',
          request.context,
        ),
      ),
  },
  { method: 'DELETE', path: pathOf(CONFIG), answer: deleteConfig },
];

type Match = RouteMatch<Route>;

export const matchLegacyRest = (method: string, path: string): Match => matchRoute(ROUTES, method, path);

export async function answerLegacyRest(
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
      requestedVersion: '0.3',
    });
    const request: Request = {
      rest: new LegacyRestTransportHandler(createRequestHandler(call)),
      context,
      ctx,
      call,
      params,
      body,
    };
    if (route.stream) {
      const events = await route.stream(request);
      await sendEvents(ctx, {
        events,
        lastId: () => call.lastItem.id,
        onError: (error) => restError(causeOf(call, error), '0.3').body,
      });
      return;
    }
    sendLegacy(ctx, 200, (await route.answer?.(request)) ?? {});
  } catch (error) {
    const failure = restError(causeOf(call, error), '0.3');
    sendLegacy(ctx, failure.status, failure.body);
  }
}

export function sendLegacy(ctx: Context, status: number, body: unknown): void {
  ctx.status = status;
  ctx.body = JSON.stringify(body);
  ctx.set('Content-Type', 'application/json');
}

type SendParams = Parameters<LegacyRestTransportHandler['sendMessage']>[0];

/**
 * The card gives security schemes in both dialects, because a GET does not show which one its client reads.
 */
async function extendedCard({ rest, context }: Request): Promise<unknown> {
  const card: object = await rest.getAuthenticatedExtendedAgentCard(context);
  const schemes =
    'securitySchemes' in card && isRecord(card.securitySchemes) ? Object.entries(card.securitySchemes) : [];
  return {
    ...card,
    securitySchemes: Object.fromEntries(
      schemes.map(([name, scheme]) => {
        const { type, ...details } = isRecord(scheme) ? scheme : {};
        return [name, { type, ...details, ...(type === 'http' ? { httpAuthSecurityScheme: details } : {}) }];
      }),
    ),
  };
}

/** The checked parameters in the JSON dialect, and whether the client sent ProtoJSON. */
function sendParams({ body, ctx }: Request): { params: SendParams; proto: boolean } {
  const proto = isProtoMessage(body['message']) || isProtoMessage(body['request']);
  const message = body['message'] ?? body['request'];
  const params = proto
    ? sendParamsFromProto({
        ...body,
        message: isPythonClient(ctx.get('user-agent')) ? decodedOnce(message) : message,
      })
    : body;
  checkLegacyParams('message/send', params);
  return { params: params as unknown as SendParams, proto };
}

async function sendMessage(request: Request): Promise<unknown> {
  const { params, proto } = sendParams(request);
  const result = await request.rest.sendMessage(params, request.context);
  await rememberDialect(request, result, proto);
  if (!proto) return result;
  const response = inProto(request, result);
  return spellsLikeProto(request.body) ? snake(response) : response;
}

async function streamMessage(request: Request): Promise<AsyncGenerator<unknown, void, undefined>> {
  const { params, proto } = sendParams(request);
  const source = await request.rest.sendMessageStream(params, request.context);
  return inDialect(request, source, async (first) => {
    await rememberDialect(request, first, proto);
    return proto;
  });
}

async function subscribe(request: Request): Promise<AsyncGenerator<unknown, void, undefined>> {
  const source = await request.rest.resubscribe(first(request), request.context);
  return inDialect(request, source, () => speaksProto(request));
}

async function* inDialect(
  request: Request,
  source: AsyncGenerator<unknown, void, undefined>,
  dialect: (first: unknown) => Promise<boolean>,
): AsyncGenerator<unknown, void, undefined> {
  let proto: boolean | null = null;
  try {
    for await (const event of source) {
      proto ??= await dialect(event);
      const marked =
        isRecord(event) &&
        event['kind'] === 'status-update' &&
        isRecord(event['status']) &&
        ['input-required', 'auth-required'].includes(String(event['status']['state']))
          ? { ...event, final: true }
          : event;
      yield proto ? inProto(request, marked) : marked;
    }
  } finally {
    await source.return();
  }
}

async function getTask(request: Request): Promise<unknown> {
  const { historyLength, history_length: snakeCased } = request.ctx.query;
  const length = historyLength ?? snakeCased;
  return taskIn(
    request,
    await request.rest.getTask(first(request), request.context, Array.isArray(length) ? length[0] : length),
  );
}

async function setConfig(request: Request): Promise<unknown> {
  const params = pushConfigFrom(request.body, first(request));
  checkLegacyParams('tasks/pushNotificationConfig/set', params);
  return configIn(
    request,
    await request.rest.setTaskPushNotificationConfig(
      params as unknown as Parameters<LegacyRestTransportHandler['setTaskPushNotificationConfig']>[0],
      request.context,
    ),
  );
}

async function listConfigs(request: Request): Promise<unknown> {
  const configs = await request.rest.listTaskPushNotificationConfigs(first(request), request.context);
  return (await speaksProto(request)) ? { configs: configs.map(pushConfigToProto) } : configs;
}

async function deleteConfig({ rest, context, params }: Request): Promise<unknown> {
  await rest.deleteTaskPushNotificationConfig(params[0] ?? '', params[1] ?? '', context);
  return {};
}

function inProto(request: Request, result: unknown): Record<string, unknown> {
  return encodeForClient(request, responseToProto(result));
}

function encodeForClient({ ctx }: Request, response: Record<string, unknown>): Record<string, unknown> {
  // encodedTwice() keeps the shape.
  return isPythonClient(ctx.get('user-agent'))
    ? (encodedTwice(response) as Record<string, unknown>)
    : response;
}

async function taskIn(request: Request, task: unknown): Promise<unknown> {
  return (await speaksProto(request)) ? encodeForClient(request, taskToProto(task)) : task;
}

async function configIn(request: Request, config: unknown): Promise<unknown> {
  return (await speaksProto(request)) ? pushConfigToProto(config) : config;
}

/** Stores the dialect of the task's last message, because a GET does not show its client's dialect. */
async function rememberDialect({ call }: Request, result: unknown, proto: boolean): Promise<void> {
  const id = isRecord(result) ? (result['kind'] === 'task' ? result['id'] : result['taskId']) : undefined;
  if (typeof id !== 'string') return;
  await call.deps.orm.em
    .fork()
    .execute('update a2a_task set proto_dialect = ? where id = ? and proto_dialect <> ?', [proto, id, proto]);
}

async function speaksProto(request: Request): Promise<boolean> {
  const [row] = await request.call.deps.orm.em
    .fork()
    .execute<{ proto_dialect: boolean }[]>('select proto_dialect from a2a_task where id::text = ?', [
      first(request).replaceAll('\0', ''),
    ]);
  return row?.proto_dialect ?? true;
}

function first({ params }: Request): string {
  return params[0] ?? '';
}
