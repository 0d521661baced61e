/** The marketplace: approved items, and own ones in any status. The filter is the address. */
import type { ListedMarketplaceItem } from '../../../../client/index.ts';
import { useKeys } from '../../app/keys.ts';
import { useSeenList } from '../../app/neighbours.tsx';
import { navigate, query, setQuery } from '../../app/router.ts';
import { marketItemAddress, marketplaceAddress } from '../../app/routes.ts';
import { SavedViews } from '../../app/saved-views.tsx';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall, user } from '../../data/session.ts';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { useTitle } from '../../ui/title.ts';
import { publisherName, Rating, ShortDigest, versionText } from './facts.tsx';
import css from './marketplace.module.css';
import { words } from './words.ts';

const KINDS = ['agent', 'workflow'] as const;
const ORDERS = ['new', 'installs', 'rating'] as const;
const PAGE = 24;

export function Marketplace() {
  useTitle(words.title);
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
  useSeenList('marketplace', list.items.value);
  useKeys({ j: () => focusCard(1), k: () => focusCard(-1) }, words.listShortcuts);
  const filter = [
    q === '' ? '' : `“${q}”`,
    kind,
    tag === '' ? '' : words.tagged(tag),
    category === '' ? '' : words.inCategory(category),
    whose === '' ? '' : words.mine,
  ].filter((part) => part !== '');
  return (
    <div class={page['page']}>
      <div class={page['head']}>
        <h1>{words.title}</h1>
        <div class={page['actions']}>
          {mayCall('approveMarketplaceItem') && <a href={marketItemAddress('reviews')}>{words.toReviews}</a>}
        </div>
      </div>
      <Filters />
      <ListState
        list={list}
        filter={filter.join(', ')}
        onClear={() => navigate(marketplaceAddress())}
        empty={<p>{words.empty}</p>}
      >
        <ul class={css['cards']} aria-label={words.list}>
          {list.items.value.map((item) => (
            <Card key={item.id} item={item} />
          ))}
        </ul>
      </ListState>
    </div>
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

function focusCard(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>(`.${css['cards']} h2 a`)];
  const at = links.findIndex((link) => link === document.activeElement);
  links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
}

function Filters() {
  const { q = '', kind = '', sort = '', whose = '' } = query.value;
  return (
    <search class={page['filters']}>
      <input
        type="search"
        aria-label={words.search}
        placeholder={words.searchHint}
        maxLength={255}
        value={q}
        onInput={(event) => setQuery({ q: event.currentTarget.value }, 'replace')}
      />
      <select
        aria-label={words.kind}
        value={kind}
        onChange={(event) => setQuery({ kind: event.currentTarget.value })}
      >
        <option value="">{words.anyKind}</option>
        {KINDS.map((one) => (
          <option key={one} value={one}>
            {words.kindFilter[one]}
          </option>
        ))}
      </select>
      <select
        aria-label={words.whose}
        value={whose}
        onChange={(event) => setQuery({ whose: event.currentTarget.value })}
      >
        <option value="">{words.everybodys}</option>
        <option value="mine">{words.mine}</option>
      </select>
      <select
        aria-label={words.order}
        value={sort === '' ? 'new' : sort}
        onChange={({ currentTarget: { value } }) => setQuery({ sort: value === 'new' ? undefined : value })}
      >
        {ORDERS.map((one) => (
          <option key={one} value={one}>
            {words.orders[one]}
          </option>
        ))}
      </select>
      <SavedViews list="marketplace" />
    </search>
  );
}
