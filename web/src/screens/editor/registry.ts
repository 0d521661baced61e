/** The names that completion offers. They are read once, when the editor opens. */
import { client } from '../../data/api.ts';
import { cache } from '../../data/query.ts';
import { user } from '../../data/session.ts';
import type { Registry } from './completions.ts';

const MAX_NAMES = 200;
const FRESH_MS = 60_000;

export const NO_NAMES: Registry = { agents: [], secrets: [], groups: [], users: [] };

/** What cannot be read is left out: completion is a help, and the text is checked anyway. */
export async function readRegistry(): Promise<Registry> {
  return cache.fetchQuery({
    queryKey: ['names for completion', user.value?.id ?? ''],
    staleTime: FRESH_MS,
    queryFn: async () => {
      const query = { limit: MAX_NAMES };
      const [agents, secrets, people] = await Promise.all([
        client.page('listAgents', { query }).catch(() => ({ items: [] })),
        client.page('listSecrets', { query }).catch(() => ({ items: [] })),
        client.page('listPeople', { query }).catch(() => ({ items: [] })),
      ]);
      return {
        agents: agents.items.map(({ name, versions }) => ({
          name,
          versions: versions.filter(({ status }) => status !== 'draft').map(({ version }) => version),
        })),
        secrets: secrets.items.map(({ name }) => name),
        groups: [...(user.value?.groups ?? [])],
        users: people.items.map(({ username }) => username),
      };
    },
  });
}
