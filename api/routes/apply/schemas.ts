/** Requests and records of `POST /apply`. */
import * as z from 'zod';

import { PLAN_ACTIONS, type PlanItem } from '../../../domain/apply/plan.ts';
import type { AppliedRow } from '../../../domain/apply/applied.ts';
import { RESOURCE_KINDS, type Resource } from '../../../domain/apply/resources.ts';
import { text, timestamp, userReference, uuid } from '../../schemas.ts';
import { fieldsOfNew, skillOfNew } from '../agents/fields.ts';
import { newAgent } from '../agents/schemas.ts';
import { fieldsOfNewSource, sourceFields } from '../event-sources/routes.ts';
import { fieldsOfNewHook, hookFields } from '../hooks/routes.ts';
import { webhookFields } from '../webhooks/routes.ts';
import { newWorkflow } from '../new-workflow.ts';
import { checkTexts, writtenDefinition, type YamlBody } from '../../yaml-body.ts';

const MAX_RESOURCES = 200;

const agent = z
  .strictObject({
    kind: z.literal('agent'),
    ...newAgent.omit({ team_id: true }).shape,
    publish: z
      .boolean()
      .default(true)
      .meta({ description: 'Publish the version, so that workflows use it.' }),
  })
  .meta({
    id: 'AgentResource',
    description:
      'In `configuration`, `workflow_id` may be `workflow:<name>`: a workflow of this set. Credentials are ' +
      'placeholders of secrets, such as `<API_KEY>`.',
  });
const workflow = z
  .strictObject({ kind: z.literal('workflow'), ...newWorkflow.omit({ team_id: true }).shape })
  .meta({ id: 'WorkflowResource' });
const webhook = z
  .strictObject({
    kind: z.literal('webhook'),
    name: text({ min: 1, max: 255 }).meta({ description: 'Identifies the webhook in its set.' }),
    url: webhookFields.url,
    types: webhookFields.types.nullish(),
    description: webhookFields.description.nullish(),
    active: z.boolean().nullish(),
    secret: z
      .string()
      .regex(/^<[A-Z][A-Z0-9_]{0,254}>$/, 'must be the placeholder of a secret, such as <HOOK_SECRET>')
      .nullish()
      .meta({ description: 'Placeholder of a secret whose value is `whsec_…`; needed to create it.' }),
  })
  .meta({ id: 'WebhookResource' });

const hook = z
  .strictObject({ kind: z.literal('hook'), ...hookFields })
  .meta({ id: 'HookResource', description: 'An inbound webhook.' });
const eventSource = z.strictObject({ kind: z.literal('event_source'), ...sourceFields }).meta({
  id: 'EventSourceResource',
  description: 'Only a person may create, change or archive one. Its `source` names it in the set.',
});

export const setName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,99}$/, 'must be a name such as payments-prod')
  .meta({ description: 'Name of the set; those of each user and team are separate.' });

export const applyBody = z.object({
  set: setName,
  team_id: uuid.nullish().meta({ description: 'A team, for which everything is made. Default: for you.' }),
  resources: z
    .array(z.discriminatedUnion('kind', [agent, workflow, webhook, hook, eventSource]))
    .max(MAX_RESOURCES),
  prune: z
    .boolean()
    .default(false)
    .meta({ description: 'Archive what the set has made before and does not name any more.' }),
  dry_run: z.boolean().default(false).meta({ description: 'Only answer with the plan.' }),
  digest: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be the digest of a plan')
    .optional()
    .meta({ description: 'Digest of the plan that you have seen; needed if something is archived.' }),
});

const planWarning = z
  .object({
    pointer: z.string().meta({ description: 'Leads into the resource.' }),
    code: z.string(),
    message: z.string(),
  })
  .meta({ id: 'PlanWarning' });

export const planRecord = z
  .object({
    set: z.string(),
    dry_run: z.boolean(),
    digest: z.string(),
    plan: z
      .array(
        z.object({
          kind: z.enum(RESOURCE_KINDS),
          name: z.string(),
          id: uuid.nullable().meta({ description: 'Null in a dry run for what would be created.' }),
          action: z.enum(PLAN_ACTIONS).meta({
            description:
              '`keep`: the set has made it before, does not name it any more, and `prune` is not set.',
          }),
          changes: z.array(z.string()).meta({ description: 'Names of the fields that an update changes.' }),
          warnings: z.array(planWarning).meta({
            description:
              'Such as a source of functions that is not available now: its content of the revision before ' +
              'is kept. Of agents, the warnings of their records.',
          }),
        }),
      )
      .meta({ description: 'In the order in which it is applied.' }),
  })
  .meta({ id: 'ApplyPlan' }) satisfies z.ZodType<{ plan: PlanItem[] }>;

export const appliedRecord = z
  .object({
    id: uuid.meta({ description: 'Id of the record.' }),
    set: z.string(),
    kind: z.enum(RESOURCE_KINDS),
    name: z.string(),
    applied_by: userReference,
    applied_at: timestamp.meta({ description: 'When the set last changed it.' }),
    archived_at: timestamp.nullable().meta({ description: 'When the set pruned it.' }),
  })
  .meta({ id: 'AppliedResource' });

export function presentApplied(row: AppliedRow): z.input<typeof appliedRecord> {
  const { set_name: set, kind, name, resource_id: id, applied_by, applied_by_name: username } = row;
  return {
    id,
    set,
    kind,
    name,
    applied_by: { id: applied_by, username },
    applied_at: new Date(row.applied_at).toISOString(),
    archived_at: row.archived_at === null ? null : new Date(row.archived_at).toISOString(),
  };
}

type GivenResource = z.output<typeof applyBody>['resources'][number];

/** @throws 422 with the place of a mistake in a definition's text */
export function resourcesOf(given: readonly GivenResource[], yaml: YamlBody | null): Resource[] {
  checkTexts(
    given.map((resource) => (resource.kind === 'workflow' ? resource.definition : null)),
    '/resources',
  );
  return given.map((resource, index) => resourceOf(resource, yaml, `/resources/${index}`));
}

function resourceOf(given: GivenResource, yaml: YamlBody | null, pointer: string): Resource {
  switch (given.kind) {
    case 'agent': {
      const { kind, publish, ...body } = given;
      const skills = body.skills ? body.skills.map(skillOfNew) : null;
      return { kind, name: body.name, fields: fieldsOfNew(body), skills, publish };
    }
    case 'workflow': {
      const { kind, name, definition, description, visibility, tags, budget, runners } = given;
      const fields = {
        name,
        ...writtenDefinition(definition, yaml, `${pointer}/definition`),
        description: description ?? null,
        visibility: visibility ?? 'private',
        tags: tags ?? [],
        budget: budget ?? null,
        runners: runners ?? {},
      };
      return { kind, name, fields };
    }
    case 'webhook': {
      const { kind, name, url, types, description, active, secret } = given;
      return {
        kind,
        name,
        url,
        types: types ?? [],
        description: description ?? null,
        active: active ?? true,
        secret: secret?.slice(1, -1) ?? null,
      };
    }
    case 'hook':
      return { kind: given.kind, name: given.name, fields: fieldsOfNewHook(given) };
    case 'event_source':
      return { kind: given.kind, name: given.source, fields: fieldsOfNewSource(given) };
  }
}
