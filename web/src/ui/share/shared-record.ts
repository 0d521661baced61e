/** What can be submitted of an agent or a workflow, and the item that it has in the marketplace. */
import type { MarketplaceItem } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import type { Section } from '../form-sections.ts';
import { words } from './words.ts';

export interface Shared {
  /** Published versions or valid revisions, the current one first. */
  versions: string[];
  item: MarketplaceItem | null;
  texts: Texts;
}

type Texts = Pick<MarketplaceItem, 'name' | 'summary' | 'description' | 'license' | 'categories' | 'tags'>;

/** Older revisions are submitted through the API. */
const MAX_REVISIONS = 50;

export async function readShared(
  kind: 'agent' | 'workflow',
  id: string,
  signal: AbortSignal,
): Promise<Shared> {
  const [own, found] = await Promise.all([
    kind === 'agent' ? readAgent(id, signal) : readWorkflow(id, signal),
    client.page('listMarketplaceItems', { query: { ref_id: id, kind, limit: 1 }, signal }),
  ]);
  const [listed] = found.items;
  // A list leaves out long texts.
  const item =
    listed === undefined
      ? null
      : await client.call('getMarketplaceItem', { path: { id: listed.id }, signal });
  return { versions: own.versions, item, texts: item ?? own.texts };
}

async function readAgent(id: string, signal: AbortSignal): Promise<Omit<Shared, 'item'>> {
  const agent = await client.call('getAgent', { path: { id }, signal });
  const published = agent.versions.filter(({ status }) => status === 'published');
  const versions = published.map(({ version }) => version);
  const best = agent.published_version;
  return {
    versions: best === null ? [] : [best, ...versions.filter((version) => version !== best)],
    texts: {
      name: agent.name,
      summary: null,
      description: agent.description,
      license: agent.license,
      categories: [],
      tags: agent.tags ?? [],
    },
  };
}

async function readWorkflow(id: string, signal: AbortSignal): Promise<Omit<Shared, 'item'>> {
  const [workflow, revisions] = await Promise.all([
    client.call('getWorkflow', { path: { id }, signal }),
    client.page('listWorkflowRevisions', {
      path: { id },
      query: { limit: MAX_REVISIONS, view: 'summary' },
      signal,
    }),
  ]);
  const { name, description, tags } = workflow;
  return {
    versions: revisions.items.filter(({ valid }) => valid).map(({ revision }) => String(revision)),
    texts: { name, summary: null, description, license: null, categories: [], tags },
  };
}

const lines = (title: string) => ({
  type: 'array',
  items: { type: 'string' },
  title,
  description: words.lines,
});

export function submissionSection(kind: 'agent' | 'workflow', { versions, texts }: Shared): Section {
  const [version] = versions;
  return {
    id: 'submission',
    member: '',
    schema: {
      type: 'object',
      required: ['version', 'name'],
      properties: {
        version: {
          title: kind === 'agent' ? words.version : words.revision,
          oneOf: versions.map((one) => ({ const: one, title: one })),
        },
        name: { type: 'string', title: words.name },
        summary: { type: 'string', title: words.summary, description: words.summaryHelp, maxLength: 500 },
        description: { type: 'string', title: words.description, maxLength: 100_000 },
        license: { type: 'string', title: words.license, description: words.licenseHelp },
        categories: lines(words.categories),
        tags: lines(words.tags),
        ...(kind === 'workflow' ? { include_agents: { type: 'boolean', title: words.includeAgents } } : {}),
      },
    },
    values: {
      version,
      name: texts.name,
      summary: texts.summary,
      description: texts.description,
      license: texts.license,
      categories: texts.categories,
      tags: texts.tags,
    },
  };
}
