/** What users have chosen for themselves: one JSON object each, which only its owner reads and replaces. */
import type { EntityManager } from '../../db/orm.ts';

export interface Preferences {
  content: Record<string, unknown>;
  /** Counts the changes; 0 before the first. */
  version: number;
}

export async function getPreferences(em: EntityManager, userId: string): Promise<Preferences> {
  const [row] = await em.execute<Preferences[]>(
    'select content, version from user_preferences where user_id = ?',
    [userId],
  );
  return row ?? { content: {}, version: 0 };
}

/** Like `getPreferences`, and keeps others from changing them until the transaction ends. */
export async function lockPreferences(em: EntityManager, userId: string): Promise<Preferences> {
  // There has to be a row to lock, so that the first change of two tabs is not lost either.
  await em.execute(
    `insert into user_preferences (user_id, content, version) values (?, '{}', 0)
     on conflict (user_id) do nothing`,
    [userId],
  );
  const [row] = await em.execute<Preferences[]>(
    'select content, version from user_preferences where user_id = ? for update',
    [userId],
  );
  if (row === undefined) throw new Error('the preferences vanished under their lock');
  return row;
}

/** Replaces locked preferences. */
export async function storePreferences(
  em: EntityManager,
  userId: string,
  { version }: Preferences,
  content: Record<string, unknown>,
): Promise<Preferences> {
  const next = { content, version: version + 1 };
  await em.execute('update user_preferences set content = ?::jsonb, version = ? where user_id = ?', [
    JSON.stringify(content),
    next.version,
    userId,
  ]);
  return next;
}
