/** Who may send events of a source, whose workflows may get them, and whose events reach a workflow. */
import { ApiError } from '../../client/index.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { sourceView } from '../core/event-views.ts';
import { flag, text, texts } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, ownerFlag, pageOf } from '../core/lists.ts';
import { isId, isUsername, ofOwner, ofTeam, personId, usernamesOf, workflowId } from '../core/names.ts';
import { WORKFLOW } from '../core/workflows.ts';

export const sources = command({
  brief: 'List the sources that you and your teams bind to a sender or share; admins see those of all users',
  flags: { ...listFlags, team: text('Only of this team', 'TEAM'), owner: ownerFlag },
  run: async (cli, { team, owner, ...flags }) => {
    await cli.requireLogIn();
    const query = { ...pageOf(flags), ...(await ofTeam(cli, team)), ...(await ofOwner(cli, owner)) };
    const items = cli.client.items('listEventSources', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), sourceView);
  },
});

export const bind = command({
  brief: 'Take events of a source from one sender only, or share them',
  details:
    'A source that has a record already keeps what no flag changes. --share replaces the users that the ' +
    'source was shared with before.',
  flags: {
    client: text('Id of the machine client that may send it', 'ID'),
    user: text('Id or name of the user who may send it', 'USER'),
    anyone: flag('Anyone who may send your events may send it'),
    share: texts('Id or name of a user whose workflows may get your events of it', 'USER'),
    unshared: flag('Share it with nobody'),
    description: text('What it is for', 'TEXT'),
    team: text('Of events of this team, instead of your own', 'TEAM'),
  },
  arguments: [argument('SOURCE', 'As in the events')],
  run: async (cli, { client, user, anyone, share, unshared, description, team }, source) => {
    if ([client, user, anyone].filter((one) => one !== undefined).length > 1)
      throw usageError('Choose one of --client, --user and --anyone.');
    if (share !== undefined && unshared === true) throw usageError('Choose one of --share and --unshared.');
    const isBound = client !== undefined || user !== undefined || anyone === true;
    const shared = await Promise.all((share ?? []).map((one) => personId(cli, one)));
    const body = {
      ...(isBound
        ? { client_id: client ?? null, user_id: user === undefined ? null : await personId(cli, user) }
        : {}),
      ...(share !== undefined || unshared === true ? { shared_with: shared } : {}),
      ...(description === undefined ? {} : { description }),
    };
    const { signal } = cli;
    const held = await ofTeam(cli, team);
    const saved = await cli.client
      .call('createEventSource', { body: { source, ...body, ...held }, signal })
      .catch(async (error: unknown) => {
        if (!(error instanceof ApiError) || error.code !== 'source_exists') throw error;
        const path = { id: await sourceId(cli, source, held.team_id) };
        return cli.client.call('updateEventSource', { path, body, signal });
      });
    await cli.out.record(saved, sourceView);
  },
});

/**
 * The record of a source, the user's own or a team's: administrators see others of the same source.
 * @param given the source, or the id of its record
 */
async function sourceId(cli: Cli, given: string, team: string | undefined): Promise<string> {
  const held = team === undefined ? { owner_id: 'me' } : { team_id: team };
  const query = { ...pageOf({ limit: undefined, all: true }), ...held };
  const items = cli.client.items('listEventSources', { query, signal: cli.signal });
  for await (const { id, source, team_id: holder } of items)
    if (id === given || (source === given && holder === (team ?? null))) return id;
  if (isId(given)) return given;
  throw new CliError(`There is no record of a source ${given}.`, { code: 'not_found' });
}

export const unbind = command({
  brief: 'Take events of a source from anyone who may send yours again, and share them no more',
  flags: { yes: flag('Do not ask'), team: text('Of this team', 'TEAM') },
  arguments: [argument('SOURCE', 'The source, or the id of its record', 'source')],
  hasData: false,
  run: async (cli, { yes, team }, given) => {
    const id = await sourceId(cli, given, (await ofTeam(cli, team)).team_id);
    await confirm(cli, `Delete the record of source ${given}?`, yes);
    await cli.client.call('deleteEventSource', { path: { id }, signal: cli.signal });
    cli.say(`Deleted the record of source ${given}.`);
  },
});

interface Sender {
  id: string;
  username: string;
}

async function listSenders(cli: Cli, ids: readonly string[]): Promise<void> {
  const names = await usernamesOf(cli, ids);
  const rows = ids.map((id, index): Sender => ({ id, username: names[index] ?? id }));
  await cli.out.list(rows, {
    columns: [
      ['id', ({ id }) => id],
      ['username', ({ username }) => username],
    ],
    name: ({ id }) => id,
    none: 'Only events of its owner reach the workflow.',
  });
}

export const senders = command({
  brief: 'List the users whose events reach a workflow, besides its owner',
  arguments: [WORKFLOW],
  run: async (cli, _flags, given) => {
    const path = { id: await workflowId(cli, given) };
    await listSenders(cli, (await cli.client.call('getEventSenders', { path, signal: cli.signal })).users);
  },
});

const USER = argument('USER', 'Id or username', 'person');

async function changeSenders(
  cli: Cli,
  given: string,
  change: (users: readonly string[]) => string[],
): Promise<void> {
  const path = { id: await workflowId(cli, given) };
  const { signal } = cli;
  for (let attempt = 1; ; attempt += 1) {
    const { record, etag } = await cli.client.tagged('getEventSenders', { path, signal });
    const body = { users: change(record.users) };
    try {
      const headers = etag === null ? {} : { 'if-match': etag };
      const changed = await cli.client.call('setEventSenders', { path, body, headers, signal });
      return await listSenders(cli, changed.users);
    } catch (error) {
      // Somebody has changed them meanwhile: theirs are kept.
      if (!(error instanceof ApiError) || error.status !== 412 || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

const MAX_ATTEMPTS = 5;

export const allow = command({
  brief: 'Let events of a user, who shares their source, reach a workflow',
  arguments: [WORKFLOW, USER],
  run: async (cli, _flags, workflow, user) => {
    const id = await personId(cli, user);
    await changeSenders(cli, workflow, (users) => [...users.filter((one) => one !== id), id]);
  },
});

export const disallow = command({
  brief: 'Let events of a user reach a workflow no more; runs that listen already keep theirs',
  arguments: [WORKFLOW, USER],
  run: async (cli, _flags, workflow, user) => {
    const path = { id: await workflowId(cli, workflow) };
    const { users: before } = await cli.client.call('getEventSenders', { path, signal: cli.signal });
    // People do not find one whose account is disabled.
    const names = await usernamesOf(cli, before);
    const known = before.find((_id, at) => isUsername({ username: names[at] ?? '' }, user));
    const id = known ?? (await personId(cli, user));
    await changeSenders(cli, path.id, (users) => users.filter((one) => one !== id));
  },
});
