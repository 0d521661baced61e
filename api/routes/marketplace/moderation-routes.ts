import { lockItem, stateOf } from '../../../domain/marketplace/items.ts';
import { approveVersion, checkNotWithdrawn, rejectVersion } from '../../../domain/marketplace/moderation.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { idParams } from '../../schemas.ts';
import { itemRecord, presentItem } from './presenter.ts';
import { approval, rejection } from './schemas.ts';

const tags = ['marketplace'];

/** For administrators. */
export function moderationEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/marketplace/items/{id}/approve',
      operationId: 'approveMarketplaceItem',
      summary: 'Let everybody see and install a version',
      tags,
      role: 'admin',
      params: idParams,
      body: approval,
      responses: { 200: itemRecord },
      errors: [409],
      handler: async (c) => {
        const item = await lockItem(c.em, c.actor, c.params.id);
        c.checkSyntax();
        checkNotWithdrawn(item);
        await approveVersion(c.em, c.actor, item, { version: c.body.version, reason: c.body.reason ?? null });
        return { status: 200, body: presentItem(await stateOf(c.em, c.actor, item)) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/marketplace/items/{id}/reject',
      operationId: 'rejectMarketplaceItem',
      summary: 'Refuse a version, or take an approved one down, with a reason for its publisher',
      tags,
      role: 'admin',
      params: idParams,
      body: rejection,
      responses: { 200: itemRecord },
      errors: [409],
      handler: async (c) => {
        const item = await lockItem(c.em, c.actor, c.params.id);
        c.checkSyntax();
        checkNotWithdrawn(item);
        await rejectVersion(c.em, c.actor, item, { version: c.body.version, reason: c.body.reason });
        return { status: 200, body: presentItem(await stateOf(c.em, c.actor, item)) };
      },
    }),
  ];
}
