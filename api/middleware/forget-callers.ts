/** After a request that may change accounts, this process reads callers and names of people anew. */
import type { Middleware, Next } from 'koa';

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
  const forgetAfter = async (next: Next): Promise<void> => {
    try {
      await next();
    } finally {
      known.knownCallers.clear();
      known.knownNames.clear();
    }
  };
  return ({ method, path }, next) => {
    const isRead = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
    const changesCallers = isRead ? LOG_IN.test(path) : !KEEPS_CALLERS.test(path);
    return changesCallers ? forgetAfter(next) : next();
  };
}
