/** What waits for an admin: submitted versions on the left, the exact content of one beside them. */
import type { ListedMarketplaceItem } from '../../../../client/index.ts';
import { useKeys } from '../../app/keys.ts';
import { navigate, query, setQuery } from '../../app/router.ts';
import { marketItemAddress, marketplaceAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall } from '../../data/session.ts';
import { focusDrawn } from '../../ui/focus.ts';
import { ListState } from '../../ui/list-state.tsx';
import { isNarrow } from '../../ui/narrow.ts';
import page from '../../ui/page.module.css';
import { Refused } from '../../ui/refused.tsx';
import { useTitle } from '../../ui/title.ts';
import { When } from '../../ui/when.tsx';
import { publisherName, versionText } from './facts.tsx';
import css from './marketplace.module.css';
import { ReviewedVersion } from './reviewed-version.tsx';
import { words } from './words.ts';

export function MarketReviews() {
  useTitle(words.reviews);
  if (mayCall('approveMarketplaceItem')) return <Queue />;
  return (
    <div class={page['page']}>
      <h1>{words.reviews}</h1>
      <Refused operation="approveMarketplaceItem" />
    </div>
  );
}

interface Entry {
  item: ListedMarketplaceItem;
  version: string;
  submittedAt: string;
}
type Chosen = { item: string; version: string };

const PAGE = 50;

function Queue() {
  const { list, entries, current, decided } = useQueue();
  return (
    <div class={css['queue']} data-shows={inAddress() === null ? 'list' : 'detail'}>
      <h1 class="hidden-text">{words.reviews}</h1>
      <div class={css['waiting']}>
        <a href={marketplaceAddress()}>‹ {words.back}</a>
        <h2>{words.queue}</h2>
        <ListState list={list} empty={<p>{words.emptyQueue}</p>}>
          <ul id={QUEUE_LIST}>
            {entries.map((entry) => (
              <Row
                key={`${entry.item.id} ${entry.version}`}
                entry={entry}
                isCurrent={isSame(entry, current)}
              />
            ))}
          </ul>
        </ListState>
      </div>
      <section class={css['detail']} aria-label={words.review}>
        {current === null && entries.length > 0 && <p class="muted">{words.choose}</p>}
        {current !== null && (
          <>
            <a class={css['backToQueue']} href={QUEUE}>
              ‹ {words.backToQueue}
            </a>
            <ReviewedVersion
              key={`${current.item} ${current.version}`}
              id={current.item}
              version={current.version}
              onDecided={() => decided(current)}
            />
          </>
        )}
      </section>
    </div>
  );
}

function useQueue() {
  const list = usePages(['items-waiting'], (cursor) =>
    client.page('listMarketplaceItems', {
      query: { waiting: true, view: 'summary', limit: PAGE, cursor: cursor ?? undefined },
    }),
  );
  // Keys read what the last one left, before it is drawn.
  const entries = () => list.items.value.flatMap(entriesOf);
  const current = () => inAddress() ?? (isNarrow.value ? null : firstOf(entries()));
  const move = (by: 1 | -1) => () => {
    const at = entries().findIndex((entry) => isSame(entry, current()));
    const next = entries()[Math.min(Math.max(at + by, 0), entries().length - 1)];
    if (next !== undefined) select(next);
  };
  const back = () => navigate(isNarrow.value && inAddress() !== null ? QUEUE : marketplaceAddress());
  useKeys({ j: move(1), k: move(-1), u: back, Escape: back }, words.queueShortcuts);
  /** Goes on with the next one, and puts the focus there. */
  const decided = async (done: Chosen) => {
    const at = entries().findIndex((entry) => isSame(entry, done));
    const next = at < 0 ? undefined : (entries()[at + 1] ?? entries()[at - 1]);
    if (next === undefined || isNarrow.value) navigate(QUEUE);
    else select(next);
    focusDrawn(next === undefined || isNarrow.value ? '#main' : `#${QUEUE_LIST} [aria-current=true]`);
    await list.reload();
  };
  return { list, entries: entries(), current: current(), decided };
}

const QUEUE = marketItemAddress('reviews');
const QUEUE_LIST = 'review-queue';

/** One entry for each version that waits. */
function entriesOf(item: ListedMarketplaceItem): Entry[] {
  return item.versions
    .filter(({ status }) => status === 'submitted')
    .map(({ version, submitted_at: submittedAt }) => ({ item, version, submittedAt }));
}

function inAddress(): Chosen | null {
  const { item, version } = query.value;
  return item === undefined || version === undefined ? null : { item, version };
}

function firstOf([first]: readonly Entry[]): Chosen | null {
  return first === undefined ? null : { item: first.item.id, version: first.version };
}

function isSame({ item, version }: Entry, chosen: Chosen | null): boolean {
  return item.id === chosen?.item && version === chosen.version;
}

function select({ item, version }: Entry): void {
  setQuery({ item: item.id, version }, 'replace');
}

function Row({ entry, isCurrent }: { entry: Entry; isCurrent: boolean }) {
  const { item, version, submittedAt } = entry;
  return (
    <li>
      <a
        class={css['row']}
        href={marketItemAddress('reviews', { item: item.id, version })}
        aria-current={isCurrent ? 'true' : undefined}
      >
        <span>{item.name}</span>
        <span class={page['facts']}>
          <span>{item.status === 'approved' ? words.isUpdate : words.isNew}</span>
          <span>{versionText(item.kind, version)}</span>
          <span>{publisherName(item.publisher)}</span>
          <When at={submittedAt} />
        </span>
      </a>
    </li>
  );
}
