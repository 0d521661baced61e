/** Records by name or id, as people type them. */
import { ApiError } from '../../client/index.ts';
import { didYouMean } from '../../contracts/suggest.ts';
import type { Cli } from './cli.ts';
import { CliError } from './errors.ts';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

export const isId = (text: string): boolean => UUID.test(text);

interface Named {
  id: string;
  name: string;
}

export async function workflowId(cli: Cli, given: string): Promise<string> {
  if (isId(given)) return given;
  const { signal } = cli;
  const found = cli.client.items('listWorkflows', { query: { q: given }, signal });
  return only('workflow', given, found, async () => {
    const { items } = await cli.client.page('listWorkflows', { query: { limit: COMPARED }, signal });
    return items;
  });
}

/** A workflow that the user may see, or start as one of its runners, who do not see it. */
export async function startableId(cli: Cli, given: string): Promise<string> {
  if (isId(given)) return given;
  const { signal } = cli;
  const found = async function* (): AsyncGenerator<Named> {
    const ids = new Set<string>();
    for await (const { id, name } of cli.client.items('listWorkflows', { query: { q: given }, signal })) {
      ids.add(id);
      yield { id, name };
    }
    const query = { q: given, granted: true };
    for await (const one of cli.client.items('listStartableWorkflows', { query, signal }))
      if (!ids.has(one.id)) yield one;
  };
  return only('workflow', given, found(), async () => {
    const query = { limit: COMPARED };
    const visible = await cli.client.page('listWorkflows', { query, signal });
    const startable = await cli.client.page('listStartableWorkflows', { query, signal });
    return [...visible.items, ...startable.items];
  });
}

export async function agentId(cli: Cli, given: string): Promise<string> {
  if (isId(given)) return given;
  const { signal } = cli;
  const found = cli.client.items('listAgents', { query: { name: given }, signal });
  return only('agent', given, found, async () => {
    const { items } = await cli.client.page('listAgents', { query: { limit: COMPARED }, signal });
    return items;
  });
}

/** A person by username, whose case does not count; none whose account is disabled. @throws CliError */
export async function personId(cli: Cli, given: string): Promise<string> {
  if (isId(given)) return given;
  const person = await findPerson(cli, given);
  if (person !== undefined) return person;
  throw await unknownPerson(cli, given);
}

/** Also one whose account is disabled, for admins: what is looked for may be theirs. @throws CliError */
export async function anybodysId(cli: Cli, given: string): Promise<string> {
  if (isId(given)) return given;
  const found = (await findPerson(cli, given)) ?? (await findUser(cli, given).catch(forbiddenIsNone));
  if (found !== undefined) return found;
  throw await unknownPerson(cli, given);
}

/** For commands of admins alone: any account. @throws CliError */
export async function userId(cli: Cli, given: string): Promise<string> {
  if (isId(given)) return given;
  const found = await findUser(cli, given);
  if (found !== undefined) return found;
  throw new CliError(`There is no user ${given}.`, { code: 'not_found' });
}

async function findPerson(cli: Cli, username: string): Promise<string | undefined> {
  const { items } = await cli.client.page('listPeople', { query: { username }, signal: cli.signal });
  return items[0]?.id;
}

async function findUser(cli: Cli, given: string): Promise<string | undefined> {
  for await (const user of cli.client.items('listUsers', { query: { q: given }, signal: cli.signal }))
    if (isUsername(user, given)) return user.id;
  return undefined;
}

function forbiddenIsNone(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 403) return undefined;
  throw error;
}

/** The case of usernames does not count. */
export const isUsername = ({ username }: { username: string }, given: string): boolean =>
  username.toLowerCase() === given.toLowerCase();

const unknownPerson = (cli: Cli, given: string): Promise<CliError> =>
  unknown('user', given, async () => {
    const query = { limit: COMPARED };
    const { items } = await cli.client.page('listPeople', { query, signal: cli.signal });
    return items.map(({ id, username }) => ({ id, name: username }));
  });

/** The id of a team that is given by id or name. */
export async function teamId(cli: Cli, given: string): Promise<string> {
  if (isId(given)) return given;
  const { signal } = cli;
  for await (const team of cli.client.items('listTeams', { query: { q: given }, signal }))
    if (team.name.toLowerCase() === given.toLowerCase()) return team.id;
  throw await unknown('team', given, async () => {
    const { items } = await cli.client.page('listTeams', { query: { limit: COMPARED }, signal });
    return items;
  });
}

/** The query or field of what a team holds, where one is given. */
export async function ofTeam(cli: Cli, team: string | undefined): Promise<{ team_id?: string }> {
  return team === undefined ? {} : { team_id: await teamId(cli, team) };
}

/** Of a filter by a person, where one is given; `me` is the user, also for the server. */
export async function filteredId(cli: Cli, given: string | undefined): Promise<string | undefined> {
  return given === undefined || given === 'me' ? given : anybodysId(cli, given);
}

/** The query of what a person owns, where one is given. */
export async function ofOwner(cli: Cli, owner: string | undefined): Promise<{ owner_id?: string }> {
  const id = await filteredId(cli, owner);
  return id === undefined ? {} : { owner_id: id };
}

/** Usernames of these users, or the id of one who has no account any more. */
export async function usernamesOf(cli: Cli, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const query = { ids: ids.join(','), limit: COMPARED };
  const { items } = await cli.client.page('listPeople', { query, signal: cli.signal });
  return ids.map((id) => items.find((person) => person.id === id)?.username ?? id);
}

/** Names that an unknown one is compared with: the newest. */
const COMPARED = 200;

/** The one record with exactly this name. Names are not unique, so several are a question, not a choice. */
async function only(
  kind: string,
  name: string,
  items: AsyncIterable<Named>,
  others: () => Promise<readonly Named[]>,
): Promise<string> {
  const found: Named[] = [];
  for await (const item of items) if (item.name === name) found.push(item);
  const [first] = found;
  if (first === undefined) throw await unknown(kind, name, others);
  if (found.length > 1)
    throw new CliError(
      `There are ${found.length} ${kind}s ${name}. Name one by its id: ` +
        found.map(({ id }) => id).join(', '),
      { code: 'ambiguous_name' },
    );
  return first.id;
}

async function unknown(
  kind: string,
  name: string,
  others: () => Promise<readonly Named[]>,
): Promise<CliError> {
  const text = `There is no ${kind} ${name} that you can see${await nearest(name, others)}`;
  return new CliError(text, { code: 'not_found' });
}

async function nearest(name: string, others: () => Promise<readonly Named[]>): Promise<string> {
  const names = await others();
  return (
    didYouMean(
      name,
      names.map((other) => other.name),
    ) || '.'
  );
}
