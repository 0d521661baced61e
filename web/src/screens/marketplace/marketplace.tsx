/** The marketplace: approved items, and own ones in any status. The filter is the address. */
import type { ListedMarketplaceItem } from '../../../../client/index.ts';
import { ListScreen } from '../../app/list-screen.tsx';
import { query } from '../../app/router.ts';
import { marketItemAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall, user } from '../../data/session.ts';
import { Choice, SearchField, type Option } from '../../ui/filters.tsx';
import page from '../../ui/page.module.css';
import { publisherName, Rating, ShortDigest, versionText } from './facts.tsx';
import css from './marketplace.module.css';
import { words } from './words.ts';

const KINDS = ['agent', 'workflow'] as const;
const ORDERS = ['new', 'installs', 'rating'] as const;
const PAGE = 24;

export function Marketplace() {
  const { q = '', kind = '', tag = '', category = '', sort = '', whose = '' } = query.value;
  const list = usePages(['items', q, kind, tag, category, sort, whose], (cursor) =>
    client.page('listMarketplaceItems', {
      query: {
        limit: PAGE,
        view: 'summary',
        cursor: cursor ?? undefined,
        q: q === '' ? undefined : q,
        kind: KINDS.find((one) => one === kind),
        tag: tag === '' ? undefined : tag,
        category: category === '' ? undefined : category,
        sort: ORDERS.find((one) => one === sort),
        publisher: whose === 'mine' ? user.value?.id : undefined,
      },
    }),
  );
  return (
    <ListScreen
      name="marketplace"
      title={words.title}
      list={list}
      actions={
        mayCall('approveMarketplaceItem') && <a href={marketItemAddress('reviews')}>{words.toReviews}</a>
      }
      filters={<Filters />}
      filter={[
        q === '' ? '' : `“${q}”`,
        kind,
        tag === '' ? '' : words.tagged(tag),
        category === '' ? '' : words.inCategory(category),
        whose === '' ? '' : words.mine,
      ]}
      texts={words.listShortcuts}
      empty={<p>{words.empty}</p>}
    >
      <ul class={css['cards']} aria-label={words.list} data-records>
        {list.items.value.map((item) => (
          <Card key={item.id} item={item} />
        ))}
      </ul>
    </ListScreen>
  );
}

function Card({ item }: { item: ListedMarketplaceItem }) {
  const { id, kind, name, version, publisher, status, summary, installs, digest } = item;
  return (
    <li class={css['card']}>
      <h2 class={css['name']}>
        <a href={marketItemAddress(id)}>{name}</a>
      </h2>
      <p class={page['facts']}>
        <span>{words.kinds[kind]}</span>
        <span>{versionText(kind, version)}</span>
        <span>{publisherName(publisher)}</span>
        {status !== 'approved' && <strong class={css['status']}>{words.statuses[status]}</strong>}
      </p>
      {summary !== null && summary !== undefined && <p class={css['summary']}>{summary}</p>}
      <p class={page['facts']}>
        <Rating rating={item.rating} />
        <span>{words.installs(installs)}</span>
        <ShortDigest digest={digest} />
      </p>
    </li>
  );
}

function Filters() {
  const { q = '', kind = '', sort = 'new', whose = '' } = query.value;
  return (
    <>
      <SearchField label={words.search} value={q} />
      <Choice
        name="kind"
        label={words.kind}
        value={kind}
        options={[['', words.anyKind], ...KINDS.map((one): Option => [one, words.kindFilter[one]])]}
      />
      <Choice
        name="whose"
        label={words.whose}
        value={whose}
        options={[
          ['', words.everybodys],
          ['mine', words.mine],
        ]}
      />
      <Choice
        name="sort"
        label={words.order}
        value={sort}
        standard="new"
        options={ORDERS.map((one) => [one, words.orders[one]])}
      />
    </>
  );
}
