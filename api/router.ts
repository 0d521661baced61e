/** Turns endpoint declarations into routes, each below `/` and `/api/v1`. */
import Router from '@koa/router';
import type { Context, Middleware } from 'koa';

import { AppError, notFound } from '../domain/errors.ts';
import type { Endpoint } from './endpoint.ts';
import { authMiddleware, type AuthDeps } from './middleware/auth.ts';
import { runEndpoint, type RunDeps } from './middleware/run-endpoint.ts';

/** The routes, and what answers where none fits. */
export function createRouter(endpoints: readonly Endpoint[], deps: AuthDeps & RunDeps): Middleware[] {
  const router = new Router({ sensitive: true });
  for (const endpoint of endpoints.toSorted(byLiterals)) {
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1');
    router.register([path, `/api/v1${path}`], [endpoint.method], [authMiddleware(deps, endpoint), runEndpoint(deps, endpoint)]);
  }
  // Routes never call on: whoever comes past them found none.
  // The router adds `params` and `router` to the context itself; its type asks for them beforehand.
  return [router.routes() as unknown as Middleware, async (ctx) => {
    throw refusal(router, ctx);
  }];
}

/** `/users/me` goes before `/users/{id}`. */
function byLiterals(one: Endpoint, other: Endpoint): number {
  const key = (endpoint: Endpoint) => endpoint.path.replaceAll(/\{\w+\}/g, '\u{10ffff}');
  return key(one) < key(other) ? -1 : 1;
}

/** 405 where the path exists for other methods, else 404. */
function refusal(router: Router, ctx: Context): AppError {
  const methods = router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods);
  if (methods.length === 0) {
    return notFound('path');
  }
  const allow = [...new Set(methods)].toSorted().join(', ');
  return new AppError('method_not_allowed', 'method_not_allowed', `This path takes ${allow}.`, { headers: { Allow: allow } });
}
