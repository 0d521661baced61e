/** What requests for log-ins have in common. */
import type { Context } from 'koa';
import * as z from 'zod';

import type { OpenedFrom } from '../../../domain/auth/sessions.ts';

/** Log-ins come from unauthenticated clients and take a few hundred bytes, so the limit is small. */
export const MAX_AUTH_BODY_BYTES = 16 * 1024;

export const FORM = 'application/x-www-form-urlencoded';

export const secretText = z.string().min(1).max(4096);

export function openedFrom(ctx: Context): OpenedFrom {
  const { requestId = null, sessionPolicy } = ctx.state;
  return { ip: ctx.ip, userAgent: ctx.get('user-agent'), requestId, policy: sessionPolicy };
}
