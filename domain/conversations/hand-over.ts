/**
 * What agents remember of a person's conversations goes on with the runs that continue them: those of the new
 * owner. A call that comes before its batch takes its session over itself.
 */
import { MAX_SESSION_ID } from '../../contracts/tool-loop.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';

/** An underscore and a UUID. */
const SUFFIX_LENGTH = 37;

/**
 * One batch, the newest first. A session whose id the new owner uses with the same agent gets another one:
 * two memories never become one. @returns the ids of the rows
 */
export async function handOverConversations(
  em: EntityManager,
  { from, to }: { from: string; to: string },
  { before, limit }: { before: string | null; limit: number },
): Promise<string[]> {
  const found = await em.execute<{ id: string }[]>(
    `select id from chat_session
      where owner_id = ? and (?::uuid is null or id < ?::uuid)
      order by id desc limit ? for no key update`,
    [from, before, before, limit],
  );
  const ids = found.map(({ id }) => id);
  if (ids.length > 0)
    await em.execute(
      `update chat_session s set owner_id = ?,
              name = case when exists (select from chat_session o
                                        where o.owner_id = ? and o.agent_id = s.agent_id and o.name = s.name)
                          then left(s.name, ?) || '_' || s.id else s.name end
        where s.id = any(?::uuid[])`,
      [to, to, MAX_SESSION_ID - SUFFIX_LENGTH, arrayLiteral(ids)],
    );
  return ids;
}

/** A session that is still being handed over to the owner of the run, who has none of this name. */
export async function takeOverSession(
  em: EntityManager,
  { runId, agentId, name }: { runId: string; agentId: string; name: string },
): Promise<void> {
  await em.execute(
    `update chat_session set owner_id = r.owner_id from run r
      where r.id = ? and chat_session.id = (
        select s.id from chat_session s
         where s.agent_id = ? and s.name = ? and s.owner_id = any(handing_over_to(r.owner_id))
           and not exists (select from chat_session own
                            where (own.agent_id, own.owner_id, own.name) = (s.agent_id, r.owner_id, s.name))
         order by s.id limit 1)`,
    [runId, agentId, name],
  );
}
