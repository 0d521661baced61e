/** Lists of agents. Versions are summaries; large fields are not read (`db/large-fields.ts`). */
import type { AgentSkill } from '../../db/entities/agent-skill.ts';
import { Agent, type AgentStatus } from '../../db/entities/agent.ts';
import type { Visibility } from '../../db/entities/workflow.ts';
import { LISTED_FIELD_BYTES, listedColumns, type ListView } from '../../db/large-fields.ts';
import type { EntityManager, FilterQuery } from '../../db/orm.ts';
import { arrayLiteral, containsPattern, type KeysetPage } from '../../db/sql.ts';
import { isAdmin, userIdOf, type Actor } from '../auth/actor.ts';
import { holdersOf } from '../auth/ownership.ts';
import { missingReferences, type MissingReference } from './agent-warnings.ts';
import type { VersionState } from './choose-version.ts';

/** Times are RFC 3339. */
interface VersionSummary extends VersionState {
  created_at: string;
  published_at: string | null;
}

type Times = 'created_at' | 'updated_at' | 'last_used';

/** The columns of an agent, with times as the database returns them. */
export type AgentRow = Omit<Agent, Times> & {
  created_at: Date | string;
  updated_at: Date | string;
  last_used?: Date | string | null | undefined;
};

export interface ListedAgent extends AgentRow {
  /** Newest first. */
  versions: VersionSummary[];
  /** In order of creation. */
  skills: AgentSkill[] | null;
  /** The names of the omitted fields. */
  omitted: string[];
  /** Secrets and workflows that the agent names and its owner does not have. */
  warnings: MissingReference[];
}

export interface AgentFilter {
  view?: ListView | undefined;
  type?: string | undefined;
  status?: AgentStatus | undefined;
  visibility?: Visibility | undefined;
  owner_id?: string | undefined;
  team_id?: string | undefined;
  capability?: string | undefined;
  modality?: string | undefined;
  tag?: string | undefined;
  /** Substring of name or description; case is ignored. */
  q?: string | undefined;
  name?: string | undefined;
  version?: string | undefined;
}

/** Agents that the actor may see, newest first. */
export async function listAgents(
  em: EntityManager,
  actor: Actor,
  filter: AgentFilter,
  page: KeysetPage,
): Promise<ListedAgent[]> {
  const conditions: FilterQuery<Agent>[] = [];
  if (!isAdmin(actor)) {
    // Private agents are those of the actor and of their teams: their index finds them, as with workflows.
    conditions.push(
      filter.visibility === 'private'
        ? { holder_id: { $in: holdersOf(actor) } }
        : { $or: [{ holder_id: { $in: holdersOf(actor) } }, { visibility: 'public' }] },
    );
  }
  if (page.after !== undefined) conditions.push({ id: { $lt: page.after } });
  for (const key of ['type', 'status', 'visibility', 'team_id', 'name', 'version'] as const) {
    if (filter[key] !== undefined) conditions.push({ [key]: filter[key] });
  }
  if (filter.owner_id !== undefined) conditions.push({ owner_id: userIdOf(actor, filter.owner_id) });
  if (filter.capability !== undefined) conditions.push({ capabilities: { $contains: [filter.capability] } });
  if (filter.modality !== undefined) conditions.push({ modalities: { $contains: [filter.modality] } });
  if (filter.tag !== undefined) conditions.push({ tags: { $contains: [filter.tag] } });
  if (filter.q !== undefined && filter.q !== '') {
    const pattern = containsPattern(filter.q);
    conditions.push({ $or: [{ name: { $ilike: pattern } }, { description: { $ilike: pattern } }] });
  }
  const found = await em.find(
    Agent,
    { $and: conditions },
    { fields: ['id'], orderBy: { id: 'desc' }, limit: page.limit },
  );
  return readListed(
    em,
    found.map(({ id }) => id),
    filter.view,
  );
}

const SMALL = [
  'id',
  'name',
  'type',
  'execution_type',
  'status',
  'version',
  'created_at',
  'updated_at',
  'last_used',
  'owner_id',
  'team_id',
  'holder_id',
  'visibility',
  'license',
  'repository_url',
  'url',
  'provider_name',
  'provider_url',
  'authentication_type',
  'capabilities_streaming',
  'capabilities_push',
  'capabilities_history',
  'provenance',
  'source',
  'last_check',
  'budget',
  'limits',
];
const JSON_COLUMNS = [
  'description',
  'documentation',
  'configuration',
  'input_schema',
  'output_schema',
  'authentication_config',
];
const ARRAYS = ['modalities', 'capabilities', 'tags'];
const SKILL_COLUMNS = ['name', 'description', 'tags', 'examples', 'input_modes', 'output_modes'];

/**
 * Uses two statements. The work is bounded by the page, the size of fields and the number of versions of an
 * agent.
 */
async function readListed(
  em: EntityManager,
  ids: readonly string[],
  view: ListView | undefined,
): Promise<ListedAgent[]> {
  if (ids.length === 0) return [];
  const columns = [
    ...JSON_COLUMNS.map((name) => ({ name, column: `a.${name}` })),
    ...ARRAYS.map((name) => ({ name, column: `a.${name}`, select: `to_json(a.${name})` })),
    { name: 'skills', column: 'k.skills', select: 'k.skills::json' },
  ];
  const rows = await em.execute<Omit<ListedAgent, 'warnings'>[]>(
    `select ${SMALL.map((name) => `a.${name}`).join(', ')},
            ${listedColumns(columns, { view, alsoOmitted: { warnings: 'configuration' } })},
            (select json_agg(json_build_object('version', v.version, 'status', v.status,
                                               'created_at', v.created_at,
                                               'published_at', v.published_at)
                             order by v.id desc)
               from agent_version v where v.agent_id = a.id) as versions
       from agent a
       cross join lateral (
         select case when ${skillBytes((column) => `pg_column_size(${column})`)} > ${LISTED_FIELD_BYTES}
                     then true
                     else ${skillBytes((column) => `octet_length(${column}::text)`)} > ${LISTED_FIELD_BYTES}
                end as large) m
       cross join lateral (
         select case when m.large then repeat(' ', ${LISTED_FIELD_BYTES + 1})
                     else (select coalesce(json_agg(s order by s.id), '[]')::text
                             from agent_skill s where s.agent_id = a.id) end as skills) k
      where a.id = any(?::uuid[])
      order by a.id desc`,
    [arrayLiteral(ids)],
  );
  const warnings = await missingReferences(em, rows);
  return rows.map((row) => ({ ...row, warnings: warnings.get(row.id) ?? [] }));
}

/**
 * SQL: the size of all skills of an agent. Stored sizes rule out most agents; stored texts may be compressed,
 * so small ones are then measured in full.
 */
function skillBytes(measure: (column: string) => string): string {
  const sizes = SKILL_COLUMNS.map((name) => `coalesce(${measure(`s.${name}`)}, 0)`);
  return `(select coalesce(sum(${sizes.join(' + ')}), 0) from agent_skill s where s.agent_id = a.id)`;
}
