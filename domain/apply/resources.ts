/** Resources of a set, as `POST /apply` describes them, and what the appliers of each kind share. */
import { secretEndpoint } from '../../contracts/secret-endpoint.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import type { FieldError } from '../errors.ts';
import type { SourceFields } from '../events/sources.ts';
import type { HookFields } from '../hooks/service.ts';
import type { Limits } from '../limits.ts';
import type { Measure } from '../measure.ts';
import type { AgentFields, SkillFields } from '../registry/agent-service.ts';
import type { RefusalOfAddress } from '../registry/agent-warnings.ts';
import type { KeptRunners } from '../registry/runners.ts';
import type { NewWorkflow } from '../registry/workflow-service.ts';
import type { FetchedResources } from '../registry/external-resources.ts';
import type { Encryption } from '../secrets/encryption.ts';

export const RESOURCE_KINDS = ['agent', 'workflow', 'webhook', 'hook', 'event_source'] as const;
export type ResourceKind = (typeof RESOURCE_KINDS)[number];

export interface AgentResource {
  kind: 'agent';
  name: string;
  fields: AgentFields;
  /** Null: the set does not say. */
  skills: SkillFields[] | null;
  /** Whether to publish the version, if it is a draft. */
  publish: boolean;
}

export interface WorkflowResource {
  kind: 'workflow';
  name: string;
  fields: NewWorkflow;
}

export interface WebhookResource {
  kind: 'webhook';
  name: string;
  url: string;
  types: string[];
  description: string | null;
  active: boolean;
  /** The name of one of the owner's secrets; null: the set does not say. */
  secret: string | null;
}

/** An inbound webhook. */
export interface HookResource {
  kind: 'hook';
  name: string;
  fields: HookFields;
}

export interface EventSourceResource {
  kind: 'event_source';
  name: string;
  fields: SourceFields;
}

export type Resource =
  AgentResource | WorkflowResource | WebhookResource | HookResource | EventSourceResource;

/** What all appliers work with; `em` is in the caller's transaction. */
export interface ApplyContext {
  em: EntityManager;
  actor: Actor;
  /** The team whose set it is; null: the actor's own. */
  teamId: string | null;
  /** The team or the actor: whose records, secrets and sets these are. */
  holder: string;
  encryption: Encryption;
  limits: Limits;
  /** Of the API, without a slash at its end. */
  baseUrl: string;
  /** @throws 403 for a token without the scope for records of this kind */
  checkKind(kind: ResourceKind): void;
  /** @throws 403 for a machine client: none may bind or unbind sources */
  checkPerson(): void;
  /** @throws 403 for a client or token that may see less than the user, to whom webhooks send everything */
  checkUnlimited(): void;
  /** @throws 422 for an address to which nothing may be delivered */
  checkAddress(url: string): Promise<void>;
  refusalOfAgent: RefusalOfAddress;
  /** What the definitions of workflows take from elsewhere, by the workflow's name. */
  fetched: ReadonlyMap<string, FetchedResources>;
  measure: Measure;
  /** Ids of the set's workflows by name. */
  workflowIds: Map<string, string>;
  /** Runners of the set's workflows as they are stored, once a workflow was compared with them. */
  keptRunners: WeakMap<WorkflowResource, KeptRunners>;
  /** Webhooks with deliveries that are due now. */
  due: Set<string>;
}

/** Reads and writes the records of one kind. All methods throw AppErrors for mistakes of the resource. */
export interface Applier<R extends Resource, State> {
  /** One of the holder's records, locked, also if it is archived. */
  find(context: ApplyContext, id: string): Promise<State | null>;
  /** The holder's records that a person could take for the resource. */
  alike(context: ApplyContext, resource: R): Promise<{ id: string; state: State }[]>;
  /** Whether records of this kind are told apart by their names. */
  isNamed: boolean;
  /** Names of the fields in which the record differs from the resource. */
  changes(context: ApplyContext, state: State, resource: R): Promise<string[]>;
  /** @returns the new record's id */
  create(context: ApplyContext, resource: R): Promise<string>;
  update(context: ApplyContext, state: State, resource: R): Promise<void>;
  archive(context: ApplyContext, state: State): Promise<void>;
  /** What somebody should know who applies these resources, by the ids that their records have now. */
  warnings?(
    context: ApplyContext,
    applied: readonly { resource: R; id: string }[],
  ): Promise<ReadonlyMap<string, FieldError[]>>;
}

/** Names of the holder's secrets among these. */
export async function existingSecrets(
  { em, holder }: ApplyContext,
  names: readonly string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set();
  const rows = await em.execute<{ name: string }[]>(
    `select name from secret
      where owner_id = ? and name in (select jsonb_array_elements_text(?::jsonb))`,
    [holder, JSON.stringify(names)],
  );
  return new Set(rows.map(({ name }) => name));
}

export function unknownSecret(
  { teamId }: Pick<ApplyContext, 'teamId'>,
  pointer: string,
  name: string,
): FieldError {
  return {
    pointer,
    code: 'unknown_secret',
    message: `there is no secret ${name}: store it with ${secretEndpoint(name, teamId)}`,
  };
}
