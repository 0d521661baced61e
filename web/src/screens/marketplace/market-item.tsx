/** An item: what it is and needs, its versions, ratings and content, and what one may do with it. */
import { useSignal } from '@preact/signals';

import type { MarketplaceItem } from '../../../../client/index.ts';
import { useKeys } from '../../app/keys.ts';
import { lazy } from '../../app/lazy.tsx';
import { listAddress } from '../../app/neighbours.tsx';
import { RecordPath } from '../../app/record-path.tsx';
import { navigate, query, setQuery } from '../../app/router.ts';
import { marketItemAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { mayCall, user } from '../../data/session.ts';
import { mayCallForAny } from '../../data/teams.ts';
import { Confirm } from '../../ui/confirm.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordSkeleton } from '../../ui/record-skeleton.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { useTitle } from '../../ui/title.ts';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { publisherName, Rating, versionText } from './facts.tsx';
import { Install } from './install.tsx';
import { ItemContent } from './item-content.tsx';
import { ItemOverview } from './item-overview.tsx';
import { ItemReviews } from './item-reviews.tsx';
import { ItemVersions } from './item-versions.tsx';
import { refreshItem, useItem } from './market-data.ts';
import css from './marketplace.module.css';
import { words } from './words.ts';

const Share = lazy(async () => (await import('../../ui/share/share.tsx')).Share);

type View = keyof typeof words.views;
const VIEWS = Object.entries(words.views).map(([id, label]) => ({ id: id as View, label }));

export function MarketItem({ id }: { id: string }) {
  const { data: item, error, refetch } = useItem(id);
  useTitle(item?.name ?? words.title);
  const back = () => navigate(listAddress('marketplace'));
  useKeys({ u: back, Escape: back }, words.itemShortcuts);
  return (
    <div class={page['page']}>
      <RecordPath list="marketplace" id={id}>
        {item?.name}
      </RecordPath>
      {item !== undefined && <Loaded item={item} />}
      {item === undefined && error === null && <RecordSkeleton title={words.title} />}
      {item === undefined && error !== null && (
        <>
          <h1>{words.title}</h1>
          <ProblemText error={error} retry={() => void refetch()} />
        </>
      )}
    </div>
  );
}

function Loaded({ item }: { item: MarketplaceItem }) {
  const view = VIEWS.find(({ id }) => id === query.value['view'])?.id ?? 'overview';
  const show = (to: View) => setQuery({ view: to === 'overview' ? undefined : to }, 'replace');
  const installing = useSignal(false);
  const mayInstall = item.can.includes('install');
  useKeys(
    {
      ...Object.fromEntries(VIEWS.map(({ id }, index) => [String(index + 1), () => show(id)])),
      ...(mayInstall ? { i: () => (installing.value = true) } : {}),
    },
    {
      ...words.itemShortcuts,
      ...Object.fromEntries(VIEWS.map(({ label }, index) => [String(index + 1), words.show(label)])),
    },
  );
  return (
    <>
      <div class={page['head']}>
        <h1>{item.name}</h1>
        <div class={page['actions']}>
          {mayInstall && (
            <button type="button" class="primary" onClick={() => (installing.value = true)}>
              {words.install} <kbd>i</kbd>
            </button>
          )}
          <PublisherActions item={item} />
        </div>
      </div>
      <Facts item={item} />
      <Note item={item} />
      {!mayCallForAny('installMarketplaceItem') && <p class="muted">{words.mayNotInstall}</p>}
      <Tabs label={words.parts} tabs={VIEWS} current={view} onChange={show}>
        <Panel item={item} view={view} />
      </Tabs>
      {mayInstall && (
        <Install item={item} open={installing.value} onClose={() => (installing.value = false)} />
      )}
    </>
  );
}

function Panel({ item, view }: { item: MarketplaceItem; view: View }) {
  const version = query.value['version'] ?? item.version;
  switch (view) {
    case 'overview':
      return <ItemOverview item={item} />;
    case 'versions':
      return <ItemVersions item={item} />;
    case 'reviews':
      return <ItemReviews item={item} />;
    case 'content':
      return <ItemContent key={version} item={item} version={version} />;
  }
}

/** What its publisher and admins may do. */
function PublisherActions({ item }: { item: MarketplaceItem }) {
  const sharing = useSignal(false);
  const withdrawing = useSignal(false);
  const isOwn = item.publisher.id === user.value?.id && mayCall('submitMarketplaceItem');
  const waiting = item.versions.find(({ status }) => status === 'submitted');
  return (
    <>
      {item.can.includes('approve') && waiting !== undefined && (
        <a href={marketItemAddress('reviews', { item: item.id, version: waiting.version })}>
          {words.reviewIt}
        </a>
      )}
      {isOwn && (
        <button type="button" onClick={() => (sharing.value = true)}>
          {words.newVersion}
        </button>
      )}
      {item.can.includes('withdraw') && (
        <button type="button" onClick={() => (withdrawing.value = true)}>
          {words.withdraw}
        </button>
      )}
      {isOwn && (
        <Share
          kind={item.kind}
          refId={item.ref_id}
          open={sharing.value}
          onClose={() => (sharing.value = false)}
          onShared={() => refreshItem(item.id)}
        />
      )}
      <Confirm
        title={withdrawing.value ? words.withdrawTitle(item.name) : null}
        text={words.withdrawText}
        act={words.withdraw}
        onClose={() => (withdrawing.value = false)}
        onAct={async () => {
          await client.call('withdrawMarketplaceItem', { path: { id: item.id } });
          tell(words.withdrawn(item.name));
          // Others than the publisher and admins no longer see it.
          await refreshItem(item.id);
        }}
      />
    </>
  );
}

function Facts({ item }: { item: MarketplaceItem }) {
  const { kind, version, publisher, installs, license, published_at: published } = item;
  return (
    <p class={page['facts']}>
      <span>{words.kinds[kind]}</span>
      <span>{versionText(kind, version)}</span>
      <span>{publisherName(publisher)}</span>
      <Rating rating={item.rating} />
      <span>{words.installs(installs)}</span>
      {license !== null && (
        <span>
          {words.license} {license}
        </span>
      )}
      {published !== null && (
        <span>
          {words.published} <When at={published} />
        </span>
      )}
    </p>
  );
}

/** Why an item is not on offer. */
function Note({ item: { status, version, versions } }: { item: MarketplaceItem }) {
  if (status === 'approved') return null;
  const reason = versions.find((one) => one.version === version)?.reason ?? null;
  return (
    <div class={css['note']}>
      <p>
        <strong class={css['status']}>{words.statuses[status]}</strong>. {words.notes[status]}
      </p>
      {status === 'rejected' && reason !== null && <p>{words.reason(reason)}</p>}
    </div>
  );
}
