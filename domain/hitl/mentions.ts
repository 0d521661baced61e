/** People whom a comment mentions as `@username`. Only those who see the task are told. */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { TEAMS_OF_USER, type Actor } from '../auth/actor.ts';
import type { HumanTask } from './human-task.ts';
import { maySee } from './policy.ts';

/** The most people whom one comment tells. */
const MAX_MENTIONS = 20;

export async function mentionedPeople(
  em: EntityManager,
  author: Actor,
  task: HumanTask,
  comment: string,
): Promise<string[]> {
  const names = mentionsIn(comment);
  if (names.length === 0) return [];
  const people = await em.execute<Actor[]>(
    `select id, username, to_json(roles) as roles, to_json(groups) as groups, ${TEAMS_OF_USER}
       from user_account u
      where lower(username) = any(?::text[]) and status = 'active' order by id`,
    [arrayLiteral(names)],
  );
  return people.filter((person) => person.id !== author.id && maySee(person, task)).map(({ id }) => id);
}

/** Lower-case names, each once. An address such as `a@example.com` mentions nobody. */
export function mentionsIn(comment: string): string[] {
  const found = comment.matchAll(/(?<![\w.@/+-])@([A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?)/g);
  const names = new Set<string>();
  for (const [, name = ''] of found) {
    if (names.size === MAX_MENTIONS) break;
    names.add(name.toLowerCase());
  }
  return [...names];
}
