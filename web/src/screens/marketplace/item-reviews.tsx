/** Ratings by people who have installed an item, and one's own to write or change. */
import type { MarketplaceItem, MarketplaceReview } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { usePages } from '../../data/record-pages.ts';
import { user } from '../../data/session.ts';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { versionText } from './facts.tsx';
import { refreshItem } from './market-data.ts';
import css from './marketplace.module.css';
import { words } from './words.ts';

export function ItemReviews({ item }: { item: MarketplaceItem }) {
  const { id, kind } = item;
  const list = usePages(['item-reviews', id], (cursor) =>
    client.page('listMarketplaceReviews', { path: { id }, query: { cursor: cursor ?? undefined } }),
  );
  return (
    <div class={page['parts']}>
      {item.can.includes('review') ? (
        <OwnReview item={item} onSaved={() => list.reload()} />
      ) : (
        <p class="muted">{whyNot(item)}</p>
      )}
      <ListState list={list} empty={<p>{words.noReviews}</p>}>
        <ul class={css['reviews']} aria-label={words.views.reviews}>
          {list.items.value.map((review) => (
            <Review key={review.id} kind={kind} review={review} />
          ))}
        </ul>
      </ListState>
    </div>
  );
}

function whyNot({ publisher, status }: MarketplaceItem): string {
  if (publisher.id === user.value?.id) return words.ownItem;
  return status === 'approved' ? words.installFirst : words.notYet;
}

function Review({ kind, review }: { kind: MarketplaceItem['kind']; review: MarketplaceReview }) {
  return (
    <li class={css['card']}>
      <p class={page['facts']}>
        <span role="img" aria-label={words.stars(review.rating)}>
          {'★'.repeat(review.rating)}
          {'☆'.repeat(5 - review.rating)}
        </span>
        <span>{review.user.id === user.value?.id ? words.you : review.user.username}</span>
        <span>{versionText(kind, review.version)}</span>
        <When at={review.updated_at} />
      </p>
      {review.text !== null && <p class={css['text']}>{review.text}</p>}
    </li>
  );
}

const schema = {
  type: 'object',
  required: ['rating'],
  properties: {
    rating: {
      title: words.rating,
      oneOf: ([5, 4, 3, 2, 1] as const).map((rating) => ({ const: rating, title: words.ratings[rating] })),
    },
    text: { type: 'string', title: words.reviewText, maxLength: 10_000 },
  },
};

function OwnReview({ item: { id }, onSaved }: { item: MarketplaceItem; onSaved: () => Promise<void> }) {
  const { data, error, refetch } = useQuery<MarketplaceReview | null>({
    queryKey: ['item', id, 'own-review'],
    queryFn: async ({ signal }) => {
      const query = { user_id: user.value?.id, limit: 1 };
      const { items } = await client.page('listMarketplaceReviews', { path: { id }, query, signal });
      return items[0] ?? null;
    },
  });
  if (error !== null) return <ProblemText error={error} retry={() => void refetch()} />;
  if (data === undefined) return <div aria-busy="true" />;
  return (
    <section class={css['narrow']}>
      <h2>{words.yourReview}</h2>
      <RecordForm
        key={data?.updated_at}
        id="review"
        sections={[{ id: 'review', member: '', schema, values: data === null ? null : { ...data } }]}
        submit={data === null ? words.post : words.change}
        onSubmit={async (body) => {
          // The form's schema is that of the request.
          const given = body as { rating: number; text?: string | null };
          await client.call('reviewMarketplaceItem', { path: { id }, body: given });
          tell(words.posted);
          await Promise.all([refreshItem(id), onSaved()]);
        }}
      />
    </section>
  );
}
