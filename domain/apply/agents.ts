import { canonicalJson } from '../../contracts/canonical-json.ts';
import { credentialsIn } from '../../contracts/credentials.ts';
import { escapeToken } from '../../contracts/json-pointer.ts';
import { secretEndpoint } from '../../contracts/secret-endpoint.ts';
import { AgentSkill } from '../../db/entities/agent-skill.ts';
import { Agent } from '../../db/entities/agent.ts';
import { LockMode } from '../../db/orm.ts';
import { holderOf } from '../auth/ownership.ts';
import { invalid, type FieldError } from '../errors.ts';
import { checkSecretLimit, checkSkillLimit, checkVersionLimits } from '../limits.ts';
import {
  createAgent,
  updateAgent,
  type AgentFields,
  type AgentState,
  type SkillFields,
} from '../registry/agent-service.ts';
import { agentWarnings, missingReferences } from '../registry/agent-warnings.ts';
import { addSkill, deleteSkill, updateSkill } from '../registry/agent-skills.ts';
import { contentOf, findVersion, publishVersion, sameContent } from '../registry/agent-versions.ts';
import type { AgentResource, Applier, ApplyContext } from './resources.ts';

/** `workflow_id` of an agent that serves a workflow of its set. */
const WORKFLOW_OF_SET = /^workflow:(.+)$/s;
const CONTENT = new Set(['configuration', 'input_schema', 'output_schema']);
const PARTS = ['configuration', 'authentication_config'] as const;

export const agentApplier: Applier<AgentResource, Agent> = {
  isNamed: true,
  find: ({ em, holder }, id) =>
    em.findOne(Agent, { id, holder_id: holder }, { lockMode: LockMode.PESSIMISTIC_WRITE }),
  async alike({ em, holder }, { name }) {
    const found = await em.find(Agent, { holder_id: holder, name }, { limit: 10 });
    return found.map((state) => ({ id: state.id, state }));
  },
  async changes(context, agent, resource) {
    const fields = resolvedFields(context, resource.fields);
    checkLiterals(context, fields);
    const names = Object.keys(fields).filter(
      (name) =>
        !CONTENT.has(name) &&
        canonicalJson(Reflect.get(fields, name)) !== canonicalJson(Reflect.get(agent, name)),
    );
    const version = await findVersion(context.em, agent, fields.version);
    return [
      ...names,
      ...(sameContent(contentOf(fields), contentOf(agent)) ? [] : ['configuration']),
      ...(resource.skills !== null && (await skillsDiffer(context, agent, resource.skills))
        ? ['skills']
        : []),
      ...(resource.publish && version?.status === 'draft' ? ['published'] : []),
    ];
  },
  async create(context, { fields, skills, publish }) {
    const { em, encryption, actor } = context;
    const wanted = resolvedFields(context, fields);
    checkLiterals(context, wanted);
    const team_id = context.teamId;
    const state = await createAgent(em, encryption, actor, { ...wanted, team_id }, skills ?? []);
    await settle(context, state, wanted, publish, true);
    return state.agent.id;
  },
  async update(context, agent, { fields, skills, publish }) {
    const { em, encryption, actor } = context;
    const { configuration: _c, input_schema: _i, output_schema: _o, ...others } = fields;
    const wanted = resolvedFields(context, fields);
    const before = agent.version;
    const state = await updateAgent(em, encryption, actor, agent, {
      ...others,
      authentication_config: wanted.authentication_config,
      content: () => contentOf(wanted),
    });
    if (skills !== null) await replaceSkills(context, agent, skills);
    await settle(context, state, wanted, publish, before !== agent.version);
  },
  async archive({ em }, agent) {
    if (agent.status !== 'active') return;
    agent.status = 'inactive';
    agent.updated_at = new Date();
    await em.flush();
  },
  // Those of the records, which have the fields of the resources now.
  async warnings({ em, actor, refusalOfAgent }, applied) {
    const agents = await em.find(Agent, { id: { $in: applied.map(({ id }) => id) } });
    const missing = await missingReferences(em, agents);
    return new Map(
      agents.map((agent) => {
        const warnings = agentWarnings(actor, agent, missing.get(agent.id) ?? [], refusalOfAgent);
        return [agent.id, warnings.map((warning) => ({ ...warning, code: 'agent_warning' }))];
      }),
    );
  },
};

