/**
 * Principals: the people a task is for, as strings that an index can look up: `id:<uuid>`, `name:<username>`,
 * `role:<role>`, `group:<name>`, `team:<uuid>`. A task's principals are computed when it is created; a
 * person's at each request.
 */
import type { Candidates } from '../../contracts/hitl.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { ROLES } from '../../contracts/roles.ts';
import { hasRole, type Actor } from '../auth/actor.ts';
import { teamsWith } from '../auth/ownership.ts';

/** The principals that mean this person alone: by id and by name. */
export function ownWords({ id, username }: Pick<Actor, 'id' | 'username'>): [string, string] {
  return [`id:${id}`, `name:${username.toLowerCase()}`];
}

/** What `quorum.exclude` may name a person by. */
export function excludableWords(person: Pick<Actor, 'id' | 'username' | 'groups'>): string[] {
  return [...ownWords(person), ...person.groups.map((group) => `group:${group}`)];
}

/** By person. Nobody changes an actor: another one is made of it. */
const computed = new WeakMap<Actor, ReadonlySet<string>>();

/** Roles are cumulative: tasks for approvers are also for builders. */
export function principalsOf(actor: Actor): ReadonlySet<string> {
  const before = computed.get(actor);
  if (before !== undefined) return before;
  const words = new Set([
    ...ownWords(actor),
    ...ROLES.filter((role) => hasRole(actor, role)).map((role) => `role:${role}`),
    ...actor.groups.map((group) => `group:${group}`),
    ...teamWords(actor),
  ]);
  computed.set(actor, words);
  return words;
}

/** Approvers of a team are candidates where the team is one. */
export function teamWords(actor: Pick<Actor, 'teams'>): string[] {
  return teamsWith(actor, 'approver').map((id) => `team:${id}`);
}

/**
 * The principals of all candidates. Users are named by id or username. A known user is stored by id, so a
 * task does not pass to whoever takes over a username; an unknown name waits for its user.
 */
export async function candidateKeys(
  em: EntityManager,
  { users, roles, groups, teams = [] }: Candidates,
): Promise<string[]> {
  const known = await userKeys(em, users);
  const ofTeams = await teamKeys(em, teams);
  return [
    ...new Set([
      ...known.values(),
      ...roles.map((role) => `role:${role.toLowerCase()}`),
      ...groups.map((group) => `group:${group}`),
      ...ofTeams,
    ]),
  ];
}

/** Teams are named by id or name; nobody has the word of an unknown one. */
async function teamKeys(em: EntityManager, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const words = arrayLiteral(names.map((name) => name.toLowerCase()));
  const rows = await em.execute<{ id: string; name: string }[]>(
    `select id, lower(name) as name from team
      where lower(name) = any(?::text[]) or id::text = any(?::text[])`,
    [words, words],
  );
  return names.map((name) => {
    const word = name.toLowerCase();
    const team = rows.find(({ id }) => id === word) ?? rows.find((row) => row.name === word);
    return `team:${team?.id ?? word}`;
  });
}

/** The principal of each named user. */
export async function userKeys(em: EntityManager, names: string[]): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await em.execute<{ id: string; username: string }[]>(
    `select id, lower(username) as username from user_account
      where lower(username) = any(?::text[]) or id::text = any(?::text[])`,
    [
      arrayLiteral(names.map((name) => name.toLowerCase())),
      arrayLiteral(names.map((name) => name.toLowerCase())),
    ],
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

export function union(left: Candidates, right: Candidates): Candidates {
  const merge = (a: string[], b: string[]): string[] => [...new Set([...a, ...b])];
  return {
    users: merge(left.users, right.users),
    roles: merge(left.roles, right.roles),
    groups: merge(left.groups, right.groups),
    ...(left.teams || right.teams ? { teams: merge(left.teams ?? [], right.teams ?? []) } : {}),
  };
}
