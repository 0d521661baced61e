/**
 * Scopes are names of roles: the highest one is the most that a client may do in its user's name. Finer ones
 * limit it further; `hitl:decide` lets it decide human tasks through the tools of the MCP server.
 */
import { ROLES, type Role } from '../../contracts/roles.ts';
import { isScopeText, MAX_SCOPES } from '../../contracts/scopes.ts';

/** Asked for by name only, so that no model decides on what a person should. */
export const DECIDE_SCOPE = 'hitl:decide';

/** What a client gets that asks for nothing. Administration has to be asked for by name. */
const DEFAULT_LIMIT: Role = 'builder';

/**
 * Unknown scopes have no effect, as RFC 6749 section 3.3 permits. Who asks with `openid` for nothing else
 * wants to know who the user is, and gets no rights.
 */
export function roleLimitOf(scope: string | null): Role {
  const asked = (scope ?? '').split(' ');
  const role = ROLES.findLast((one) => asked.includes(one));
  return role ?? (isIdentityOnly(scope) ? 'viewer' : DEFAULT_LIMIT);
}

/** Whether `openid` is all that was asked for, besides what goes along with it. */
function isIdentityOnly(scope: string | null): boolean {
  const asked = (scope ?? '').split(' ');
  const isMore = asked.some((one) => isScopeText(one) || ROLES.some((role) => role === one));
  return asked.includes('openid') && !isMore;
}

export function mayDecideBy(scope: string | null): boolean {
  return (scope ?? '').split(' ').includes(DECIDE_SCOPE);
}

/**
 * The finer scopes that were asked for, none for who asks only for `openid`; null if there are none but
 * `hitl:decide`, which goes along with roles.
 */
export function scopesIn(scope: string | null): string[] | null {
  const asked = [...new Set((scope ?? '').split(' '))].filter(isScopeText).slice(0, MAX_SCOPES);
  if (isIdentityOnly(scope)) return [];
  const isFine = asked.some((one) => one !== DECIDE_SCOPE && !ROLES.some((role) => role === one));
  return isFine ? asked : null;
}
