/** Reads an agent and its versions through the cache. */
import type { Agent } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { cache, useQuery } from '../../data/query.ts';

export function useAgent(id: string) {
  return useQuery<Agent>({
    queryKey: ['agent', id],
    queryFn: ({ signal }) => client.call('getAgent', { path: { id }, signal }),
  });
}

export function useVersion(id: string, version: string) {
  return useQuery({
    queryKey: ['agent', id, 'version', version],
    queryFn: ({ signal }) => client.call('getAgentVersion', { path: { id, version }, signal }),
  });
}

/** After a change: everything of the agent is read anew. */
export async function refreshAgent(id: string): Promise<void> {
  await cache.invalidateQueries({ queryKey: ['agent', id] });
}
