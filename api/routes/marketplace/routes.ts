import * as z from 'zod';

import { checkInstallable, installItem } from '../../../domain/marketplace/install.ts';
import { planInstall } from '../../../domain/marketplace/install-plan.ts';
import { installerFor } from '../../../domain/marketplace/installer.ts';
import { getItem, getVersion, lockItem, stateOf, withdrawItem } from '../../../domain/marketplace/items.ts';
import { keyOf, listItems, type ListedItem } from '../../../domain/marketplace/lists.ts';
import { submitAgents } from '../../../domain/marketplace/submit-with-agents.ts';
import { requiredBy, submitItem } from '../../../domain/marketplace/submit.ts';
import { teamFor } from '../../../domain/teams/holding.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { viewQuery } from '../../listed.ts';
import { readPage } from '../../paging.ts';
import { idParams, pageQuery, uuid } from '../../schemas.ts';
import { moderationEndpoints } from './moderation-routes.ts';
import {
  installPlanRecord,
  installRecord,
  itemRecord,
  itemVersionRecord,
  listedItem,
  presentInstall,
  presentItem,
  presentListedItem,
  presentPlan,
  presentVersion,
  submissionRecord,
} from './presenter.ts';
import { reviewEndpoints } from './review-routes.ts';
import { installation, itemCursors, itemFilters, newItem } from './schemas.ts';

const TAGS = ['marketplace'];

export function marketplaceEndpoints({ encryption }: Pick<AppDeps, 'encryption'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/marketplace/items',
      operationId: 'listMarketplaceItems',
      summary: 'List approved items, and own items in any status',
      tags: TAGS,
      role: 'viewer',
      query: z.object({ ...pageQuery, ...viewQuery, ...itemFilters }),
      responses: { 200: z.array(listedItem) },
      handler: async (c) => {
        const order = {
          key: itemCursors[c.query.sort],
          valuesOf: (item: ListedItem) => keyOf(c.query.sort, item),
        };
        const { items, headers } = await readPage(c, order, (page, { sort, ...filter }) =>
          listItems(c.em, c.actor, filter, page.after ?? { sort }, page.limit),
        );
        return { status: 200, body: items.map((state) => presentListedItem(c.actor, state)), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/marketplace/items',
      operationId: 'submitMarketplaceItem',
      summary: 'Submit an own agent version or workflow revision for approval by an admin',
      description:
        'The item is a snapshot without secrets: `requires.secrets` lists the placeholders and literal ' +
        'secrets of its configuration. ' +
        'Another version of the same agent or workflow becomes a version of its item; the approved version ' +
        'stays visible until the new one is approved. ' +
        'With `include_agents`, own private agents that a workflow uses are submitted too, also if the ' +
        'version itself was submitted before; each needs its own approval.',
      tags: TAGS,
      role: 'builder',
      body: newItem,
      record: itemRecord,
      responses: { 201: submissionRecord },
      errors: [409],
      handler: async (c) => {
        const { include_agents: withAgents, ...given } = c.body;
        const item = await submitItem(c.em, encryption, c.actor, given, { keeps: withAgents === true });
        const included =
          withAgents === true
            ? await submitAgents(c.em, encryption, c.actor, await requiredBy(c.em, item, given.version))
            : null;
        const body = {
          ...presentItem(c.actor, await stateOf(c.em, c.actor, item)),
          ...(included ? { included } : {}),
        };
        return { status: 201, body, headers: { Location: `${c.baseUrl}/marketplace/items/${item.id}` } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/marketplace/items/{id}',
      operationId: 'getMarketplaceItem',
      summary: 'Get a marketplace item',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: itemRecord },
      handler: async (c) => ({
        status: 200,
        body: presentItem(c.actor, await stateOf(c.em, c.actor, await getItem(c.em, c.actor, c.params.id))),
      }),
    }),
    endpoint({
      method: 'DELETE',
      path: '/marketplace/items/{id}',
      operationId: 'withdrawMarketplaceItem',
      summary: 'Withdraw an item; installed copies remain, and it can be submitted again',
      tags: TAGS,
      role: 'builder',
      params: idParams,
      responses: { 204: null },
      handler: async (c) => {
        await withdrawItem(c.em, c.actor, c.params.id);
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/marketplace/items/{id}/versions/{version}',
      operationId: 'getMarketplaceVersion',
      summary: 'Get one version of an item with its content, for inspection before approval or installation',
      tags: TAGS,
      role: 'viewer',
      params: z.object({ ...idParams.shape, version: z.string() }),
      responses: { 200: itemVersionRecord },
      handler: async (c) => {
        const item = await getItem(c.em, c.actor, c.params.id);
        return { status: 200, body: presentVersion(await getVersion(c.em, c.actor, item, c.params.version)) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/marketplace/items/{id}/install',
      operationId: 'planMarketplaceInstall',
      summary: 'Get what an installation by the caller would use, and which secrets it can bind',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      query: z.object({ team_id: uuid.optional() }),
      responses: { 200: installPlanRecord },
      errors: [409, 422],
      handler: async (c) => {
        const item = await getItem(c.em, c.actor, c.params.id);
        checkInstallable(c.actor, item);
        const installer = installerFor(c.actor, await teamFor(c.em, c.actor, c.query.team_id));
        return { status: 200, body: presentPlan(item, await planInstall(c.em, installer, item)) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/marketplace/items/{id}/install',
      operationId: 'installMarketplaceItem',
      summary: "Install a copy of an item in the caller's registry, or in that of a team",
      description:
        'Bind required secrets to own secrets explicitly; equal names are not bound automatically. ' +
        "Unbound secrets remain `<UNBOUND:NAME>`, which no call resolves. A workflow's agents are reused " +
        'if the caller may use them, else installed from their items; `missing` lists what is ' +
        "unavailable. If the caller already has a copy of the same publisher's same content, that copy is " +
        'returned (200), with agents that have become available since.',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      body: installation,
      responses: { 200: installRecord, 201: installRecord },
      errors: [409],
      handler: async (c) => {
        const item = await lockItem(c.em, c.actor, c.params.id);
        c.checkSyntax();
        checkInstallable(c.actor, item);
        const { secrets, team_id: teamId } = c.body;
        const installer = installerFor(c.actor, await teamFor(c.em, c.actor, teamId));
        const installed = await installItem(c.em, encryption, installer, item, secrets ?? {});
        return {
          status: installed.repeated ? 200 : 201,
          body: presentInstall(installed),
          headers: { Location: `${c.baseUrl}/${item.kind}s/${installed.ref_id}` },
        };
      },
    }),
    ...reviewEndpoints(),
    ...moderationEndpoints(),
  ];
}
