/** What of an agent's record will not work: secrets and workflows that are missing, and the like. */
import {
  agentKind,
  calledUrl,
  configurationWarnings,
  credentialWarnings,
  type CheckedAgent,
  type ConfigurationWarning,
} from '../../contracts/agent-configuration.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { splitModelTexts } from '../../contracts/model-texts.ts';
import { placeholderNames, unboundName } from '../../contracts/placeholders.ts';
import { secretEndpoint } from '../../contracts/secret-endpoint.ts';
import { template } from '../../language/expressions/index.ts';
import { MODEL_KINDS } from '../../contracts/tool-loop.ts';
import { memoryMibOf } from '../../contracts/agent-kinds/docker.ts';
import { agentExcesses, agentRefusals } from '../../contracts/process-policy.ts';
import type { Agent } from '../../db/entities/agent.ts';
import { jsonSchemaProblems } from '../../language/schema/well-formed.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { holderOf, usableBy } from '../auth/ownership.ts';
import { readProcessPolicy } from '../operations/process-policy.ts';
import { mayChangeAgent, type Ownership } from './agent-policy.ts';
import { listed, nameWarnings, type NamedTool, type NameWarning } from './name-warnings.ts';

/**
 * `names_secret`: the message contains a secret's name, so it is shown only to users who may change the
 * agent.
 */
export interface MissingReference extends ConfigurationWarning {
  names_secret: boolean;
  /** Set if nothing is missing, but several have a name. */
  code?: NameWarning['code'];
  /** What the message says to those who may change the agent: ids that others may not see. */
  detail?: string;
}

export type WarnedAgent = Pick<
  Agent,
  | 'id'
  | 'name'
  | 'owner_id'
  | 'team_id'
  | 'type'
  | 'execution_type'
  | 'configuration'
  | 'authentication_config'
>;

const PARTS = ['configuration', 'authentication_config'] as const;

/** A part in which each name has to be that of a secret. */
function settingsOf(agent: WarnedAgent, part: (typeof PARTS)[number]): unknown {
  const settings = agent[part];
  return part === 'configuration' && settings ? splitModelTexts(kindOf(agent), settings).settings : settings;
}

/** Missing references by agent id, and names that several have; read in two statements. */
export async function missingReferences(
  em: EntityManager,
  agents: readonly WarnedAgent[],
): Promise<Map<string, MissingReference[]>> {
  const secrets = agents.flatMap(secretReferences);
  const workflows = agents.flatMap((agent) => {
    const id = agent.configuration?.['workflow_id'];
    return kindOf(agent) === 'workflow' && typeof id === 'string'
      ? [{ agent: agent.id, owner: holderOf(agent), id }]
      : [];
  });
  const tools = agents.flatMap(toolReferences);
  const found = new Map<string, MissingReference[]>(
    agents.map((agent) => [
      agent.id,
      [...unbound(agent), ...unreadableApprovals(agent), ...unreadableForms(agent)],
    ]),
  );
  await addRefusals(em, agents, found);
  await addNames(em, agents, tools, found);
  if (secrets.length + workflows.length + tools.length === 0) return found;
  const rows = await em.execute<(MissingReference & { agent: string })[]>(
    `select s.agent, '/' || s.part as pointer, true as names_secret,
            s.message
       from json_to_recordset(?::json)
         as s (agent uuid, owner uuid, part text, name text, message text)
      where not exists (select from secret k where k.owner_id = s.owner and k.name = s.name)
     union all
     select w.agent, '/configuration/workflow_id', false,
            'there is no such workflow that the owner may use; invoking the agent will fault'
       from json_to_recordset(?::json) as w (agent uuid, owner uuid, id text)
      where not exists (select from workflow f
                         where f.id::text = lower(w.id) and f.archived_at is null
                           and ${usableBy('f', 'w.owner')})
     union all
     select t.agent, t.pointer, false,
            'there is no such ' || t.kind || ' that the owner may use; invoking the agent will fault'
       from json_to_recordset(?::json) as t (agent uuid, owner uuid, pointer text, kind text, given text)
      where case t.kind
              when 'agent' then not exists (
                select from agent a where (a.id::text = lower(t.given) or a.name = t.given)
                                      and ${usableBy('a', 't.owner')})
              else not exists (
                select from workflow f where (f.id::text = lower(t.given) or f.name = t.given)
                                         and f.archived_at is null
                                         and ${usableBy('f', 't.owner')}) end`,
    [JSON.stringify(secrets), JSON.stringify(workflows), JSON.stringify(tools)],
  );
  for (const { agent, ...warning } of rows) found.get(agent)?.push(warning);
  return found;
}

/** The secrets that an agent names, and what to say of one that is missing. */
const secretReferences = (agent: WarnedAgent) =>
  PARTS.flatMap((part) =>
    [...placeholderNames(settingsOf(agent, part))].map((name) => ({
      agent: agent.id,
      owner: holderOf(agent),
      part,
      name,
      message:
        `the secret ${name} is not in the ${agent.team_id ? 'team' : 'owner'}'s store: ` +
        `add it with ${secretEndpoint(name, agent.team_id)}; invoking the agent will fault`,
    })),
  );

async function addNames(
  em: EntityManager,
  agents: readonly WarnedAgent[],
  tools: readonly NamedTool[],
  found: ReadonlyMap<string, MissingReference[]>,
): Promise<void> {
  if (agents.length === 0) return;
  for (const { agent, pointer, code, kind, ids } of await nameWarnings(em, agents, tools)) {
    const [message, detail] =
      code === 'name_taken'
        ? [
            'another agent of the same owner has this name, so calls must name either by its id',
            `: ${ids.length === 1 ? 'the other is' : 'others are'} ${listed(ids)}`,
          ]
        : [
            `there are several ${kind}s of this name; invoking the agent will fault`,
            `: name one by its id: ${listed(ids)}`,
          ];
    found.get(agent)?.push({ pointer, names_secret: false, code, message, detail });
  }
}

