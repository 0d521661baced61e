import type { Middleware } from 'koa';

/**
 * One middleware of several. Unlike Koa's own composition it makes no promise for a middleware that only
 * passes a request on, and is made once, not for each request.
 */
export function inOrder(steps: readonly Middleware[]): Middleware {
  const [first, ...others] = steps;
  if (first === undefined) return (_ctx, next) => next();
  if (others.length === 0) return first;
  const rest = inOrder(others);
  // The type promises only anything, but every middleware returns what it waits for.
  return (ctx, next) => first(ctx, () => rest(ctx, next) as Promise<unknown>);
}
