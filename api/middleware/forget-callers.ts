/** After a request that may change accounts, this process reads callers and names of people anew. */
import type { Middleware } from 'koa';

import type { KnownCallers } from '../../domain/auth/known-callers.ts';
import type { KnownNames } from '../known-names.ts';

/** What never changes who a caller is, or what a caller may do. */
const KEEPS_CALLERS = new RegExp(
  '^(/api/v1)?/(a2a|agents|callbacks|decide|events|files|hitl|hooks|jobs|marketplace|mcp|notifications|' +
    'runs|v1|workflows)(/|$)',
);

/** A log-in at an issuer ends with a GET, and may change roles and groups. */
const LOG_IN = /^(\/api\/v1)?\/auth\/sso\//;

/**
 * Other processes, and this one too, also hear of changes by a notification, a moment later. It is for all
 * requests, also for those of other protocols, such as SCIM.
 */
export function forgetCallersMiddleware(known: {
  knownCallers: Pick<KnownCallers, 'clear'>;
  knownNames: Pick<KnownNames, 'clear'>;
}): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } finally {
      const isRead = ctx.method === 'GET' || ctx.method === 'HEAD' || ctx.method === 'OPTIONS';
      if (isRead ? LOG_IN.test(ctx.path) : !KEEPS_CALLERS.test(ctx.path)) {
        known.knownCallers.clear();
        known.knownNames.clear();
      }
    }
  };
}
