/** The agents that a user's definitions can name, with their inputs, for editors. */
import type { AgentInput } from '../../language/definition/agent-inputs.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { holdersOf } from '../auth/ownership.ts';

/** The user's own agents come first, then the newest. */
const MAX_AGENTS = 200;
const MAX_SCHEMA_BYTES = 16 * 1024;
/** Of all schemas together. */
const MAX_BYTES = 512 * 1024;
const MAX_DESCRIPTION = 500;

interface Row extends AgentInput {
  bytes: number | null;
  own: boolean;
}

/** As a definition finds agents: by name, first among the owner's, then a public one whose name is unique. */
export async function agentInputs(em: EntityManager, actor: Actor): Promise<AgentInput[]> {
  const held = arrayLiteral(holdersOf(actor, 'builder'));
  const rows = await em.execute<Row[]>(
    `select name, left(description, ${MAX_DESCRIPTION}) as description, own,
            octet_length(input_schema::text) as bytes,
            case when octet_length(input_schema::text) <= ${MAX_SCHEMA_BYTES} then input_schema end
              as input_schema
       from ((select *, true as own from agent where holder_id = any(?::uuid[])
               order by id desc limit ${MAX_AGENTS})
             union all
             (select *, false as own from agent where visibility = 'public' and holder_id <> all(?::uuid[])
               order by id desc limit ${MAX_AGENTS})) found
      order by own desc, id desc
      limit ${MAX_AGENTS}`,
    [held, held],
  );
  const found = new Map<string, Row[]>();
  for (const row of rows) found.set(row.name, [...(found.get(row.name) ?? []), row]);
  let left = MAX_BYTES;
  return [...found.values()].flatMap((named): AgentInput[] => {
    const own = named.filter((row) => row.own);
    const [first, ...more] = own.length > 0 ? own : named;
    if (first === undefined) return [];
    const { name, description, input_schema: schema, bytes } = first;
    left -= schema === null ? 0 : (bytes ?? 0);
    return [{ name, description, input_schema: more.length > 0 || left < 0 ? null : schema }];
  });
}
