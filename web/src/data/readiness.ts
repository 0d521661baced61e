/** Whether the parts of the installation work. */
import { ApiError, type Readiness } from '../../../client/index.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { client } from './api.ts';
import { useQuery } from './query.ts';

/** @param everyMs how often it is read; null for not now */
export function useReadiness(everyMs: number | null) {
  return useQuery<Readiness>({
    queryKey: ['readiness'],
    queryFn: readReadiness,
    staleTime: 0,
    enabled: everyMs !== null,
    refetchInterval: everyMs ?? false,
  });
}

/** A server that is down answers 503 with the same document. */
async function readReadiness(): Promise<Readiness> {
  try {
    return await client.call('getReadiness');
  } catch (error) {
    if (error instanceof ApiError && isRecord(error.problem['checks']))
      return error.problem as unknown as Readiness;
    throw error;
  }
}
