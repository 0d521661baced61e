/** What a role allows, by the roles that the API itself demands. */
import { OPERATIONS, type OperationId, type User } from '../../../client/index.ts';
import { ROLES, type Role } from '../../../contracts/roles.ts';

/** The least role that may call an operation, or null if anybody may. */
export function roleFor(id: OperationId): Role | null {
  const { role } = OPERATIONS[id];
  return role === 'public' ? null : role;
}

export function isAllowed(id: OperationId, roles: User['roles']): boolean {
  const needed = roleFor(id);
  return needed === null || roles.some((role) => ROLES.indexOf(role) >= ROLES.indexOf(needed));
}
