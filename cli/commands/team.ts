/** Teams, their members, and what moves between them. */
import { buildRouteMap } from '@stricli/core';

import type { Team, TeamGroup, TeamMember } from '../../client/index.ts';
import { ROLES } from '../../contracts/roles.ts';
import type { Cli } from '../core/cli.ts';
import { agentView, sayWarnings } from '../core/agents.ts';
import { argument, command, FRESH_LOG_IN, optional, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { hookView, sourceView, webhookView } from '../core/event-views.ts';
import { fileView } from '../core/files.ts';
import { choice, flag, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { agentId, isId, isUsername, personId, teamId, workflowId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { ago } from '../core/text.ts';
import { workflowView } from '../core/workflows.ts';

const TEAM = argument('TEAM', 'Id or name');
const PERSON = argument('USER', 'Id or username', 'person');
const GROUP = argument('GROUP', 'Such as corp:finance: of the issuer corp; without a colon a local one');
const KINDS = ['agent', 'workflow', 'file', 'webhook', 'hook', 'event-source'] as const;

const teamView: View<Team> = {
  columns: [
    ['name', ({ name }) => name],
    ['your role', ({ role }) => role ?? ''],
    ['members', ({ members }) => String(members)],
    ['created', (team) => ago(team.created_at)],
  ],
  name: ({ name }) => name,
  none: 'No teams.',
};

const memberView: View<TeamMember> = {
  columns: [
    ['username', ({ username }) => username],
    ['role', ({ role }) => role],
    ['by groups', ({ groups }) => groups.map((one) => `${one.group}: ${one.role}`).join(', ')],
    ['since', (member) => ago(member.added_at)],
  ],
  name: ({ username }) => username,
  none: 'No members.',
};

const groupView: View<TeamGroup> = {
  columns: [
    ['group', ({ group }) => group],
    ['role', ({ role }) => role],
    ['since', (one) => ago(one.added_at)],
    ['state', ({ pending }) => (pending ? 'people still get the role' : '')],
  ],
  name: ({ group }) => group,
  none: 'No groups.',
};

const list = command({
  brief: 'List your teams; admins see all',
  flags: { ...listFlags, search: text('Text in the name', 'TEXT') },
  run: async (cli, { search, ...flags }) => {
    await cli.requireLogIn();
    const query = { q: search, ...pageOf(flags) };
    const items = cli.client.items('listTeams', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), teamView);
  },
});

const get = command({
  brief: 'Show a team',
  arguments: [TEAM],
  run: async (cli, _flags, given) => {
    const path = { id: await teamId(cli, given) };
    await cli.out.record(await cli.client.call('getTeam', { path, signal: cli.signal }), teamView);
  },
});

const create = command({
  brief: 'Create a team; for admins',
  flags: {
    description: text('What the team does', 'TEXT'),
    admin: text('Id or username of its first admin; default: you', 'USER'),
  },
  arguments: [argument('NAME', 'Such as payments')],
  run: async (cli, { description, admin }, name) => {
    const body = {
      name,
      ...(description === undefined ? {} : { description }),
      ...(admin === undefined ? {} : { admin: await personId(cli, admin) }),
    };
    await cli.out.record(await cli.client.call('createTeam', { body, signal: cli.signal }), teamView);
  },
});

const update = command({
  brief: 'Rename or describe a team; for its admins',
  flags: { name: text('New name', 'NAME'), description: text('What the team does', 'TEXT') },
  arguments: [TEAM],
  run: async (cli, { name, description }, given) => {
    if (name === undefined && description === undefined) throw usageError('Give --name or --description.');
    const path = { id: await teamId(cli, given) };
    const body = {
      ...(name === undefined ? {} : { name }),
      ...(description === undefined ? {} : { description }),
    };
    await cli.out.record(await cli.client.call('updateTeam', { path, body, signal: cli.signal }), teamView);
  },
});

const remove = command({
  brief: 'Delete a team that owns nothing any more; for its admins',
  flags: { yes: flag('Do not ask') },
  arguments: [TEAM],
  hasData: false,
  run: async (cli, { yes }, given) => {
    const path = { id: await teamId(cli, given) };
    await confirm(cli, `Delete team ${given}?`, yes);
    await cli.client.call('deleteTeam', { path, signal: cli.signal });
    cli.say(`Deleted team ${given}.`);
  },
});

const members = command({
  brief: 'List the members of a team',
  flags: listFlags,
  arguments: [TEAM],
  run: async (cli, flags, given) => {
    const path = { id: await teamId(cli, given) };
    const items = cli.client.items('listTeamMembers', { path, query: pageOf(flags), signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), memberView);
  },
});

const add = command({
  brief: 'Add a member to a team, or change their role in it; for its admins',
  details: FRESH_LOG_IN,
  flags: { role: choice('Role in the team (default viewer)', ROLES) },
  arguments: [TEAM, PERSON],
  run: async (cli, { role = 'viewer' }, team, person) => {
    const path = { id: await teamId(cli, team), user_id: await personId(cli, person) };
    const body = { role };
    await cli.out.record(
      await cli.client.call('putTeamMember', { path, body, signal: cli.signal }),
      memberView,
    );
  },
});

const leave = command({
  brief: 'Remove a member from a team; for its admins, and for members themselves',
  flags: { yes: flag('Do not ask') },
  arguments: [TEAM, PERSON],
  hasData: false,
  run: async (cli, { yes }, team, person) => {
    const id = await teamId(cli, team);
    const path = { id, user_id: await memberId(cli, id, person) };
    await confirm(cli, `Remove ${person} from team ${team}?`, yes);
    await cli.client.call('removeTeamMember', { path, signal: cli.signal });
    cli.say(`Removed ${person} from team ${team}.`);
  },
});

/** Also of a member whose account is disabled, whom only admins find elsewhere. */
async function memberId(cli: Cli, id: string, given: string): Promise<string> {
  if (isId(given)) return given;
  const request = { path: { id }, query: pageOf({ limit: undefined, all: true }), signal: cli.signal };
  for await (const member of cli.client.items('listTeamMembers', request))
    if (isUsername(member, given)) return member.user_id;
  return personId(cli, given);
}

const groups = command({
  brief: 'List the groups whose people have a role in a team',
  flags: listFlags,
  arguments: [TEAM],
  run: async (cli, flags, given) => {
    const path = { id: await teamId(cli, given) };
    const items = cli.client.items('listTeamGroups', { path, query: pageOf(flags), signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), groupView);
  },
});

const addGroup = command({
  brief: 'Give everybody in a group a role in a team; for its admins',
  details: FRESH_LOG_IN,
  flags: { role: choice('Role in the team (default viewer)', ROLES) },
  arguments: [TEAM, GROUP],
  run: async (cli, { role = 'viewer' }, team, group) => {
    const path = { id: await teamId(cli, team), group };
    const body = { role };
    await cli.out.record(
      await cli.client.call('putTeamGroup', { path, body, signal: cli.signal }),
      groupView,
    );
  },
});

const removeGroup = command({
  brief: 'Take a role in a team from the people of a group; for admins of the team',
  flags: { yes: flag('Do not ask') },
  arguments: [TEAM, GROUP],
  hasData: false,
  run: async (cli, { yes }, team, group) => {
    const path = { id: await teamId(cli, team), group };
    await confirm(cli, `Remove the group ${group} from team ${team}?`, yes);
    await cli.client.call('removeTeamGroup', { path, signal: cli.signal });
    cli.say(`Removed the group ${group} from team ${team}.`);
  },
});

const move = command({
  brief: 'Give a record to a team, without one to yourself, or as an admin to another person',
  details: 'Versions, revisions, runs and deliveries move along. The secrets that it reads are copied.',
  flags: { owner: text('The person who gets it, for admins', 'USER') },
  arguments: [
    argument('KIND', `One of ${KINDS.join(', ')}`),
    argument('RECORD', 'Id; of agents and workflows also the name'),
    optional('TEAM', 'Id or name of a team'),
  ],
  run: async (cli, { owner }, kind, given, team) => {
    const known = KINDS.find((one) => one === kind);
    if (known === undefined) throw usageError(`${kind} is none of ${KINDS.join(', ')}.`);
    if (owner !== undefined) {
      if (team !== undefined) throw usageError('Give a TEAM or --owner.');
      await moveRecord(cli, known, given, { team_id: null, owner_id: await personId(cli, owner) });
      return cli.say(`The ${kind} is ${owner}'s now.`);
    }
    await moveRecord(cli, known, given, { team_id: team === undefined ? null : await teamId(cli, team) });
    cli.say(team === undefined ? `The ${kind} is yours now.` : `The ${kind} is of team ${team} now.`);
  },
});

async function moveRecord(
  cli: Cli,
  kind: (typeof KINDS)[number],
  given: string,
  body: { team_id?: string | null; owner_id?: string },
): Promise<void> {
  const { client, out, signal } = cli;
  switch (kind) {
    case 'agent': {
      const path = { id: await agentId(cli, given) };
      const moved = await client.call('updateAgent', { path, body, signal });
      sayWarnings(cli, moved);
      return out.record(moved, agentView);
    }
    case 'workflow': {
      const path = { id: await workflowId(cli, given) };
      const moved = await client.call('updateWorkflow', { path, body, signal });
      sayWarnings(cli, moved);
      return out.record(moved, workflowView);
    }
    case 'file':
      return out.record(await client.call('updateFile', { path: { id: given }, body, signal }), fileView);
    case 'webhook': {
      const path = { id: given };
      const moved = await client.call('updateWebhook', { path, body, signal });
      sayWarnings(cli, moved);
      return out.record(moved, webhookView);
    }
    case 'hook':
      return out.record(await client.call('updateHook', { path: { id: given }, body, signal }), hookView);
    case 'event-source': {
      const path = { id: given };
      return out.record(await client.call('updateEventSource', { path, body, signal }), sourceView);
    }
  }
}

type Commands =
  | 'list'
  | 'get'
  | 'create'
  | 'update'
  | 'delete'
  | 'members'
  | 'add'
  | 'remove'
  | 'groups'
  | 'add-group'
  | 'remove-group'
  | 'move';

export const teamCommands = buildRouteMap<Commands, Context>({
  routes: {
    list,
    get,
    create,
    update,
    delete: remove,
    members,
    add,
    remove: leave,
    groups,
    'add-group': addGroup,
    'remove-group': removeGroup,
    move,
  },
  docs: { brief: 'Teams, their members and groups' },
});
