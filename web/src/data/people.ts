/** Names of people. Records have ids; the names of all that a screen shows are read in one request. */
import { signal } from '@preact/signals';

import type { Person } from '../../../client/index.ts';
import { isUuid } from '../../../contracts/uuid.ts';
import { client } from './api.ts';
import { cache } from './query.ts';
import { whenUserLeaves } from './session.ts';
import { WrongEntry } from './wrong-entry.ts';

const names = signal<ReadonlyMap<string, string>>(new Map());
/** Ids that are being read, or whose reading failed a moment ago. */
const asked = new Set<string>();
let wanted = new Set<string>();

/** As many ids as one request takes. */
const MAX_IDS = 200;
const COLLECT_MS = 10;
const RETRY_MS = 10_000;

whenUserLeaves(() => {
  names.value = new Map();
  asked.clear();
});

/** The person's name; `…` until it is known. Components that call it are drawn again then. */
export function personName(id: string): string {
  const known = names.value.get(id);
  if (known === undefined && !asked.has(id)) ask(id);
  return known ?? '…';
}

/** The person's name, for texts that do not change any more. */
export async function readPersonName(id: string): Promise<string> {
  if (!names.value.has(id)) await read([id]);
  return names.value.get(id) ?? shortId(id);
}

export function nameOf({ display_name: name, username }: Pick<Person, 'display_name' | 'username'>): string {
  return name ?? username;
}

/** Active people whose name contains the text. */
export async function searchPeople(text: string, limit: number, signal?: AbortSignal): Promise<Person[]> {
  const q = text.trim();
  const { items } = await client.page('listPeople', {
    query: { limit, ...(q === '' ? {} : { q }) },
    ...(signal === undefined ? {} : { signal }),
  });
  // Who is chosen from them is shown by name at once.
  remember(new Map(items.map((person) => [person.id, nameOf(person)])));
  return items;
}

/** The id of an active person, by username in any case or by id. @throws WrongEntry */
export async function readPersonId(given: string): Promise<string> {
  const username = given.trim();
  if (isUuid(username)) return username;
  const [found] = (await client.page('listPeople', { query: { username } })).items;
  if (found === undefined) throw new WrongEntry(`There is no user ${username}.`);
  return found.id;
}

function ask(id: string): void {
  asked.add(id);
  if (wanted.size === 0) setTimeout(() => void readWanted(), COLLECT_MS);
  wanted.add(id);
}

async function readWanted(): Promise<void> {
  const ids = [...wanted];
  wanted = new Set();
  for (let at = 0; at < ids.length; at += MAX_IDS) await read(ids.slice(at, at + MAX_IDS));
}

async function read(ids: readonly string[]): Promise<void> {
  try {
    const { items } = await cache.fetchQuery({
      queryKey: ['people', ...ids],
      queryFn: () => client.page('listPeople', { query: { ids: ids.join(','), limit: MAX_IDS } }),
    });
    const found = new Map(ids.map((id) => [id, shortId(id)]));
    for (const person of items) found.set(person.id, nameOf(person));
    remember(found);
  } catch {
    setTimeout(() => {
      for (const id of ids) asked.delete(id);
      // Draws again what still shows no name.
      names.value = new Map(names.value);
    }, RETRY_MS);
  }
}

function remember(found: ReadonlyMap<string, string>): void {
  names.value = new Map([...names.value, ...found]);
}

/** The end of an id tells it apart from others. */
function shortId(id: string): string {
  return id.slice(-8);
}
