/** Finds records by the API: a few of each kind, after a short pause in the typing. */
import { useEffect, useState } from 'preact/hooks';

import { client } from '../data/api.ts';
import { mayCall } from '../data/session.ts';
import { navigateAndFocus } from './go.ts';
import { agentAddress, inboxAddress, marketItemAddress, runAddress, workflowAddress } from './routes.ts';
import type { Entry } from './palette-entries.ts';
import { words } from './palette-words.ts';

const PAUSE_MS = 150;
/** One letter would find nearly everything. */
const MIN_LETTERS = 2;
const MAX_OF_KIND = 5;

interface Found {
  /** The text that these were found by. */
  text: string;
  entries: readonly Entry[];
  /** Kinds that could not be searched. */
  failed: readonly string[];
}
type Search = Found & { isBusy: boolean };

const NOTHING: Search = { text: '', entries: [], failed: [], isBusy: false };

export function useSearch(given: string): Search {
  const text = given.trim();
  const [search, setSearch] = useState(NOTHING);
  useEffect(() => {
    if (text.length < MIN_LETTERS) {
      setSearch(NOTHING);
      return undefined;
    }
    const abort = new AbortController();
    setSearch((before) => ({ ...before, isBusy: true }));
    const timer = setTimeout(async () => {
      const found = await find(text, abort.signal);
      if (!abort.signal.aborted) setSearch({ ...found, isBusy: false });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return search;
}

async function find(text: string, signal: AbortSignal): Promise<Found> {
  const kinds = KINDS.filter(({ needs }) => mayCall(needs));
  const results = await Promise.allSettled(kinds.map(({ read }) => read(text, signal)));
  return {
    text,
    entries: results.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])),
    failed: kinds.flatMap(({ name }, index) => (results[index]?.status === 'rejected' ? [name] : [])),
  };
}

const { groups } = words;

const KINDS = [
  {
    name: groups.tasks,
    needs: 'listHumanTasks',
    read: async (q: string, signal: AbortSignal) => {
      const query = { q, limit: MAX_OF_KIND, scope: 'candidate', view: 'summary' } as const;
      const { items } = await client.page('listHumanTasks', { query, signal });
      return items.map(({ id, title, workflow_name: workflow }) =>
        entry(groups.tasks, id, title, workflow, inboxAddress({ scope: 'candidate', task: id })),
      );
    },
  },
  {
    name: groups.workflows,
    needs: 'listWorkflows',
    read: async (q: string, signal: AbortSignal) => {
      const query = { q, limit: MAX_OF_KIND, view: 'summary' } as const;
      const { items } = await client.page('listWorkflows', { query, signal });
      return items.map(({ id, name, description }) =>
        entry(groups.workflows, id, name, description ?? '', workflowAddress(id)),
      );
    },
  },
  {
    name: groups.agents,
    needs: 'listAgents',
    read: async (q: string, signal: AbortSignal) => {
      const query = { q, limit: MAX_OF_KIND, view: 'summary' } as const;
      const { items } = await client.page('listAgents', { query, signal });
      return items.map(({ id, name, display_name: kind }) =>
        entry(groups.agents, id, name, kind, agentAddress(id)),
      );
    },
  },
  {
    name: groups.items,
    needs: 'listMarketplaceItems',
    read: async (q: string, signal: AbortSignal) => {
      const query = { q, limit: MAX_OF_KIND, view: 'summary' } as const;
      const { items } = await client.page('listMarketplaceItems', { query, signal });
      return items.map(({ id, name, kind, publisher }) =>
        entry(groups.items, id, name, `${kind} · ${publisher.username}`, marketItemAddress(id)),
      );
    },
  },
  {
    name: groups.runs,
    needs: 'listRuns',
    read: async (q: string, signal: AbortSignal) => {
      const query = { q, limit: MAX_OF_KIND, view: 'summary' } as const;
      const { items } = await client.page('listRuns', { query, signal });
      return items.map(({ id, workflow_name: name, status }) =>
        entry(groups.runs, id, name, `${status} · ${id.slice(-12)}`, runAddress(id)),
      );
    },
  },
] as const;

function entry(group: string, id: string, label: string, detail: string, address: string): Entry {
  return { id: `${group} ${id}`, group, label, detail, act: () => navigateAndFocus(address) };
}
