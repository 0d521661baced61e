/**
 * Warnings about people whom a human task names and who are not there now: a misspelt name would let a run
 * wait unnoticed. They may still come, and accounts change without the definition, so the warnings are
 * computed at each reading and are never errors.
 */
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { isUuid } from '../../contracts/uuid.ts';
import { namedPeople, type NamedPeople } from '../../language/definition/human-tasks.ts';
import { MAX_PROBLEMS, quote } from '../../language/definition/problems.ts';
import type { Problem } from '../../language/definition/validate.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { hasTeamRole } from '../auth/ownership.ts';
import { storableText } from '../storable.ts';

/** Further names of a definition are not looked up. */
const MAX_NAMES = 200;

/** Those of the named people who are there, by the words that may name them. */
interface Present {
  users: Set<string>;
  groups: Set<string>;
  teams: Set<string>;
}

/**
 * The warnings of each definition; none for those that are null. Other people's teams count as unknown, as
 * everywhere. One statement at most, whatever the number of definitions.
 */
export async function peopleProblems(
  em: EntityManager,
  actor: Actor,
  definitions: readonly unknown[],
): Promise<Problem[][]> {
  const named = definitions.map((definition) => namedPeople(definition).slice(0, MAX_NAMES));
  const all = named.flat();
  if (all.length === 0) return named.map(() => []);
  const present = await readPresent(em, actor, all);
  return named.map((people) =>
    people
      .filter((one) => !isPresent(one, present))
      .slice(0, MAX_PROBLEMS)
      .map(warningOf),
  );
}

const PRESENT = new Prepared(
  `select (select coalesce(json_agg(json_build_array(u.id, lower(u.username))), '[]') from user_account u
            where (u.id = any(?::uuid[]) or lower(u.username) = any(?::text[]))
              and u.status = 'active') as users,
          (select coalesce(json_agg(g.name), '[]') from unnest(?::text[]) as g (name)
            where exists (select from user_account u
                           where u.groups @> array[g.name] and u.status = 'active')) as groups,
          (select coalesce(json_agg(json_build_object('id', t.id, 'name', lower(t.name))), '[]') from team t
            where (t.id = any(?::uuid[]) or lower(t.name) = any(?::text[]))
              and t.ended_at is null) as teams`,
);

async function readPresent(
  em: EntityManager,
  actor: Actor,
  people: readonly NamedPeople[],
): Promise<Present> {
  const words = (kind: NamedPeople['kind']): string[] => [
    ...new Set(people.flatMap((one) => (one.kind === kind ? [wordOf(one)] : []))),
  ];
  const [users, teams] = [words('user'), words('team')];
  const [row] = await PRESENT.execute<{
    users: [string, string][];
    groups: string[];
    teams: { id: string; name: string }[];
  }>(
    em,
    [users.filter(isUuid), users, words('group'), teams.filter(isUuid), teams].map((list) =>
      arrayLiteral(list),
    ),
  );
  const seen = (row?.teams ?? []).filter(({ id }) => isAdmin(actor) || hasTeamRole(actor, id, 'viewer'));
  return {
    users: new Set(row?.users.flat()),
    groups: new Set(row?.groups),
    teams: new Set(seen.flatMap(({ id, name }) => [id, name])),
  };
}

/** Case matters in the names of groups only. */
function wordOf({ kind, name }: NamedPeople): string {
  const word = storableText(name);
  return kind === 'group' ? word : word.toLowerCase();
}

function isPresent(one: NamedPeople, present: Present): boolean {
  return present[`${one.kind}s`].has(wordOf(one));
}

const ABSENCE: Record<NamedPeople['kind'], { code: string; text: (name: string) => string }> = {
  user: { code: 'unknown_user', text: (name) => `${name} is not an active user now` },
  group: { code: 'empty_group', text: (name) => `nobody is in the group ${name} now` },
  team: { code: 'unknown_team', text: (name) => `${name} is not one of your teams` },
};

function warningOf({ pointer, kind, name, excluded }: NamedPeople): Problem {
  const { code, text } = ABSENCE[kind];
  const effect = excluded ? 'it excludes nobody until then' : 'it asks nobody until then';
  const message =
    kind === 'team' ? `${text(quote(name))}: check the name` : `${text(quote(name))}: ${effect}`;
  return { pointer, code, message, severity: 'warning' };
}
