/** Turns endpoint declarations into routes, each below `/` and `/api/v1`. */
import Router from '@koa/router';
import type { Context, Middleware } from 'koa';

import { AppError, notFound } from '../domain/errors.ts';
import type { Endpoint } from './endpoint.ts';
import { authMiddleware, type AuthDeps } from './middleware/auth.ts';
import { rateLimitMiddleware } from './middleware/rate-limit.ts';
import { runEndpoint, type RunDeps } from './middleware/run-endpoint.ts';

export interface RouterDeps extends AuthDeps, RunDeps {
  /** Of one user; 0: as many as they like. */
  requestsPerMinute: number;
}

/** What answers where no route fits, and the routes. */
export function createRouter(endpoints: readonly Endpoint[], deps: RouterDeps): Middleware[] {
  const router = new Router({ sensitive: true });
  const limits = deps.requestsPerMinute > 0 ? [rateLimitMiddleware(deps.fork, deps.requestsPerMinute)] : [];
  for (const endpoint of endpoints.toSorted(byLiterals)) {
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1');
    router.register([path, `/api/v1${path}`], [endpoint.method], [named(endpoint), authMiddleware(deps, endpoint), ...limits, runEndpoint(deps, endpoint)]);
  }
  const refuse: Middleware = async (ctx, next) => {
    refuseUnknown(router, ctx);
    await next();
  };
  // The router adds `params` and `router` to the context itself; its type asks for them beforehand.
  return [refuse, router.routes() as unknown as Middleware];
}

/** For figures about requests. */
function named({ path }: Endpoint): Middleware {
  return (ctx, next) => {
    ctx.state['route'] = path;
    return next();
  };
}

/** `/users/me` goes before `/users/{id}`. */
function byLiterals(one: Endpoint, other: Endpoint): number {
  const key = (endpoint: Endpoint) => endpoint.path.replaceAll(/\{\w+\}/g, '\u{10ffff}');
  return key(one) < key(other) ? -1 : 1;
}

/** 404 where no path fits; 405 where the most literal one that fits takes other methods: `/users/me` is no user's id. */
function refuseUnknown(router: Router, ctx: Context): void {
  const layers = router.match(ctx.path, ctx.method).path;
  const methods = layers.filter((layer) => layer.path === layers[0]?.path).flatMap((layer) => layer.methods);
  if (methods.length === 0) {
    throw notFound('path');
  }
  if (!methods.includes(ctx.method)) {
    const allow = [...new Set(methods)].toSorted().join(', ');
    throw new AppError('method_not_allowed', 'method_not_allowed', `This path takes ${allow}.`, { headers: { Allow: allow } });
  }
}
