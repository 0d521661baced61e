import { lockItem, stateOf } from '../../../domain/marketplace/items.ts';
import { approveVersion, checkNotWithdrawn, rejectVersion } from '../../../domain/marketplace/moderation.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { idParams } from '../../schemas.ts';
import { itemRecord, presentItem } from './presenter.ts';
import { approval, rejection } from './schemas.ts';

const TAGS = ['marketplace'];

/** Moderation by administrators. */
export function moderationEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/marketplace/items/{id}/approve',
      operationId: 'approveMarketplaceItem',
      summary: 'Approve a version, so that everybody can see and install it',
      tags: TAGS,
      role: 'admin',
      params: idParams,
      body: approval,
      responses: { 200: itemRecord },
      errors: [409],
      handler: async (c) => {
        const item = await lockItem(c.em, c.actor, c.params.id);
        c.checkSyntax();
        checkNotWithdrawn(item);
        const { reason = null, ...reviewed } = c.body;
        await approveVersion(c.em, c.actor, item, { ...reviewed, reason });
        return { status: 200, body: presentItem(c.actor, await stateOf(c.em, c.actor, item)) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/marketplace/items/{id}/reject',
      operationId: 'rejectMarketplaceItem',
      summary: 'Reject a version or take down an approved one, with a reason for the publisher',
      tags: TAGS,
      role: 'admin',
      params: idParams,
      body: rejection,
      responses: { 200: itemRecord },
      errors: [409],
      handler: async (c) => {
        const item = await lockItem(c.em, c.actor, c.params.id);
        c.checkSyntax();
        checkNotWithdrawn(item);
        await rejectVersion(c.em, c.actor, item, c.body);
        return { status: 200, body: presentItem(c.actor, await stateOf(c.em, c.actor, item)) };
      },
    }),
  ];
}
