import type { Role } from '../../db/entities/user-account.ts';

export type { Role };

/** Who asks. Roles and groups are as of this request, from the user's row. */
export interface Actor {
  id: string;
  username: string;
  roles: Role[];
  groups: string[];
}

export const roleNames = ['viewer', 'approver', 'builder', 'admin'] as const satisfies Role[];

/** Nobody: what an endpoint without authentication sees. Owns nothing and may do nothing. */
export const anonymous: Actor = {
  id: '00000000-0000-0000-0000-000000000000',
  username: '',
  roles: [],
  groups: [],
};

/** Roles are cumulative: a builder has what an approver has. */
export function hasRole(actor: Pick<Actor, 'roles'>, role: Role): boolean {
  const needed = roleNames.indexOf(role);
  return actor.roles.some((own) => roleNames.indexOf(own) >= needed);
}

export function isAdmin(actor: Pick<Actor, 'roles'>): boolean {
  return hasRole(actor, 'admin');
}
