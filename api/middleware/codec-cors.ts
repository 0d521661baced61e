import type { Middleware } from 'koa';

/** Only Temporal's UI may call this path, whatever CORS_ORIGINS allows. */
export const CODEC_PATH = /^(?:\/api\/v1)?\/temporal-codec\//;
/** The UI sends its user's access token, and the ID token beside it. */
const ALLOWED_HEADERS = 'Authorization, Authorization-Extras, Content-Type, X-Namespace';
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** CORS for the codec endpoint: allows the origin of Temporal's UI and no other. */
export function codecCorsMiddleware(temporalUiUrl: string): Middleware {
  const allowed = originsOf(temporalUiUrl);
  return (ctx, next) => {
    if (!CODEC_PATH.test(ctx.path)) return next();
    ctx.vary('Origin');
    const origin = ctx.get('origin');
    if (!allowed.has(origin)) return next();
    ctx.set('Access-Control-Allow-Origin', origin);
    if (ctx.method !== 'OPTIONS') return next();
    ctx.set('Access-Control-Allow-Methods', 'POST');
    ctx.set('Access-Control-Allow-Headers', ALLOWED_HEADERS);
    ctx.set('Access-Control-Max-Age', '600');
    ctx.status = 204;
    return undefined;
  };
}

/** The URL's origin. For a loopback host, also the origins of its other names. */
function originsOf(url: string): Set<string> {
  const { origin, hostname, protocol, port } = new URL(url);
  const same = LOOPBACK.includes(hostname)
    ? LOOPBACK.map((host) => `${protocol}//${host}${port ? `:${port}` : ''}`)
    : [];
  return new Set([origin, ...same]);
}
