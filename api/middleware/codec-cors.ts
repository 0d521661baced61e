import type { Middleware } from 'koa';

/** No other origin may ask there, whatever else it may. */
export const codecPath = /^(?:\/api\/v1)?\/temporal-codec\//;
const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** Lets pages of Temporal's UI, and no others, call the codec endpoint. */
export function codecCorsMiddleware(temporalUiUrl: string): Middleware {
  const allowed = originsOf(temporalUiUrl);
  return async (ctx, next) => {
    if (!codecPath.test(ctx.path)) return next();
    ctx.vary('Origin');
    const origin = ctx.get('origin');
    if (!allowed.has(origin)) return next();
    ctx.set('Access-Control-Allow-Origin', origin);
    if (ctx.method !== 'OPTIONS') return next();
    ctx.set('Access-Control-Allow-Methods', 'POST');
    ctx.set('Access-Control-Allow-Headers', 'Content-Type, X-Namespace');
    ctx.set('Access-Control-Max-Age', '600');
    ctx.status = 204;
  };
}

/** One's own machine has several names, and people type any of them. */
function originsOf(url: string): Set<string> {
  const { origin, hostname, protocol, port } = new URL(url);
  const same = loopback.includes(hostname) ? loopback.map((host) => `${protocol}//${host}${port ? `:${port}` : ''}`) : [];
  return new Set([origin, ...same]);
}
