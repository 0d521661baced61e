/** Agents. */
import { buildRouteMap, type Command } from '@stricli/core';

import type { Agent, AgentVersion, CreateAgentRequest, ListedAgent } from '../../client/index.ts';
import { argument, command, type Context } from '../core/command.ts';
import { text } from '../core/flags.ts';
import { checkForm, readForm } from '../core/form.ts';
import { readRecord } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { agentId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { endFlags, inputFlags, toEnd } from './run.ts';

const AGENT = argument('AGENT', 'Name or id', 'agent');
const VERSION = argument('VERSION', 'Such as 1.2.0');

const agentView: View<ListedAgent | Agent> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['type', (agent) => agent.display_type],
    ['status', ({ status }) => status],
    ['version', (agent) => agent.published_version ?? `${agent.version} (draft)`],
    ['visibility', ({ visibility }) => visibility],
  ],
  name: ({ id }) => id,
  none: 'No agents yet: cadenza agent create FILE',
};

type VersionRow = Pick<AgentVersion, 'version' | 'status' | 'created_at' | 'published_at'>;
const versionView: View<VersionRow> = {
  columns: [
    ['version', ({ version }) => version],
    ['status', ({ status }) => status],
    ['created', (row) => row.created_at],
    ['published', (row) => row.published_at],
  ],
  name: ({ version }) => version,
};

const list = command({
  brief: 'List own and public agents, newest first',
  flags: {
    ...listFlags,
    search: text('Text in the name or description', 'TEXT'),
    tag: text('With this tag', 'TAG'),
  },
  run: async (cli, { search, tag, ...flags }) => {
    await cli.requireLogIn();
    const items = cli.client.items('listAgents', {
      query: { q: search, tag, ...pageOf(flags) },
      signal: cli.signal,
    });
    await cli.out.list(await collect(cli, items, flags), agentView);
  },
});

const get = command({
  brief: 'Show an agent',
  arguments: [AGENT],
  run: async (cli, _flags, given) => {
    const path = { id: await agentId(cli, given) };
    await cli.out.record(await cli.client.call('getAgent', { path, signal: cli.signal }), agentView);
  },
});

const create = command({
  brief: 'Register an agent from a file of YAML or JSON',
  arguments: [argument('FILE', 'Its fields, - for standard input')],
  run: async (cli, _flags, file) => {
    // The server checks the fields, and names each that is wrong.
    const body = (await readRecord(cli, file)) as unknown as CreateAgentRequest;
    const agent = await cli.client.call('createAgent', { body, signal: cli.signal });
    for (const { pointer, message } of agent.warnings) cli.say(`warning at ${pointer}: ${message}`);
    await cli.out.record(agent, agentView);
  },
});

type VersionAction = 'publishAgentVersion' | 'deprecateAgentVersion';

function versionAction(id: VersionAction, brief: string): Command<Context> {
  return command({
    brief,
    arguments: [AGENT, VERSION],
    run: async (cli, _flags, given, version) => {
      const path = { id: await agentId(cli, given), version };
      await cli.out.record(await cli.client.call(id, { path, signal: cli.signal }), versionView);
    },
  });
}

const invoke = command({
  brief: 'Invoke an agent, which starts a run',
  details: 'The input is checked against the schema of the agent before anything starts.',
  flags: { ...inputFlags, ...endFlags, version: text('Default: the highest published one', 'VERSION') },
  letters: { i: 'input', f: 'file', w: 'watch' },
  arguments: [AGENT],
  run: async (cli, { input: pairs, file, version, ...end }, given) => {
    const path = { id: await agentId(cli, given) };
    const { input_schema: schema } = await cli.client.call('getAgent', { path, signal: cli.signal });
    const input = await readForm(cli, { pairs, file }, schema);
    // Another version may have another schema; the server knows.
    if (version === undefined) await checkForm(schema, input ?? {}, '/input');
    const body = { ...(input === undefined ? {} : { input }), ...(version === undefined ? {} : { version }) };
    const idempotencyKey = crypto.randomUUID();
    return toEnd(
      cli,
      await cli.client.call('invokeAgent', { path, body, idempotencyKey, signal: cli.signal }),
      end,
    );
  },
});

const card = command({
  brief: 'Show the card of an agent',
  arguments: [AGENT],
  run: async (cli, _flags, given) => {
    const path = { agent_id: await agentId(cli, given) };
    await cli.out.value(await cli.client.call('getAgentCard', { path, signal: cli.signal }));
  },
});

const versions = command({
  brief: 'List the versions of an agent, newest first',
  flags: listFlags,
  arguments: [AGENT],
  run: async (cli, flags, given) => {
    const path = { id: await agentId(cli, given) };
    const items = cli.client.items('listAgentVersions', { path, query: pageOf(flags), signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), versionView);
  },
});

const skills = command({
  brief: 'List the skills of an agent',
  flags: listFlags,
  arguments: [AGENT],
  run: async (cli, flags, given) => {
    const path = { id: await agentId(cli, given) };
    const items = cli.client.items('listAgentSkills', { path, query: pageOf(flags), signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), {
      columns: [
        ['name', ({ name }) => name],
        ['description', ({ description }) => description],
        ['tags', ({ tags }) => tags],
      ],
      name: ({ name }) => name,
    });
  },
});

const routes = {
  list,
  get,
  create,
  publish: versionAction('publishAgentVersion', 'Publish a draft, which makes it immutable'),
  deprecate: versionAction('deprecateAgentVersion', 'Deprecate a published version; it stays usable'),
  invoke,
  card,
  versions,
  skills,
};

export const agentCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Agents: register, publish, invoke' },
});
