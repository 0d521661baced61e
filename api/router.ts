/** Turns endpoint declarations into routes, each below `/` and `/api/v1`. */
import Router from '@koa/router';
import type { Middleware } from 'koa';

import { AppError, notFound } from '../domain/errors.ts';
import type { Endpoint } from './endpoint.ts';
import { auditRefusals, RefusalCounts } from './middleware/audit-refusals.ts';
import { authMiddleware, type AuthDeps } from './middleware/auth.ts';
import { inOrder } from './middleware/in-order.ts';
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
 * tries every route in turn, so routes with the same first segment and as many others have a router of their
 * own, which only matches.
 */
export function createRouter(endpoints: readonly Endpoint[], deps: RouterDeps): Middleware {
  const routers = new Map<string, Router>();
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
    const run = inOrder(steps);
    for (const place of [path, `/api/v1${path}`])
      routerOf(routers, place).register(place, [endpoint.method], run);
  }
  return (ctx, next) => {
    const { path } = ctx;
    const router = routers.get(groupOf(path));
    if (router === undefined) throw notFound('path');
    const layer = findLayer(router, path, ctx.method);
    ctx['params'] = layer.params(path, layer.captures(path));
    const [run] = layer.stack;
    // The router's own context has `params` and more, which no step of ours needs.
    return (run as unknown as Middleware)(ctx, next);
  };
}

function routerOf(routers: Map<string, Router>, path: string): Router {
  // A parameter would be in no request's path.
  if (firstOf(path).includes(':')) throw new Error(`The path ${path} has to begin with a word.`);
  const group = groupOf(path);
  let router = routers.get(group);
  if (router === undefined) {
    router = new Router({ sensitive: true });
    routers.set(group, router);
  }
  return router;
}

/** The first segment, and the number of all segments: a parameter is one. */
function groupOf(path: string): string {
  const end = path.endsWith('/') ? path.length - 1 : path.length;
  let count = 0;
  for (let at = path.indexOf('/'); at >= 0 && at < end; at = path.indexOf('/', at + 1)) count += 1;
  return `${firstOf(path)} ${count}`;
}

/** `/agents` or `/api/v1/agents` of a path below it. */
function firstOf(path: string): string {
  return /^\/(?:api\/v1\/)?[^/]*/.exec(path)?.[0] ?? '';
}

type Layer = ReturnType<Router['match']>['path'][number];

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
function findLayer(router: Router, path: string, method: string): Layer {
  const layers = router.match(path, method).path;
  const [first] = layers;
  if (first === undefined) throw notFound('path');
  const ofPath = layers.filter((layer) => layer.path === first.path);
  const found = ofPath.find((layer) => layer.methods.includes(method));
  if (found !== undefined) return found;
  const allow = [...new Set(ofPath.flatMap((layer) => layer.methods))].toSorted().join(', ');
  throw new AppError('method_not_allowed', 'method_not_allowed', `This path supports ${allow}.`, {
    headers: { Allow: allow },
  });
}
