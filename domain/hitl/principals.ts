/**
 * Who a task is for, as words that an index can look up: `id:<uuid>`, `name:<username>`, `role:<role>`, `group:<name>`.
 * A task's words are made when it is; a person's when they ask.
 */
import { textArray, type EntityManager } from '../../db/orm.ts';
import { hasRole, roleNames } from '../auth/actor.ts';
import type { Actor } from '../auth/actor.ts';

export interface Candidates {
  users: string[];
  roles: string[];
  groups: string[];
}

/** Roles are cumulative: a builder is there too where approvers are asked. */
export function principalsOf(actor: Actor): string[] {
  return [
    `id:${actor.id}`,
    `name:${actor.username.toLowerCase()}`,
    ...roleNames.filter((role) => hasRole(actor, role)).map((role) => `role:${role}`),
    ...actor.groups.map((group) => `group:${group}`),
  ];
}

/**
 * The words of everybody named. Users are named by id or username; who is known is kept by id, so that nobody inherits a task
 * with a name; a name that is not known yet waits for its user.
 */
export async function candidateKeys(em: EntityManager, { users, roles, groups }: Candidates): Promise<string[]> {
  const known = await userKeys(em, users);
  return [...new Set([...known.values(), ...roles.map((role) => `role:${role.toLowerCase()}`), ...groups.map((group) => `group:${group}`)])];
}

/** The word of each user named. */
export async function userKeys(em: EntityManager, names: string[]): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await em.execute<{ id: string; username: string }[]>(
    `select id, lower(username) as username from user_account where lower(username) = any(?::text[]) or id::text = any(?::text[])`,
    [textArray(names.map((name) => name.toLowerCase())), textArray(names.map((name) => name.toLowerCase()))],
  );
  const ids = new Set(rows.map((row) => row.id));
  const byName = new Map(rows.map((row) => [row.username, row.id]));
  return new Map(
    names.map((name) => {
      const word = name.toLowerCase();
      const id = ids.has(word) ? word : byName.get(word);
      return [name, id === undefined ? `name:${word}` : `id:${id}`];
    }),
  );
}

export function union(one: Candidates, other: Candidates): Candidates {
  const both = (a: string[], b: string[]): string[] => [...new Set([...a, ...b])];
  return { users: both(one.users, other.users), roles: both(one.roles, other.roles), groups: both(one.groups, other.groups) };
}

/** PostgreSQL's literal of a `text[]`. */