/** What the installation does not let agents in containers do. */
async function addRefusals(
  em: EntityManager,
  agents: readonly WarnedAgent[],
  found: ReadonlyMap<string, MissingReference[]>,
): Promise<void> {
  const contained = agents.filter((agent) => kindOf(agent) === 'docker' && agent.configuration?.['image']);
  if (contained.length === 0) return;
  const policy = await readProcessPolicy(em);
  for (const { id, configuration } of contained) {
    const given = configuration ?? {};
    const { memory, cpus, pids } = given;
    const isMemory = typeof memory === 'number' || typeof memory === 'string';
    const wanted = { memoryMib: isMemory ? memoryMibOf(memory) : null, cpus, pids };
    for (const { key, message } of agentExcesses(wanted, policy))
      found.get(id)?.push({ pointer: `/configuration/${key}`, names_secret: false, message });
    for (const { key, message } of agentRefusals(given, policy))
      found.get(id)?.push({
        pointer: key === '' ? '/configuration' : `/configuration/${key}`,
        names_secret: false,
        message: `${message}; invoking the agent will fault`,
      });
  }
}

/** Why agents cannot be called at this URL, as text that follows it; null if they can. */
export type RefusalOfAddress = (url: URL) => string | null;

/** All warnings of an agent's record for this reader. */
export function agentWarnings(
  actor: Actor,
  agent: Ownership &
    WarnedAgent &
    Parameters<typeof credentialWarnings>[0] &
    Pick<Agent, 'authentication_type'>,
  missing: readonly MissingReference[],
  refusalOf: RefusalOfAddress,
): ConfigurationWarning[] {
  const configuration = agent.configuration ?? null;
  const checked = { ...agent, execution_type: agent.execution_type ?? null, configuration };
  return [
    ...configurationWarnings(checked),
    ...addressWarnings(checked, refusalOf),
    ...warningsFor(actor, agent, missing),
    ...credentialWarnings(agent),
  ];
}

function addressWarnings(agent: CheckedAgent, refusalOf: RefusalOfAddress): ConfigurationWarning[] {
  const called = calledUrl(agent);
  const refusal = called === null ? null : refusalOf(called.url);
  if (called === null || refusal === null) return [];
  return [{ pointer: called.pointer, message: `${refusal}; invoking the agent will fault` }];
}

/**
 * The warnings for this reader. Users other than the owner and admins learn where something is missing, but
 * not which secret.
 */
function warningsFor(
  actor: Actor,
  agent: Ownership,
  missing: readonly MissingReference[],
): ConfigurationWarning[] {
  if (mayChangeAgent(actor, agent))
    return missing.map(({ pointer, message, detail = '' }) => ({ pointer, message: message + detail }));
  const incomplete = new Set(
    missing.filter(({ names_secret }) => names_secret).map(({ pointer }) => pointer),
  );
  return [
    ...[...incomplete].map((pointer) => ({
      pointer,
      message: 'the owner has not configured all required secrets; invoking the agent will fault',
    })),
    ...missing
      .filter(({ names_secret, code }) => !names_secret && code !== 'name_taken')
      .map(({ pointer, message }) => ({ pointer, message })),
  ];
}

/** Agents and workflows that a language model may call. */
function toolReferences(agent: WarnedAgent): NamedTool[] {
  return toolsOf(agent).flatMap((tool, index) =>
    (['agent', 'workflow'] as const).flatMap((kind) => {
      const given = tool[kind];
      if (typeof given !== 'string') return [];
      const pointer = `/configuration/tools/${index}/${kind}`;
      return [{ agent: agent.id, owner: holderOf(agent), pointer, kind, given }];
    }),
  );
}

function unreadableForms(agent: WarnedAgent): MissingReference[] {
  return toolsOf(agent).flatMap(({ human }, index) => {
    if (!isRecord(human) || !isRecord(human['form'])) return [];
    return jsonSchemaProblems(human['form'], { warnings: false }).map(({ pointer, message }) => ({
      pointer: `/configuration/tools/${index}/human/form${pointer}`,
      names_secret: false,
      message: `${message}; invoking the agent will fault`,
    }));
  });
}

function unreadableApprovals(agent: WarnedAgent): MissingReference[] {
  return toolsOf(agent).flatMap(({ approval }, index) => {
    if (typeof approval !== 'string' || approval === 'always' || approval === 'never') return [];
    try {
      template(approval, { mode: 'loose' });
      return [];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return [
        {
          pointer: `/configuration/tools/${index}/approval`,
          names_secret: false,
          message: `cannot be evaluated, so every call needs an approval: ${reason}`,
        },
      ];
    }
  });
}

function toolsOf(agent: WarnedAgent): Record<string, unknown>[] {
  const tools = agent.configuration?.['tools'];
  return MODEL_KINDS.has(kindOf(agent)) && Array.isArray(tools) ? tools.filter(isRecord) : [];
}

function unbound(agent: WarnedAgent): MissingReference[] {
  return PARTS.flatMap((part) => {
    const name = unboundName(settingsOf(agent, part));
    return name === null
      ? []
      : [
          {
            pointer: `/${part}`,
            names_secret: true,
            message: `the secret ${name} of this agent is not bound; invoking the agent will fault`,
          },
        ];
  });
}

function kindOf({ type, execution_type: executionType, configuration }: WarnedAgent): string {
  return agentKind({ type, execution_type: executionType ?? null, configuration: configuration ?? null });
}
