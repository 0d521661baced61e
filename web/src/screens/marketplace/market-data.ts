/** Reads items of the marketplace through the cache. */
import type { MarketplaceItem, MarketplaceVersion } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { cache, useQuery } from '../../data/query.ts';

export function useItem(id: string) {
  return useQuery<MarketplaceItem>({
    queryKey: ['item', id],
    queryFn: ({ signal }) => client.call('getMarketplaceItem', { path: { id }, signal }),
  });
}

export function useItemVersion(id: string, version: string) {
  return useQuery<MarketplaceVersion>({
    queryKey: ['item', id, 'version', version],
    queryFn: ({ signal }) => client.call('getMarketplaceVersion', { path: { id, version }, signal }),
  });
}

/** After a change: everything of the item is read anew. */
export async function refreshItem(id: string): Promise<void> {
  await cache.invalidateQueries({ queryKey: ['item', id] });
}
