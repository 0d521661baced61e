/**
 * Resolves the agents that a definition names when it is saved (docs/interface.md#agents-in-a-definition).
 */
import type { References, Problem } from '../../language/definition/validate.ts';
import { MAX_PROBLEMS, quote } from '../../language/definition/problems.ts';
import { didYouMean } from '../../contracts/suggest.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { ResolvedAgent } from '../../db/entities/workflow-revision.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { seenBy, usableBy } from '../auth/ownership.ts';

interface Candidate {
  id: string;
  name: string;
  holder_id: string;
  visibility: string;
}

export interface ResolvedAgents {
  agents: ResolvedAgent[];
  problems: Problem[];
}

/**
 * Resolves ids of agents that the workflow's owner may see, and names: first among the owner's own agents,
 * then among public ones if the name is unique there. An unresolved name is a problem at its pointer.
 */
export async function resolveAgents(
  em: EntityManager,
  ownerId: string,
  references: References['agents'],
): Promise<ResolvedAgents> {
  const agents: ResolvedAgent[] = [];
  const problems: Problem[] = [];
  if (references.length === 0) return { agents, problems };
  const candidates = await findCandidates(em, ownerId, [...new Set(references.map(({ agent }) => agent))]);
  let names: string[] | undefined;
  for (const { pointer, agent, version } of references) {
    // Further problems would not be shown, and suggestions for a thousand names take seconds.
    if (problems.length > MAX_PROBLEMS) break;
    const found = choose(agent, ownerId, candidates);
    if (found.length === 1 && found[0]) {
      agents.push({ pointer, agent, agent_id: found[0].id, version: version ?? null });
    } else if (found.length > 1) {
      problems.push({
        pointer,
        code: 'ambiguous_agent',
        message: `there are several agents ${quote(agent)}: name one by its id`,
        severity: 'error',
      });
    } else {
      names ??= await visibleNames(em, ownerId);
      problems.push({
        pointer,
        code: 'unknown_agent',
        message: `there is no agent ${quote(agent)} that you can see${didYouMean(agent, names)}`,
        severity: 'error',
      });
    }
  }
  return { agents, problems };
}

function choose(agent: string, ownerId: string, candidates: readonly Candidate[]): Candidate[] {
  const byId = isUuid(agent) ? candidates.filter(({ id }) => id === agent.toLowerCase()) : [];
  if (byId.length > 0) return byId;
  const named = candidates.filter(({ name }) => name === agent);
  const own = named.filter(({ holder_id }) => holder_id === ownerId);
  // What is not public is of a team whose rights the owner has.
  const ofTeams = named.filter(({ visibility }) => visibility !== 'public');
  return [own, ofTeams].find((found) => found.length > 0) ?? named;
}

/** Three agents of a name are enough: more than one is ambiguous. */
async function findCandidates(
  em: EntityManager,
  ownerId: string,
  wanted: readonly string[],
): Promise<Candidate[]> {
  const ids = wanted.filter(isUuid);
  return em.execute<Candidate[]>(
    `select id, name, holder_id, visibility from (
       select id, name, holder_id, visibility,
              row_number() over (partition by name, holder_id = ?, visibility order by id) as position
         from agent
        where (name in (select jsonb_array_elements_text(?::jsonb))
               or id in (select jsonb_array_elements_text(?::jsonb)::uuid))
          and ${usableBy('agent')}
     ) found
     where position <= 3 or id in (select jsonb_array_elements_text(?::jsonb)::uuid)`,
    [ownerId, JSON.stringify(wanted), JSON.stringify(ids), ownerId, JSON.stringify(ids)],
  );
}

async function visibleNames(em: EntityManager, ownerId: string): Promise<string[]> {
  const rows = await em.execute<{ name: string }[]>(
    `select name from agent where ${usableBy('agent')}
      order by (holder_id = ?) desc, id desc limit 500`,
    [ownerId, ownerId],
  );
  return rows.map(({ name }) => name);
}

/** The names of agents that a definition names by id, by pointer; only agents that the actor may see. */
export async function shownNames(
  em: EntityManager,
  actor: Actor,
  agents: readonly ResolvedAgent[],
): Promise<Map<string, string>> {
  const byId = agents.filter(({ agent }) => isUuid(agent));
  if (byId.length === 0) return new Map();
  const seen = seenBy(actor, 'agent');
  const rows = await em.execute<{ id: string; name: string }[]>(
    `select id, name from agent
      where id in (select jsonb_array_elements_text(?::jsonb)::uuid)
        and ${seen.sql}`,
    [JSON.stringify(byId.map(({ agent_id }) => agent_id)), ...seen.values],
  );
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return new Map(
    byId.flatMap(({ pointer, agent_id }) => {
      const name = names.get(agent_id);
      return name === undefined ? [] : [[pointer, name]];
    }),
  );
}
