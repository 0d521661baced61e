/** Resolves the agents that a definition names when it is saved (interface-decisions §4). */
import type { References } from '../../contracts/definition/validate.ts';
import type { Problem } from '../../contracts/definition/validate.ts';
import { didYouMean } from '../../contracts/definition/suggest.ts';
import type { ResolvedAgent } from '../../db/entities/workflow-revision.ts';
import type { EntityManager } from '../../db/orm.ts';

interface Candidate {
  id: string;
  name: string;
  owner_id: string;
}

export interface ResolvedAgents {
  agents: ResolvedAgent[];
  problems: Problem[];
}

const uuidPattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * By id, if the owner of the workflow may see that agent; by name first among the owner's own, then among public ones,
 * there only if the name is unique. What cannot be resolved is a problem at its pointer.
 */
export async function resolveAgents(em: EntityManager, ownerId: string, references: References['agents']): Promise<ResolvedAgents> {
  const agents: ResolvedAgent[] = [];
  const problems: Problem[] = [];
  if (references.length === 0) return { agents, problems };
  const candidates = await findCandidates(em, ownerId, [...new Set(references.map(({ agent }) => agent))]);
  let names: string[] | undefined;
  for (const { pointer, agent, version } of references) {
    const found = choose(agent, ownerId, candidates);
    if (found.length === 1 && found[0]) {
      agents.push({ pointer, agent, agent_id: found[0].id, version: version ?? null });
    } else if (found.length > 1) {
      problems.push({ pointer, code: 'ambiguous_agent', message: `there are several public agents ${JSON.stringify(agent)}: name it by its id`, severity: 'error' });
    } else {
      names ??= await visibleNames(em, ownerId);
      problems.push({ pointer, code: 'unknown_agent', message: `there is no agent ${JSON.stringify(agent)}${didYouMean(agent, names)}`, severity: 'error' });
    }
  }
  return { agents, problems };
}

function choose(agent: string, ownerId: string, candidates: readonly Candidate[]): Candidate[] {
  const byId = uuidPattern.test(agent) ? candidates.filter(({ id }) => id === agent.toLowerCase()) : [];
  if (byId.length > 0) return byId;
  const named = candidates.filter(({ name }) => name === agent);
  const own = named.filter(({ owner_id }) => owner_id === ownerId);
  return own.length > 0 ? own : named;
}

/** Three of a name are as good as all: more than one is ambiguous. */
async function findCandidates(em: EntityManager, ownerId: string, wanted: readonly string[]): Promise<Candidate[]> {
  const ids = wanted.filter((text) => uuidPattern.test(text));
  return em.execute<Candidate[]>(
    `select id, name, owner_id from (
       select id, name, owner_id, row_number() over (partition by name, owner_id = ? order by id) as position
         from agent
        where (name in (select jsonb_array_elements_text(?::jsonb)) or id in (select jsonb_array_elements_text(?::jsonb)::uuid))
          and (owner_id = ? or visibility = 'public')
     ) found
     where position <= 3 or id in (select jsonb_array_elements_text(?::jsonb)::uuid)`,
    [ownerId, JSON.stringify(wanted), JSON.stringify(ids), ownerId, JSON.stringify(ids)],
  );
}

async function visibleNames(em: EntityManager, ownerId: string): Promise<string[]> {
  const rows = await em.execute<{ name: string }[]>(
    `select name from agent where owner_id = ? or visibility = 'public' order by (owner_id = ?) desc, id desc limit 500`,
    [ownerId, ownerId],
  );
  return rows.map(({ name }) => name);
}
