/** Scopes are names of roles: the highest one is the most that a client may do in its user's name. */
import { ROLES, type Role } from '../../contracts/roles.ts';

/** What a client gets that asks for nothing. Administration has to be asked for by name. */
const defaultLimit: Role = 'builder';

/** Unknown scopes have no effect, as RFC 6749 section 3.3 permits. */
export function roleLimitOf(scope: string | null): Role {
  const asked = (scope ?? '').split(' ');
  return ROLES.findLast((role) => asked.includes(role)) ?? defaultLimit;
}
