/**
 * Problems with the agent versions that a definition requests. Versions are published and deprecated after a
 * definition was saved, so the problems are computed at each reading instead of being stored with the
 * revision.
 */
import type { Problem } from '../../language/definition/validate.ts';
import type { ResolvedAgent } from '../../db/entities/workflow-revision.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { chooseVersion, describeRefusal, type VersionState } from './choose-version.ts';

interface AgentVersions {
  id: string;
  name: string;
  holder_id: string;
  current: string;
  versions: VersionState[];
}

/** A definition's agents, and the user or team with whose rights it uses them. */
export interface AgentUses {
  holder_id: string;
  agents: readonly ResolvedAgent[];
}

/**
 * The problems of each of `uses`, at the pointers of the agents: `unsupported` if no version can be used, a
 * warning if a deprecated one is used. Two statements at most, whatever the number of definitions.
 */
export async function versionProblems(em: EntityManager, uses: readonly AgentUses[]): Promise<Problem[][]> {
  const ids = [...new Set(uses.flatMap(({ agents }) => agents.map(({ agent_id }) => agent_id)))];
  if (ids.length === 0) return uses.map(() => []);
  const agents = await readVersions(em, ids);
  const foreignDrafts = uses.filter(({ holder_id, agents: used }) =>
    used.some(({ agent_id, version }) => {
      const agent = agents.get(agent_id);
      return (
        agent !== undefined &&
        agent.holder_id !== holder_id &&
        choose(agent, version, false) === 'draft_forbidden'
      );
    }),
  );
  const admins =
    foreignDrafts.length === 0
      ? new Set<string>()
      : await adminsAmong(
          em,
          foreignDrafts.map(({ holder_id }) => holder_id),
        );
  return uses.map(({ holder_id, agents: used }) =>
    used.flatMap(({ pointer, agent_id, version }) => {
      const agent = agents.get(agent_id);
      return agent === undefined
        ? []
        : problemOf(agent, pointer, version, agent.holder_id === holder_id || admins.has(holder_id));
    }),
  );
}

function problemOf(
  agent: AgentVersions,
  pointer: string,
  wanted: string | null,
  mayUseDrafts: boolean,
): Problem[] {
  const chosen = choose(agent, wanted, mayUseDrafts);
  if (typeof chosen === 'string') {
    return [
      {
        pointer,
        code: chosen,
        message: describeRefusal(chosen, agent.name, wanted ?? undefined),
        severity: 'unsupported',
      },
    ];
  }
  if (chosen.status !== 'deprecated') return [];
  const message = `version ${chosen.version} of agent ${JSON.stringify(agent.name)} is deprecated`;
  return [{ pointer, code: 'deprecated_version', message, severity: 'warning' }];
}

function choose(
  { current, versions }: AgentVersions,
  wanted: string | null,
  mayUseDrafts: boolean,
): ReturnType<typeof chooseVersion> {
  return chooseVersion(wanted ?? undefined, { current, versions, mayUseDrafts });
}

const VERSIONS = new Prepared(
  `select a.id, a.name, a.holder_id, a.version as current,
          (select json_agg(json_build_object('version', v.version, 'status', v.status))
             from agent_version v where v.agent_id = a.id) as versions
     from agent a where a.id = any(?::uuid[])`,
);

async function readVersions(em: EntityManager, ids: readonly string[]): Promise<Map<string, AgentVersions>> {
  const rows = await VERSIONS.execute<AgentVersions>(em, [arrayLiteral(ids)]);
  return new Map(rows.map((row) => [row.id, row]));
}

async function adminsAmong(em: EntityManager, userIds: readonly string[]): Promise<Set<string>> {
  const rows = await em.execute<{ id: string }[]>(
    `select id from user_account
      where 'admin' = any(roles) and id = any(?::uuid[])`,
    [arrayLiteral(new Set(userIds))],
  );
  return new Set(rows.map(({ id }) => id));
}
