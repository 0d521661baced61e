/** The versions of an item. Its publisher and admins also see those that are not approved, and why. */
import type { ItemVersionSummary, MarketplaceItem } from '../../../../client/index.ts';
import { marketItemAddress } from '../../app/routes.ts';
import page from '../../ui/page.module.css';
import { Table, type Column } from '../../ui/table.tsx';
import { When } from '../../ui/when.tsx';
import { ShortDigest } from './facts.tsx';
import { words } from './words.ts';

export function ItemVersions({ item }: { item: MarketplaceItem }) {
  return (
    <Table
      label={words.views.versions}
      columns={columns(item)}
      records={item.versions}
      keyOf={({ version }) => version}
    />
  );
}

function columns(item: MarketplaceItem): Column<ItemVersionSummary>[] {
  const { version, status, submitted, reason, digest, acts } = words.versionColumns;
  const mayReview = item.can.includes('approve') || item.can.includes('reject');
  return [
    { title: version, cell: (one) => one.version },
    {
      title: status,
      cell: (one) =>
        one.version === item.version
          ? `${words.statuses[one.status]}, ${words.shown}`
          : words.statuses[one.status],
    },
    { title: submitted, cell: (one) => <When at={one.submitted_at} />, minor: true },
    { title: reason, cell: (one) => one.reason ?? '–', text: true },
    { title: digest, cell: (one) => <ShortDigest digest={one.digest} />, minor: true },
    {
      title: acts,
      acts: true,
      cell: (one) => (
        <span class={page['actions']}>
          <a href={marketItemAddress(item.id, { view: 'content', version: one.version })}>
            {words.showContent}
          </a>
          {mayReview && (
            <a href={marketItemAddress('reviews', { item: item.id, version: one.version })}>{words.review}</a>
          )}
        </span>
      ),
    },
  ];
}