/** Publishes the version, and checks what can only be checked on the stored record. */
async function settle(
  context: ApplyContext,
  { agent, warnings }: AgentState,
  wanted: AgentFields,
  publish: boolean,
  added: boolean,
): Promise<void> {
  const { em, limits } = context;
  const version = await findVersion(em, agent, agent.version);
  if (publish && version?.status === 'draft') await publishVersion(em, agent, version);
  await checkVersionLimits(em, limits, agent.id, { added });
  await checkSkillLimit(em, limits, agent.id);
  await checkSecretLimit(em, limits, holderOf(agent));
  const moved = PARTS.flatMap((part) => changedTexts(wanted[part], agent[part], `/${part}`));
  const errors = [
    ...moved.map((pointer) => literalSecret(context, pointer)),
    ...warnings
      .filter(({ code }) => code === undefined)
      .map(({ pointer, message }) => ({ pointer, code: 'missing_reference', message })),
  ];
  if (errors.length > 0) throw invalid(errors);
}

/** JSON pointers of the texts that saving has changed, which are the credentials that it moves to secrets. */
function changedTexts(wanted: unknown, saved: unknown, pointer: string): string[] {
  if (typeof wanted === 'string') return wanted === saved ? [] : [pointer];
  if (typeof wanted !== 'object' || wanted === null) return [];
  return Object.entries(wanted).flatMap(([key, value]) =>
    changedTexts(value, Reflect.get(Object(saved), key), `${pointer}/${escapeToken(key)}`),
  );
}

/** A file of a set is no place for credentials. */
function checkLiterals(context: ApplyContext, fields: AgentFields): void {
  const errors = PARTS.flatMap((part) => credentialsIn(fields[part], `/${part}`)).map((pointer) =>
    literalSecret(context, pointer),
  );
  if (errors.length > 0) throw invalid(errors);
}

function literalSecret({ teamId }: ApplyContext, pointer: string): FieldError {
  return {
    pointer,
    code: 'literal_secret',
    message:
      'a credential is written here: ' +
      `store it with ${secretEndpoint('{name}', teamId)}, and write <NAME> instead`,
  };
}

/** With the id of the workflow that `workflow:<name>` means. */
function resolvedFields({ workflowIds }: ApplyContext, fields: AgentFields): AgentFields {
  const { configuration } = fields;
  const workflow = configuration?.['workflow_id'];
  const name = typeof workflow === 'string' ? WORKFLOW_OF_SET.exec(workflow)?.[1] : undefined;
  if (name === undefined) return fields;
  const id = workflowIds.get(name);
  if (id === undefined) {
    const pointer = '/configuration/workflow_id';
    throw invalid([{ pointer, code: 'unknown_workflow', message: `the set has no workflow ${name}` }]);
  }
  return { ...fields, configuration: { ...configuration, workflow_id: id } };
}

const ofAgent = ({ em }: ApplyContext, agent: Agent): Promise<AgentSkill[]> =>
  em.find(AgentSkill, { agent_id: agent.id }, { orderBy: { id: 'asc' } });

async function skillsDiffer(context: ApplyContext, agent: Agent, wanted: SkillFields[]): Promise<boolean> {
  const current = await ofAgent(context, agent);
  const plain = (skills: readonly SkillFields[]): string =>
    canonicalJson(
      skills.map(({ name, description, tags, examples, input_modes, output_modes }) => {
        return { name, description, tags, examples, input_modes, output_modes };
      }),
    );
  return plain(current) !== plain(wanted);
}

/** Skills keep their ids by position. */
async function replaceSkills(context: ApplyContext, agent: Agent, wanted: SkillFields[]): Promise<void> {
  if (!(await skillsDiffer(context, agent, wanted))) return;
  const { em } = context;
  const current = await ofAgent(context, agent);
  for (const [index, fields] of wanted.entries()) {
    const skill = current[index];
    if (skill) await updateSkill(em, agent, skill, fields);
    else await addSkill(em, agent, fields);
  }
  for (const skill of current.slice(wanted.length)) await deleteSkill(em, agent, skill);
}
