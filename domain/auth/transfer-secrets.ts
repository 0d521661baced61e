/**
 * A leaver's secrets go with what uses them. Where the heir has another secret of the same name, theirs must not be read in its
 * place: it would leave for an address that the heir never chose. So the leaver's gets a name of its own, and what is handed over
 * reads that one.
 */
import { replacePlaceholders } from '../../contracts/placeholders.ts';
import { AgentVersion } from '../../db/entities/agent-version.ts';
import { Agent } from '../../db/entities/agent.ts';
import { Workflow } from '../../db/entities/workflow.ts';
import type { EntityManager } from '../../db/orm.ts';
import { conflict } from '../errors.ts';
import { bindSecrets, secretsOf } from '../registry/definition-secrets.ts';
import { getRevision, updateWorkflow } from '../registry/workflow-service.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { putSecret, readSecrets } from '../secrets/service.ts';
import type { Actor } from './actor.ts';

/** Old names → new ones, of the secrets that could not keep theirs. */
export type Renamed = Record<string, string>;

/** Copies them: runs under way still read the leaver's. @returns how many, and those with a new name. */
export async function handOverSecrets(em: EntityManager, encryption: Encryption, args: { from: string; to: string }): Promise<{ copied: number; renamed: Renamed }> {
  const theirs = new Map((await readSecrets(em, encryption, args.to)).map(({ name, value }) => [name, value]));
  const taken = new Set(theirs.keys());
  const renamed: Renamed = {};
  let copied = 0;
  for (const { name, value } of await readSecrets(em, encryption, args.from)) {
    if (theirs.get(name) === value) continue;
    const free = freeName(name, taken);
    if (free !== name) renamed[name] = free;
    taken.add(free);
    await putSecret(em, encryption, args.to, { name: free, value });
    copied += 1;
  }
  return { copied, renamed };
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count += 1) free = `${name.slice(0, 245)}_${count}`;
  return free;
}

/** In every version, published ones too: what they say stays the same, only the store calls it otherwise. */
export async function renameInAgents(em: EntityManager, ownerId: string, renamed: Renamed): Promise<void> {
  const names = Object.keys(renamed);
  if (names.length === 0) return;
  const rename = <T>(value: T): T => renamePlaceholders(value, renamed);
  const agents = await em.find(Agent, { owner_id: ownerId });
  for (const agent of agents) {
    agent.configuration = rename(agent.configuration);
    agent.authentication_config = rename(agent.authentication_config);
  }
  for (const version of await em.find(AgentVersion, { agent_id: { $in: agents.map(({ id }) => id) } })) version.configuration = rename(version.configuration);
  await em.flush();
}

/**
 * A new revision of each workflow that reads one of them. 409 where that cannot be: runs under way go on with the old revision
 * under the new owner's rights, and a name that is hidden from us cannot be changed.
 */
export async function renameInWorkflows(em: EntityManager, actor: Actor, ownerId: string, renamed: Renamed): Promise<void> {
  if (Object.keys(renamed).length === 0) return;
  for (const workflow of await em.find(Workflow, { owner_id: ownerId, archived_at: null })) {
    const revision = await getRevision(em, workflow, workflow.revision);
    if (!revision.valid) continue;
    const read = secretsOf(revision.definition).filter((name) => Object.hasOwn(renamed, name));
    if (read.length === 0) continue;
    const extra = { workflow_id: workflow.id, secrets: read };
    const [busy] = await em.execute<{ id: string }[]>(
      `select id from run where workflow_id = ? and status in ('pending', 'running', 'waiting', 'suspended') limit 1`,
      [workflow.id],
    );
    if (busy) {
      throw conflict('workflow_in_use', `The new owner has other secrets of the names that the workflow ${JSON.stringify(workflow.name)} reads, and it has runs under way: cancel them or wait for their end.`, { ...extra, run_id: busy.id });
    }
    const definition = bindSecrets(revision.definition, (name) => renamed[name] ?? name);
    if (definition === null) throw conflict('secret_names_taken', `The workflow ${JSON.stringify(workflow.name)} reads secrets of names that the new owner has for others.`, extra);
    await updateWorkflow(em, actor, { workflow, revision }, { definition });
  }
}

function renamePlaceholders<T>(value: T, renamed: Renamed): T {
  const walk = (item: unknown): unknown => {
    if (typeof item === 'string') return replacePlaceholders(item, (name) => `<${renamed[name] ?? name}>`);
    if (Array.isArray(item)) return item.map(walk);
    if (typeof item !== 'object' || item === null) return item;
    return Object.fromEntries(Object.entries(item).map(([key, entry]) => [key, walk(entry)]));
  };
  // Only strings are replaced, by strings.
  return walk(value) as T;
}
