import * as z from 'zod';

import { getItem, lockItem } from '../../../domain/marketplace/items.ts';
import { checkReviewer, listReviews, putReview } from '../../../domain/marketplace/reviews.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { decodeCursor, idCursor, page } from '../../paging.ts';
import { idParams, pageQuery } from '../../schemas.ts';
import { presentReview, reviewRecord } from './presenter.ts';
import { newReview } from './schemas.ts';

const tags = ['marketplace'];

export function reviewEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/marketplace/items/{id}/reviews',
      operationId: 'listMarketplaceReviews',
      summary: 'The reviews of an item, newest first',
      tags,
      role: 'viewer',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(reviewRecord) },
      handler: async (c) => {
        const item = await getItem(c.em, c.actor, c.params.id);
        const { limit, cursor } = c.query;
        const before = decodeCursor(cursor, idCursor)?.[0];
        const { items, headers } = page(c, await listReviews(c.em, item, { before, limit: limit + 1 }), limit, ({ review }) => [review.id]);
        return { status: 200, body: items.map(presentReview), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/marketplace/items/{id}/reviews',
      operationId: 'reviewMarketplaceItem',
      summary: 'Rate an item that you installed; a second review replaces your first',
      description: '201 for the first one, 200 for a change. Not for the own item, and only for those who installed it.',
      tags,
      role: 'viewer',
      params: idParams,
      body: newReview,
      record: reviewRecord,
      responses: { 200: reviewRecord, 201: reviewRecord },
      errors: [403, 409],
      handler: async (c) => {
        const item = await lockItem(c.em, c.actor, c.params.id);
        c.checkSyntax();
        const install = await checkReviewer(c.em, c.actor, item);
        const { created, ...state } = await putReview(c.em, c.actor, item, install, { rating: c.body.rating, text: c.body.text ?? null });
        return { status: created ? 201 : 200, body: presentReview(state) };
      },
    }),
  ];
}
