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

/** Creates a middleware that rejects unknown paths and methods, and the routes. */
export function createRouter(endpoints: readonly Endpoint[], deps: RouterDeps): Middleware[] {
  const router = new Router({ sensitive: true });
  const refusals = new RefusalCounts();
  const { fork, requestsPerMinute: perMinute } = deps;
  for (const endpoint of endpoints.toSorted(byLiterals)) {
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1');
    router.register(
      [path, `/api/v1${path}`],
      [endpoint.method],
      [
        labelRoute(endpoint),
        auditRefusals({ ...deps, refusals }, endpoint),
        authMiddleware(deps, endpoint),
        requestsAtOnceMiddleware(deps.requestsAtOnce, endpoint),
        ...(perMinute > 0 ? [rateLimitMiddleware(fork, perMinute, endpoint)] : []),
        forgetCallers(deps, endpoint),
        runEndpoint(deps, endpoint),
      ],
    );
  }
  const unknownRoutes: Middleware = async (ctx, next) => {
    rejectUnknownRoute(router, ctx);
    await next();
  };
  // The router adds `params` and `router` to the context itself, although its type requires them beforehand.
  return [unknownRoutes, router.routes() as unknown as Middleware];
}

/** Labels the request with its route template, for metrics. */
function labelRoute({ path }: Endpoint): Middleware {
  return (ctx, next) => {
    ctx.state['route'] = path;
    return next();
  };
}

/** What never changes who a caller is; every other change makes this process read callers anew at once. */
const KEEPS_CALLERS =
  /^\/(agents|callbacks|decide|events|files|hitl|hooks|jobs|marketplace|notifications|runs|workflows)\b/;

/** Other processes, and this one too, also hear of changes by a notification, a moment later. */
function forgetCallers({ knownCallers }: AuthDeps, { method, path }: Endpoint): Middleware {
  if (method === 'GET' || KEEPS_CALLERS.test(path)) return (_ctx, next) => next();
  return async (_ctx, next) => {
    try {
      await next();
    } finally {
      knownCallers.clear();
    }
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
