import * as z from 'zod';

import { checkInstallable, installItem } from '../../../domain/marketplace/install.ts';
import { getItem, getVersion, lockItem, stateOf, withdrawItem } from '../../../domain/marketplace/items.ts';
import { keyOf, listItems, type ItemCursor, type ItemSort } from '../../../domain/marketplace/lists.ts';
import { submitItem } from '../../../domain/marketplace/submit.ts';
import type { AppDeps } from '../../app.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { decodeCursor, page } from '../../paging.ts';
import { idParams, pageQuery } from '../../schemas.ts';
import { moderationEndpoints } from './moderation-routes.ts';
import { installRecord, itemRecord, itemVersionRecord, presentInstall, presentItem, presentVersion } from './presenter.ts';
import { reviewEndpoints } from './review-routes.ts';
import { installation, itemCursors, itemFilters, newItem } from './schemas.ts';

const tags = ['marketplace'];

export function marketplaceEndpoints({ encryption }: Pick<AppDeps, 'encryption'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/marketplace/items',
      operationId: 'listMarketplaceItems',
      summary: 'Approved items, and the own ones whatever their status',
      tags,
      role: 'viewer',
      query: z.object({ ...pageQuery, ...itemFilters }),
      responses: { 200: z.array(itemRecord) },
      handler: async (c) => {
        const { limit, cursor, sort, ...filter } = c.query;
        const found = await listItems(c.em, c.actor, filter, positionOf(sort, cursor), limit + 1);
        const { items, headers } = page(c, found, limit, (state) => keyOf(sort, state));
        return { status: 200, body: items.map(presentItem), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/marketplace/items',
      operationId: 'submitMarketplaceItem',
      summary: 'Publish an own agent version or workflow revision; it waits for an admin',
      description:
        'The item is a snapshot without secrets: placeholders and literals of a configuration are listed in `requires.secrets`. ' +
        'Another version of the same agent or workflow becomes a version of its item; the one that was approved stays shown until then.',
      tags,
      role: 'builder',
      body: newItem,
      record: itemRecord,
      responses: { 201: itemRecord },
      errors: [409],
      handler: async (c) => {
        const item = await submitItem(c.em, encryption, c.actor, c.body);
        return { status: 201, body: presentItem(await stateOf(c.em, c.actor, item)), headers: { Location: `${c.baseUrl}/marketplace/items/${item.id}` } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/marketplace/items/{id}',
      operationId: 'getMarketplaceItem',
      summary: 'One item',
      tags,
      role: 'viewer',
      params: idParams,
      responses: { 200: itemRecord },
      handler: async (c) => ({ status: 200, body: presentItem(await stateOf(c.em, c.actor, await getItem(c.em, c.actor, c.params.id))) }),
    }),
    endpoint({
      method: 'DELETE',
      path: '/marketplace/items/{id}',
      operationId: 'withdrawMarketplaceItem',
      summary: 'Withdraw an item; installed copies stay, and it can be submitted again',
      tags,
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
      summary: 'One version of an item with its content, to look at before it is approved or installed',
      tags,
      role: 'viewer',
      params: z.object({ ...idParams.shape, version: z.string() }),
      responses: { 200: itemVersionRecord },
      handler: async (c) => {
        const item = await getItem(c.em, c.actor, c.params.id);
        return { status: 200, body: presentVersion(await getVersion(c.em, c.actor, item, c.params.version)) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/marketplace/items/{id}/install',
      operationId: 'installMarketplaceItem',
      summary: 'Copy an item into the own registry',
      description:
        'Secrets are bound by name to own ones and never by an equal name; the others stay `<UNBOUND:NAME>`, which no call resolves. ' +
        "A workflow's agents are used where the caller may use them, else installed from their items; what is missing is named.",
      tags,
      role: 'builder',
      params: idParams,
      body: installation,
      responses: { 201: installRecord },
      errors: [409],
      handler: async (c) => {
        const item = await lockItem(c.em, c.actor, c.params.id);
        c.checkSyntax();
        checkInstallable(c.actor, item);
        const installed = await installItem(c.em, encryption, c.actor, item, c.body.secrets ?? {});
        return { status: 201, body: presentInstall(installed), headers: { Location: `${c.baseUrl}/${item.kind}s/${installed.ref_id}` } };
      },
    }),
    ...reviewEndpoints(),
    ...moderationEndpoints(),
  ];
}

function positionOf(sort: ItemSort, cursor: string | undefined): ItemCursor {
  switch (sort) {
    case 'new':
      return { sort, after: decodeCursor(cursor, itemCursors.new) };
    case 'installs':
      return { sort, after: decodeCursor(cursor, itemCursors.installs) };
    case 'rating':
      return { sort, after: decodeCursor(cursor, itemCursors.rating) };
  }
}
