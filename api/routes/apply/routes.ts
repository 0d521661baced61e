/** Sets of resources: docs/apply.md. */
import * as z from 'zod';

import { heldBy, writeAudit } from '../../../domain/audit/write.ts';
import { applySet } from '../../../domain/apply/apply.ts';
import { listApplied } from '../../../domain/apply/applied.ts';
import type { PlanItem } from '../../../domain/apply/plan.ts';
import type { ResourceKind } from '../../../domain/apply/resources.ts';
import { pinnedBefore } from '../../../domain/apply/workflows.ts';
import { checkPerson } from '../../../domain/auth/own-sessions.ts';
import type { Resource as Pinned } from '../../../language/definition/resources.ts';
import { ResourceSession, type FetchedResources } from '../../../domain/registry/external-resources.ts';
import { resolveSecret } from '../../../domain/secrets/service.ts';
import { teamFor } from '../../../domain/teams/holding.ts';
import { wakeTargets } from '../../../domain/delivery/reconcile.ts';
import { originOf } from '../../audit-trail.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { orderBy, readPage } from '../../paging.ts';
import { pageQuery, uuid } from '../../schemas.ts';
import { requireScope } from '../../scopes.ts';
import { checkUnlimited } from '../webhooks/routes.ts';
import { appliedRecord, applyBody, planRecord, presentApplied, resourcesOf, setName } from './schemas.ts';

const TAGS = ['apply'];
/** What a token needs for each kind of a set. */
const SCOPE_OF = {
  agent: 'agents:write',
  workflow: 'workflows:write',
  webhook: 'webhooks:write',
  hook: 'events:write',
  event_source: 'events:write',
} as const;
/** What changes nothing. */
const IDLE: ReadonlySet<PlanItem['action']> = new Set(['unchanged', 'keep']);
const byRow = orderBy<{ id: string }, string>(z.guid(), ({ id }) => id);

export function applyEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/apply',
      operationId: 'applySet',
      summary: 'Apply a set of agents, workflows, webhooks and event sources: all of it or nothing',
      description:
        'Creates and updates what the set names, and with `prune` archives what it no longer names. It ' +
        'changes only what the same set has made. If a resource has a problem, nothing is applied, ' +
        'and `problems` of the 422 names each with `kind`, `name` and `pointer`. If something would be ' +
        'archived and `digest` is not that of the plan, the answer is 409 with the plan.',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      body: applyBody,
      yaml: 'object',
      responses: { 200: planRecord },
      errors: [409],
      prepare: async (c) => {
        const { set, resources, team_id: teamId } = c.body;
        const holder = (await teamFor(c.em, c.actor, teamId)) ?? c.actor.id;
        const secret = (name: string): Promise<string | null> =>
          resolveSecret(c.em.fork(), deps.encryption, holder, name);
        const session = new ResourceSession({ fetcher: deps.resources, secret }, { ofSet: true });
        const workflows = c
          .measure(() => resourcesOf(resources, c.yaml))
          .filter((resource) => resource.kind === 'workflow');
        const fetched = new Map<string, FetchedResources>();
        for (const { name, fields } of workflows) {
          const before = (): Promise<Pinned[]> => pinnedBefore(c.em, holder, set, name);
          fetched.set(name, await session.fetchFor(fields.definition, name, before, c.measure));
        }
        return fetched;
      },
      handler: async (c) => {
        const { set, prune, dry_run, digest, ...body } = c.body;
        const teamId = await teamFor(c.em, c.actor, body.team_id);
        const resources = c.measure(() => resourcesOf(body.resources, c.yaml));
        const checkKind = (kind: ResourceKind): void => requireScope(c.actor, SCOPE_OF[kind]);
        for (const { kind } of resources) checkKind(kind);
        const due = new Set<string>();
        const applied = await applySet(
          {
            em: c.em,
            actor: c.actor,
            teamId,
            holder: teamId ?? c.actor.id,
            encryption: deps.encryption,
            limits: deps.env,
            baseUrl: deps.env.BASE_URL,
            checkKind,
            checkPerson: () => checkPerson(claimsOf(c.ctx)),
            checkUnlimited: () => checkUnlimited(c),
            checkAddress: (url) => deps.calledAddresses.checkDelivery(url),
            refusalOfAgent: await deps.calledAddresses.refusalsOfAgents(),
            due,
            fetched: c.prepared ?? new Map(),
            measure: c.measure,
          },
          { set, resources, prune, dry_run, digest },
        );
        await auditRecords(c, { set, teamId }, dry_run ? [] : applied.plan);
        const targets = [...due].map((id) => ({ id, holder_id: teamId ?? c.actor.id }));
        if (due.size > 0) c.afterCommit(async () => void (await wakeTargets(deps.temporal, targets)));
        return { status: 200, body: { set, dry_run, ...applied } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/apply',
      operationId: 'listAppliedResources',
      summary: "List what the caller's sets, or those of a team, have made, oldest first",
      tags: TAGS,
      role: 'viewer',
      query: z.object({ ...pageQuery, set: setName.optional(), team_id: uuid.optional() }),
      responses: { 200: z.array(appliedRecord) },
      errors: [422],
      handler: async (c) => {
        const { items, headers } = await readPage(c, byRow, async (page, { team_id: teamId, ...filter }) =>
          listApplied(c.em, (await teamFor(c.em, c.actor, teamId, 'viewer')) ?? c.actor.id, filter, page),
        );
        return { status: 200, body: items.map(presentApplied), headers };
      },
    }),
  ];
}

/** An entry for each record, so that the log of a record has what a set has done to it. */
async function auditRecords(
  { em, ctx, audit }: Pick<EndpointContext, 'em' | 'ctx' | 'audit'>,
  { set, teamId }: { set: string; teamId: string | null },
  plan: readonly PlanItem[],
): Promise<void> {
  const held = heldBy(teamId).data;
  audit.note({ data: { set, ...held } });
  for (const { kind, id, action, changes } of plan.filter((item) => !IDLE.has(item.action)))
    await writeAudit(em, originOf(ctx), {
      action: 'applySet',
      objectType: kind,
      objectId: id,
      data: { set, done: action, changes: Object.fromEntries(changes.map((name) => [name, {}])), ...held },
    });
}
