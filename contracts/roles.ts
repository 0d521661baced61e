/** User roles, in ascending order: each role includes the rights of those before it. */
export const ROLES = ['viewer', 'approver', 'builder', 'admin'] as const;

export type Role = (typeof ROLES)[number];
