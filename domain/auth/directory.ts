/** The people that others see by name: who decided, who owns a run, to whom a task may be delegated. */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, Conditions, containsPattern, type KeysetPage } from '../../db/sql.ts';

export interface Person {
  id: string;
  username: string;
  display_name: string | null;
  /** Only if the operator allows it. */
  email?: string;
}

export interface DirectoryFilter {
  /** Substring of the username or display name; case is ignored. */
  q?: string | undefined;
  /** The whole of it; case is ignored. */
  username?: string | undefined;
  ids?: readonly string[] | undefined;
}

/**
 * A page of people by username, whose order ignores case. Disabled users are found only by id, so that old
 * records keep their names.
 */
export async function listPeople(
  em: EntityManager,
  { q, username, ids }: DirectoryFilter,
  page: KeysetPage,
  { withEmail = false } = {},
): Promise<Person[]> {
  const where = new Conditions();
  if (ids === undefined || q !== undefined || username !== undefined) where.add(`u.status = 'active'`);
  if (ids !== undefined) where.add('u.id = any(?::uuid[])', arrayLiteral(ids));
  if (q !== undefined) {
    const like = containsPattern(q);
    where.add('(u.username ilike ? or u.display_name ilike ?)', like, like);
  }
  if (username !== undefined) where.add('lower(u.username) = lower(?)', username);
  if (page.after !== undefined) where.add('lower(u.username) > lower(?)', page.after);
  return em.execute<Person[]>(
    `select u.id, u.username, u.display_name${withEmail ? ', u.email' : ''} from user_account u
      where ${where.sql} order by lower(u.username) limit ?`,
    [...where.values, page.limit],
  );
}
