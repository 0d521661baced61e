/**
 * Scopes are names of roles: the highest one is the most that a client may do in its user's name. Finer ones
 * limit it further; `hitl:decide` lets it decide human tasks through the tools of the MCP server.
 */
import { ROLES, type Role } from '../../contracts/roles.ts';
import { isScopeText, MAX_SCOPES } from '../../contracts/scopes.ts';

/** Asked for by name only, so that no model decides on what a person should. */
export const DECIDE_SCOPE = 'hitl:decide';

/** What a client gets that asks for nothing. Administration has to be asked for by name. */
const defaultLimit: Role = 'builder';

/** Unknown scopes have no effect, as RFC 6749 section 3.3 permits. */
export function roleLimitOf(scope: string | null): Role {
  const asked = (scope ?? '').split(' ');
  return ROLES.findLast((role) => asked.includes(role)) ?? defaultLimit;
}

export function mayDecideBy(scope: string | null): boolean {
  return (scope ?? '').split(' ').includes(DECIDE_SCOPE);
}

/**
 * The finer scopes that were asked for; null if there are none but `hitl:decide`, which goes along with
 * roles.
 */
export function scopesIn(scope: string | null): string[] | null {
  const asked = [...new Set((scope ?? '').split(' '))].filter(isScopeText).slice(0, MAX_SCOPES);
  const isFine = asked.some((one) => one !== DECIDE_SCOPE && !ROLES.some((role) => role === one));
  return isFine ? asked : null;
}
