/** Reads records through a cache that all screens share, with @tanstack/query-core. */
import {
  QueryClient,
  QueryObserver,
  type DefaultError,
  type QueryKey,
  type QueryObserverOptions,
  type QueryObserverResult,
} from '@tanstack/query-core';
import { useEffect, useMemo, useState } from 'preact/hooks';

import { ApiError } from '../../../client/index.ts';

export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      // The browser's idea of being online says nothing about the server.
      networkMode: 'always',
      retry: (count, error) => mayPass(error) && count < 5,
      retryDelay: (count, error) => Math.max(retryAfter(error), Math.min(500 * 2 ** count, 10_000)),
    },
  },
});

/** Whether the same request may succeed later. */
export function mayPass(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 429 || error.status >= 502;
}

function retryAfter(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
}

export function useQuery<T>(
  options: QueryObserverOptions<T, DefaultError, T, T, QueryKey>,
): QueryObserverResult<T> {
  const observer = useMemo(() => new QueryObserver(cache, options), []);
  observer.setOptions(options);
  const [, redraw] = useState({});
  useEffect(() => {
    const stop = observer.subscribe(() => redraw({}));
    // What came between the drawing and the subscription was told to nobody.
    observer.updateResult();
    return stop;
  }, [observer]);
  return observer.getOptimisticResult(cache.defaultQueryOptions(options));
}
