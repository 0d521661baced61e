/** The statements that an application sends to its database. */
import type { Orm } from '../../db/orm.ts';

type Query = (...args: unknown[]) => unknown;

interface Recorded {
  query: Query;
}

/** @returns their texts, oldest first, from now on; the caller may empty the list */
export async function recordStatements(orm: Orm): Promise<string[]> {
  const texts: string[] = [];
  const known = new WeakSet<Recorded>();
  const pool = await orm.em.getConnection().getNativeClient();
  pool.on('acquire', (client: Recorded) => {
    if (known.has(client)) return;
    known.add(client);
    const query = client.query.bind(client);
    client.query = (...args) => {
      const [first] = args;
      texts.push(typeof first === 'string' ? first : String((first as { text?: string }).text));
      return query(...args);
    };
  });
  return texts;
}
