/** Names that several agents or workflows have, which is allowed, but then no name leads to one of them. */
import { isUuid } from '../../contracts/uuid.ts';
import type { Agent } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import { holderOf, usableBy } from '../auth/ownership.ts';

/** How many ids a message names. */
export const MAX_IDS = 3;

export interface NameWarning {
  agent: string;
  pointer: string;
  code: 'name_taken' | 'ambiguous_tool';
  kind: 'agent' | 'workflow';
  /** Of those that have the name. */
  ids: string[];
}

/** An agent or workflow that an agent names as a tool. */
export interface NamedTool {
  agent: string;
  /** Who holds the agent: with whose rights the tool is looked for. */
  owner: string;
  pointer: string;
  kind: 'agent' | 'workflow';
  given: string;
}

/** Other agents of the same holder and name, and tools whose name leads to several; in one statement. */
export async function nameWarnings(
  em: EntityManager,
  agents: readonly Pick<Agent, 'id' | 'owner_id' | 'team_id' | 'name'>[],
  tools: readonly NamedTool[],
): Promise<NameWarning[]> {
  const names = agents.map((agent) => ({ agent: agent.id, owner: holderOf(agent), name: agent.name }));
  return em.execute<NameWarning[]>(
    `select n.agent, '/name' as pointer, 'name_taken' as code, 'agent' as kind, to_json(o.ids) as ids
       from json_to_recordset(?::json) as n (agent uuid, owner uuid, name text)
      cross join lateral (
        select array(select a.id from agent a
                      where a.name = n.name and a.holder_id = n.owner and a.id <> n.agent
                      order by a.id desc limit ${MAX_IDS + 1}) as ids) o
      where cardinality(o.ids) > 0
     union all
     select t.agent, t.pointer, 'ambiguous_tool', t.kind, to_json(o.ids)
       from json_to_recordset(?::json) as t (agent uuid, owner uuid, pointer text, kind text, given text)
      cross join lateral (
        select array(select ranked.id from (
                       select found.id, rank() over (order by found.place) as rank
                         from (select a.id, ${place('a', 't.owner')} as place from agent a
                                where t.kind = 'agent' and a.name = t.given and ${usableBy('a', 't.owner')}
                               union all
                               select w.id, least(1, ${place('w', 't.owner')}) from workflow w
                                where t.kind = 'workflow' and w.name = t.given and w.archived_at is null
                                  and ${usableBy('w', 't.owner')}) found) ranked
                      where ranked.rank = 1 order by ranked.id desc limit ${MAX_IDS + 1}) as ids) o
      where cardinality(o.ids) > 1`,
    [JSON.stringify(names), JSON.stringify(tools.filter(({ given }) => !isUuid(given)))],
  );
}

/**
 * SQL: the order in which a name is looked for (`pinAgent`): among the holder's own, then among those of
 * teams, then among public ones. Workflows have no second place (`resolveTools`).
 */
function place(alias: string, holder: string): string {
  return `case when ${alias}.holder_id = ${holder} then 0
               when ${alias}.holder_id = any(rights_held(${holder})) then 1 else 2 end`;
}

/** Who reads a message; asked only if there is one. */
export type Reader = () => Promise<string> | string;

/**
 * `name one by its id: …`, with ids that both may use: who looks for the name, and who reads the message.
 */
export async function nameOne(
  em: EntityManager,
  kind: NamedTool['kind'],
  name: string,
  holder: string,
  reader: Reader,
): Promise<string> {
  const rows = await em.execute<{ id: string }[]>(
    `select t.id from ${kind} t
      where t.name = ? ${kind === 'workflow' ? 'and t.archived_at is null' : ''}
        and ${usableBy('t')} and ${usableBy('t')}
      order by (t.holder_id = ?) desc, t.id desc limit ${MAX_IDS + 1}`,
    [name, holder, await reader(), holder],
  );
  return `name one by its id${rows.length === 0 ? '' : `: ${listed(rows.map(({ id }) => id))}`}`;
}

/** The first ids, and that there are more. */
export function listed(ids: readonly string[]): string {
  return [...ids.slice(0, MAX_IDS), ...(ids.length > MAX_IDS ? ['…'] : [])].join(', ');
}
