/** Versions and skills of agents. */
import type { Command } from '@stricli/core';

import {
  ApiError,
  type AgentSkill,
  type CreateAgentVersionRequest,
  type ListedAgentSkill,
} from '../../client/index.ts';
import { AGENT, VERSION, versionView } from '../core/agents.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command, optional, type Context } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { flag, text, texts } from '../core/flags.ts';
import { confirm, readRecord } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { agentId } from '../core/names.ts';
import type { View } from '../core/table.ts';

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

export const publish = versionAction('publishAgentVersion', 'Publish a draft, which makes it immutable');
export const deprecate = versionAction(
  'deprecateAgentVersion',
  'Deprecate a published version; it stays usable',
);

export const versions = command({
  brief: 'List the versions of an agent, newest first',
  flags: listFlags,
  arguments: [AGENT],
  run: async (cli, flags, given) => {
    const path = { id: await agentId(cli, given) };
    const items = cli.client.items('listAgentVersions', { path, query: pageOf(flags), signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), versionView);
  },
});

export const version = command({
  brief: 'Show a version of an agent with its configuration and schemas',
  arguments: [AGENT, VERSION],
  run: async (cli, _flags, given, number) => {
    const path = { id: await agentId(cli, given), version: number };
    await cli.out.value(await cli.client.call('getAgentVersion', { path, signal: cli.signal }));
  },
});

export const draft = command({
  brief: 'Add a draft of a version, or change a draft',
  details:
    'What the file does not say is copied from the current version of the agent, or stays as it is in the ' +
    'draft. Publish the draft with cadenza agent publish.',
  flags: { changelog: text('What is new', 'TEXT') },
  arguments: [
    AGENT,
    VERSION,
    optional('FILE', 'configuration, input_schema and output_schema as YAML or JSON, - for standard input'),
  ],
  run: async (cli, { changelog }, given, number, file) => {
    const content: Record<string, unknown> = file === undefined ? {} : await readRecord(cli, file);
    const { version: named = number, ...read } = content;
    if (named !== number) throw usageError(`The file is of version ${String(named)}, not ${number}.`);
    const id = await agentId(cli, given);
    const fields = { ...read, ...(changelog === undefined ? {} : { changelog }) };
    // The server checks the fields, and names each that is wrong.
    const body: CreateAgentVersionRequest = { ...fields, version: number };
    const { signal } = cli;
    const saved = await cli.client
      .call('createAgentVersion', { path: { id }, body, signal })
      .catch((error: unknown) => {
        if (!(error instanceof ApiError) || error.code !== 'version_exists') throw error;
        return cli.client.call('updateAgentVersion', { path: { id, version: number }, body: fields, signal });
      });
    await cli.out.record(saved, versionView);
  },
});

const skillView: View<AgentSkill | ListedAgentSkill> = {
  columns: [
    ['name', ({ name }) => name],
    ['description', ({ description }) => description],
    ['tags', ({ tags }) => tags],
  ],
  name: ({ name }) => name,
  none: 'No skills: cadenza agent set-skill AGENT SKILL',
};

export const skills = command({
  brief: 'List the skills of an agent',
  flags: listFlags,
  arguments: [AGENT],
  run: async (cli, flags, given) => {
    const path = { id: await agentId(cli, given) };
    const items = cli.client.items('listAgentSkills', { path, query: pageOf(flags), signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), skillView);
  },
});

const SKILL = argument('SKILL', 'Name or id of a skill');

/** Undefined if the agent has no such skill. @throws CliError if several have this name */
async function skillId(cli: Cli, agent: string, given: string): Promise<string | undefined> {
  const found: string[] = [];
  const items = cli.client.items('listAgentSkills', {
    path: { id: agent },
    query: pageOf({ limit: undefined, all: true }),
    signal: cli.signal,
  });
  for await (const { id, name } of items) if (id === given || name === given) found.push(id);
  if (found.length > 1)
    throw new CliError(`The agent has ${found.length} skills ${given}: ${found.join(', ')}`, {
      code: 'ambiguous_name',
    });
  return found[0];
}

export const setSkill = command({
  brief: 'Add a skill to an agent, or change the one with this name',
  flags: {
    description: text('What it does', 'TEXT'),
    tag: texts('Tag', 'TAG'),
    example: texts('What somebody could ask', 'TEXT'),
  },
  arguments: [AGENT, SKILL],
  run: async (cli, { description, tag, example }, given, name) => {
    const id = await agentId(cli, given);
    const fields = {
      ...(description === undefined ? {} : { description }),
      ...(tag === undefined ? {} : { tags: [...tag] }),
      ...(example === undefined ? {} : { examples: [...example] }),
    };
    const skill = await skillId(cli, id, name);
    const { signal } = cli;
    const saved =
      skill === undefined
        ? await cli.client.call('createAgentSkill', { path: { id }, body: { name, ...fields }, signal })
        : await cli.client.call('updateAgentSkill', { path: { id, skill_id: skill }, body: fields, signal });
    await cli.out.record(saved, skillView);
  },
});

export const deleteSkill = command({
  brief: 'Delete a skill of an agent',
  flags: { yes: flag('Do not ask') },
  arguments: [AGENT, SKILL],
  hasData: false,
  run: async (cli, { yes }, given, name) => {
    const id = await agentId(cli, given);
    const skill = await skillId(cli, id, name);
    if (skill === undefined)
      throw new CliError(`The agent ${given} has no skill ${name}.`, { code: 'not_found' });
    await confirm(cli, `Delete skill ${name} of agent ${given}?`, yes);
    await cli.client.call('deleteAgentSkill', { path: { id, skill_id: skill }, signal: cli.signal });
    cli.say(`Deleted skill ${name}.`);
  },
});
