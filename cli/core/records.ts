/** Names and ids of records that the user can see, for completion in the shell. */
import type { Cli } from './cli.ts';
import { oneLine, shorten } from './text.ts';

export interface Proposal {
  word: string;
  /** What it is, in a few words. */
  brief: string;
}

type Finder = (cli: Cli, text: string | undefined, signal: AbortSignal) => Promise<Proposal[]>;

/** A shell shows a few lines, and asks at every key. */
const LIMIT = 50;
const TIMEOUT_MS = 2_000;
const BRIEF_WIDTH = 60;

/**
 * The shell takes a completed word as a part of the command line. Other people chose these names, so one with
 * any character that a shell could act on is not proposed.
 */
const HARMLESS = /^[\dA-Za-z][\w.@+-]{0,199}$/;

const FINDERS = {
  workflow: async (cli, q, signal) => {
    const { items } = await cli.client.page('listWorkflows', { query: { q, limit: LIMIT }, signal });
    return named(items);
  },
  startable: async (cli, q, signal) => {
    const { items } = await cli.client.page('listStartableWorkflows', { query: { q, limit: LIMIT }, signal });
    return named(items);
  },
  agent: async (cli, q, signal) => {
    const { items } = await cli.client.page('listAgents', { query: { q, limit: LIMIT }, signal });
    return named(items);
  },
  run: async (cli, _text, signal) => {
    const { items } = await cli.client.page('listRuns', { query: { limit: LIMIT }, signal });
    return items.map(({ id, workflow_name: name, status }) => ({ word: id, brief: `${status}  ${name}` }));
  },
  task: async (cli, _text, signal) => {
    const query = { scope: 'candidate', limit: LIMIT } as const;
    const { items } = await cli.client.page('listHumanTasks', { query, signal });
    return items.map(({ id, title }) => ({ word: id, brief: title }));
  },
  item: async (cli, _text, signal) => {
    const { items } = await cli.client.page('listMarketplaceItems', { query: { limit: LIMIT }, signal });
    return items.map(({ id, kind, name }) => ({ word: id, brief: `${kind}  ${name}` }));
  },
  secret: async (cli, _text, signal) => {
    const { items } = await cli.client.page('listSecrets', { query: { limit: LIMIT }, signal });
    return items.map(({ name }) => ({ word: name, brief: 'secret' }));
  },
  file: async (cli, _text, signal) => {
    const { items } = await cli.client.page('listFiles', { query: { limit: LIMIT }, signal });
    return items.map(({ id, name }) => ({ word: id, brief: name }));
  },
  webhook: async (cli, _text, signal) => {
    const items = await ownFirst((query) => cli.client.page('listWebhooks', { query, signal }));
    return items.map(({ id, url }) => ({ word: id, brief: url }));
  },
  hook: async (cli, _text, signal) => {
    const items = await ownFirst((query) => cli.client.page('listHooks', { query, signal }));
    return items.map(({ id, name }) => ({ word: id, brief: name }));
  },
  source: async (cli, _text, signal) => {
    const items = await ownFirst((query) => cli.client.page('listEventSources', { query, signal }));
    return items.map(({ id, source }) => ({ word: id, brief: source }));
  },
  client: async (cli, _text, signal) => {
    const { items } = await cli.client.page('listMyClients', { query: { limit: LIMIT }, signal });
    return items.map(({ id, name }) => ({ word: id, brief: name }));
  },
  person: async (cli, q, signal) => {
    const { items } = await cli.client.page('listPeople', { query: { q, limit: LIMIT }, signal });
    return items.map(({ username, display_name: name }) => ({ word: username, brief: name ?? 'user' }));
  },
} satisfies Record<string, Finder>;

/** What the user owns, then what else they see: of teams, and as an administrator of everybody. */
async function ownFirst<T extends { id: string }>(
  list: (query: { owner_id?: string; limit: number }) => Promise<{ items: readonly T[] }>,
): Promise<T[]> {
  const pages = await Promise.all([list({ owner_id: 'me', limit: LIMIT }), list({ limit: LIMIT })]);
  const found = new Map(pages.flatMap(({ items }) => items).map((one) => [one.id, one]));
  return [...found.values()].slice(0, LIMIT);
}

export type RecordKind = keyof typeof FINDERS;

/** Empty without a log-in. Rejects if the server does not answer at once. */
export async function proposeRecords(cli: Cli, kind: RecordKind, partial: string): Promise<Proposal[]> {
  const signal = AbortSignal.any([cli.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  if ((await cli.session.token()) === undefined) return [];
  const find: Finder = FINDERS[kind];
  const found = await find(cli, partial === '' ? undefined : partial, signal);
  return found
    .filter(({ word }) => HARMLESS.test(word))
    .map(({ word, brief }) => ({ word, brief: shorten(oneLine(brief), BRIEF_WIDTH) }));
}

interface Named {
  id: string;
  name: string;
  description?: string | null | undefined;
}

/** By name, or by id where the name is not the only one or is not harmless. */
function named(items: readonly Named[]): Proposal[] {
  return items.map(({ id, name, description }) =>
    HARMLESS.test(name) && items.filter((other) => other.name === name).length === 1
      ? { word: name, brief: description || id }
      : { word: id, brief: name },
  );
}
