/** What cards, items and reviews say about an item in a few words. */
import type { MarketplaceItemFields } from '../../../../client/index.ts';
import { user } from '../../data/session.ts';
import css from './marketplace.module.css';
import { words } from './words.ts';

export function versionText(kind: 'agent' | 'workflow', version: string): string {
  return kind === 'agent' ? words.version(version) : words.revision(version);
}

export function publisherName({ id, username }: MarketplaceItemFields['publisher']): string {
  return words.by(id === user.value?.id ? words.you : username);
}

export function Rating({ rating: { average, count } }: Pick<MarketplaceItemFields, 'rating'>) {
  if (average === null) return <span>{words.notRated}</span>;
  return (
    <span role="img" aria-label={words.rated(average, count)}>
      ★ {average} ({count})
    </span>
  );
}

/** The first characters tell digests apart; the whole one is on hover. */
export function ShortDigest({ digest }: { digest: string }) {
  return (
    <code class={css['digest']} title={`${words.digest} ${digest}`}>
      {digest.slice(0, 12)}
    </code>
  );
}
