/** Agents and workflows as tools of language models: what an actor may run, with the schemas that count. */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { holdersOf, usableBy } from '../auth/ownership.ts';
import { SERVED_VERSION } from './choose-version.ts';

/** A larger schema is left out of lists. */
const MAX_SCHEMA_BYTES = 64 * 1024;

type Schema = Record<string, unknown> | null;

export interface ToolSource {
  kind: 'agent' | 'workflow';
  id: string;
  name: string;
  description: string | null;
  /** Of an agent. */
  type: string;
  execution_type: string | null;
  /** Of a language model: its input fills a template. */
  has_prompt: boolean;
  input_schema: Schema;
  output_schema: Schema;
}

const smallOnly = (column: string): string =>
  `case when octet_length(${column}::text) <= ${MAX_SCHEMA_BYTES} then ${column} end`;
const small = (column: string): string => `${smallOnly(column)} as ${column.split('.')[1]}`;

/** What the actor may run as a builder, without what is only seen as a member of a team. */
const SEEN = `(?::boolean or o.holder_id = any(?::uuid[]) or o.visibility = 'public')`;

const AGENTS = `
  select 'agent' as kind, o.id, o.name, left(o.description, 2000) as description, o.type, o.execution_type,
         v.configuration ->> 'prompt' is not null as has_prompt, ${small('v.input_schema')},
         ${small('v.output_schema')},
         case when o.type = 'workflow' then (
           select ${smallOnly('r.input_schema')}
             from workflow w join workflow_revision r on r.workflow_id = w.id and r.revision =
                  coalesce((v.configuration ->> 'revision')::int, w.revision)
            where w.id::text = v.configuration ->> 'workflow_id' and w.archived_at is null
              and ${usableBy('w', 'o.holder_id')}) end as workflow_schema
    from agent o join agent_version v
           on v.agent_id = o.id and v.version = ${SERVED_VERSION.replaceAll('a.', 'o.')}
   where o.status = 'active' and ${SEEN}`;

const WORKFLOWS = `
  select 'workflow' as kind, o.id, o.name, left(o.description, 2000) as description, 'workflow' as type,
         null as execution_type, false as has_prompt, ${small('r.input_schema')}, null as output_schema,
         null as workflow_schema
    from workflow o join workflow_revision r on r.workflow_id = o.id and r.revision = o.revision
   where o.archived_at is null and r.valid and r.runnable and ${SEEN}`;

interface Row extends ToolSource {
  workflow_schema: Schema;
}

/** Newest first, after the given id. */
export async function listToolSources(
  em: EntityManager,
  actor: Actor,
  kind: ToolSource['kind'],
  { after, limit }: { after: string | null; limit: number },
): Promise<ToolSource[]> {
  const rows = await em.execute<Row[]>(
    `${kind === 'agent' ? AGENTS : WORKFLOWS} and (?::uuid is null or o.id < ?::uuid)
      order by o.id desc limit ?`,
    [isAdmin(actor), arrayLiteral(holdersOf(actor, 'builder')), after, after, limit],
  );
  return rows.map(sourceOf);
}

/** By the last twelve digits of its id; null if the actor may see none or several. */
export async function findToolSource(
  em: EntityManager,
  actor: Actor,
  kind: ToolSource['kind'],
  digits: string,
): Promise<ToolSource | null> {
  const rows = await em.execute<Row[]>(
    `${kind === 'agent' ? AGENTS : WORKFLOWS} and "right"((o.id)::text, 12) = ? limit 2`,
    [isAdmin(actor), arrayLiteral(holdersOf(actor, 'builder')), digits],
  );
  const [row] = rows;
  return row === undefined || rows.length > 1 ? null : sourceOf(row);
}

function sourceOf({ workflow_schema: workflow, ...row }: Row): ToolSource {
  const own = row.input_schema ?? {};
  return Object.keys(own).length > 0 ? row : { ...row, input_schema: workflow ?? null };
}
