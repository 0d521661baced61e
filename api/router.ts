/** Turns endpoint declarations into routes, each below `/` and `/api/v1`. */
import Router from '@koa/router';
import type { Context, Middleware } from 'koa';

import { AppError, notFound } from '../domain/errors.ts';
import type { Endpoint } from './endpoint.ts';
import { auditRefusals, RefusalCounts } from './middleware/audit-refusals.ts';
import { authMiddleware, type AuthDeps } from './middleware/auth.ts';
import { requestsAtOnceMiddleware, type RequestsAtOnce } from './middleware/requests-at-once.ts';
import { rateLimitMiddleware } from './middleware/rate-limit.ts';
import { runEndpoint, type RunDeps } from './middleware/run-endpoint.ts';

export interface RouterDeps extends AuthDeps, RunDeps {
  /** Limit per user; 0 means no limit. */
  requestsPerMinute: number;
  requestsAtOnce: RequestsAtOnce;
}

/**
 * Creates the middleware that finds a request's endpoint, and rejects unknown paths and methods. The library
 * tries every route in turn, so each first segment has a router of its own.
 */
export function createRouter(endpoints: readonly Endpoint[], deps: RouterDeps): Middleware {
  const routers = new Map<string, Group>();
  const refusals = new RefusalCounts();
  const { fork, requestsPerMinute: perMinute } = deps;
  for (const endpoint of endpoints.toSorted(byLiterals)) {
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1');
    const steps = [
      labelRoute(endpoint),
      auditRefusals({ ...deps, refusals }, endpoint),
      authMiddleware(deps, endpoint),
      requestsAtOnceMiddleware(deps.requestsAtOnce, endpoint),
      ...(perMinute > 0 ? [rateLimitMiddleware(fork, perMinute, endpoint)] : []),
      runEndpoint(deps, endpoint),
    ];
    for (const place of [path, `/api/v1${path}`])
      groupOf(routers, place).router.register(place, [endpoint.method], steps);
  }
  return (ctx, next) => {
    const group = routers.get(firstOf(ctx.path));
    if (group === undefined) throw notFound('path');
    rejectUnknownRoute(group.router, ctx);
    return group.dispatch(ctx, next);
  };
}

/** The routes that begin with the same segment. */
interface Group {
  router: Router;
  dispatch: Middleware;
}

function groupOf(routers: Map<string, Group>, path: string): Group {
  const first = firstOf(path);
  // A parameter would be in no request's path.
  if (first.includes(':')) throw new Error(`The path ${path} has to begin with a word.`);
  let group = routers.get(first);
  if (group === undefined) {
    const router = new Router({ sensitive: true });
    // The router adds `params` and `router` to the context, although its type requires them beforehand.
    group = { router, dispatch: router.routes() as unknown as Middleware };
    routers.set(first, group);
  }
  return group;
}

/** `/agents` or `/api/v1/agents` of a path below it. */
function firstOf(path: string): string {
  return /^\/(?:api\/v1\/)?[^/]*/.exec(path)?.[0] ?? '';
}

/** Labels the request with its route template, for metrics. */
function labelRoute({ path }: Endpoint): Middleware {
  return (ctx, next) => {
    ctx.state['route'] = path;
    return next();
  };
}

/** Sorts `/users/me` before `/users/{id}`. */
function byLiterals(left: Endpoint, right: Endpoint): number {
  const key = (endpoint: Endpoint) => endpoint.path.replaceAll(/\{\w+\}/g, '\u{10ffff}');
  return key(left) < key(right) ? -1 : 1;
}

/**
 * @throws 404 if no path matches; 405 if the most literal match has other methods, since `me` in `/users/me`
 * is not a user's id
 */
function rejectUnknownRoute(router: Router, ctx: Context): void {
  const layers = router.match(ctx.path, ctx.method).path;
  const methods = layers.filter((layer) => layer.path === layers[0]?.path).flatMap((layer) => layer.methods);
  if (methods.length === 0) {
    throw notFound('path');
  }
  if (!methods.includes(ctx.method)) {
    const allow = [...new Set(methods)].toSorted().join(', ');
    throw new AppError('method_not_allowed', 'method_not_allowed', `This path supports ${allow}.`, {
      headers: { Allow: allow },
    });
  }
}
