import * as z from 'zod';

import { getItem, lockItem } from '../../../domain/marketplace/items.ts';
import { checkReviewer, listReviews, putReview } from '../../../domain/marketplace/reviews.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { orderBy, readPage } from '../../paging.ts';
import { idParams, pageQuery, uuid } from '../../schemas.ts';
import { presentReview, reviewRecord } from './presenter.ts';
import { newReview } from './schemas.ts';

const TAGS = ['marketplace'];
const byReviewId = orderBy<{ review: { id: string } }, string>(z.guid(), ({ review }) => review.id);

export function reviewEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/marketplace/items/{id}/reviews',
      operationId: 'listMarketplaceReviews',
      summary: "List an item's reviews, newest first",
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      query: z.object({
        ...pageQuery,
        user_id: uuid.optional().meta({ description: 'Only the review by this user.' }),
      }),
      responses: { 200: z.array(reviewRecord) },
      handler: async (c) => {
        const item = await getItem(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, byReviewId, (page, filter) =>
          listReviews(c.em, item, filter.user_id, page),
        );
        return { status: 200, body: items.map(presentReview), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/marketplace/items/{id}/reviews',
      operationId: 'reviewMarketplaceItem',
      summary: 'Review an installed item; a second review replaces the first',
      description:
        'Returns 201 for the first review and 200 for a change. ' +
        'Only users who installed the item may review it, and nobody may review their own item.',
      tags: TAGS,
      role: 'viewer',
      clientRole: 'builder',
      params: idParams,
      body: newReview,
      record: reviewRecord,
      responses: { 200: reviewRecord, 201: reviewRecord },
      errors: [403, 409],
      handler: async (c) => {
        const item = await lockItem(c.em, c.actor, c.params.id);
        c.checkSyntax();
        const install = await checkReviewer(c.em, c.actor, item);
        const { created, ...state } = await putReview(c.em, c.actor, item, install, {
          rating: c.body.rating,
          text: c.body.text ?? null,
        });
        return { status: created ? 201 : 200, body: presentReview(state) };
      },
    }),
  ];
}
