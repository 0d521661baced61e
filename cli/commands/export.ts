/** A set of resources on the server as a folder. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ApiError, type Agent, type AppliedResource, type InboundWebhook } from '../../client/index.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { Cli } from '../core/cli.ts';
import { command, optional } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { choice, text } from '../core/flags.ts';
import { namesIn } from '../core/folder-settings.ts';
import { workflowName, writeResource, type Resource } from '../core/folder.ts';
import { definitionIn } from '../core/input.ts';
import { ofTeam } from '../core/names.ts';
import { safeYaml } from '../core/output.ts';
import { oneLine } from '../core/text.ts';

export const exportCommand = command({
  brief: 'Write a set as a folder, which apply would leave unchanged',
  flags: {
    set: text('Name of the set; default: `set` of cadenza.yaml in the folder', 'NAME'),
    team: text('The set of this team; default: `team` of cadenza.yaml in the folder, else yours', 'TEAM'),
    format: choice('Form of the files (default yaml)', ['yaml', 'json']),
  },
  arguments: [optional('DIR', 'The folder. Default: the name of the set')],
  run: async (cli, { set: named, team: ofWhom, format = 'yaml' }, given) => {
    const folder = given ?? named;
    const before = folder === undefined ? undefined : await namesIn(folder);
    const set = named ?? before?.set;
    if (folder === undefined || set === undefined) throw usageError('Name the set: --set NAME.');
    const team = ofWhom ?? before?.team;
    const query = { set, ...(await ofTeam(cli, team)) };
    const workflows: WrittenWorkflow[] = [];
    const taken = new Set<string>();
    const written: { kind: string; name: string; path: string }[] = [];
    const rows = cli.client.items('listAppliedResources', { query, signal: cli.signal });
    for await (const { kind, name, id, archived_at: archived } of rows) {
      if (archived !== null) continue;
      const resource = await resourceOf(cli, { kind, name, id }).catch(goneIsNull);
      if (resource === null) {
        cli.say(`Left out the ${kind} ${oneLine(name)}: somebody has deleted it.`);
        continue;
      }
      const path = await writeResource(folder, name, resource, { format, taken });
      if (kind === 'workflow') workflows.push({ ...resource, name, named: await namedAt(path) });
      written.push({ kind, name, path });
    }
    if (written.length === 0) {
      const whose = team === undefined ? 'You have' : `The team ${team} has`;
      throw new CliError(`${whose} no set ${set}.`, { code: 'not_found' });
    }
    const settings = { set, ...(team === undefined ? {} : { team }), ...overlays(workflows) };
    writeFileSync(join(folder, 'cadenza.yaml'), `${await safeYaml(settings)}\n`);
    sayWithoutSecret(cli, written);
    await cli.out.list(written, {
      columns: [
        ['kind', (row) => row.kind],
        ['name', (row) => row.name],
        ['file', (row) => row.path],
      ],
      name: (row) => row.path,
    });
  },
});

/** The server tells nobody the signing secret of a webhook, nor the name of the secret that it came from. */
function sayWithoutSecret(cli: Cli, written: readonly { kind: string; path: string }[]): void {
  for (const { path } of written.filter(({ kind }) => kind === 'webhook'))
    cli.say(
      oneLine(`${path} has no signing secret: to create the webhook elsewhere, add secret: <NAME> to it.`),
    );
}

function goneIsNull(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}

interface WrittenWorkflow extends Resource {
  name: string;
  /** In the folder. */
  named: string;
}

/** The server adds a document to a definition without one, which its text has not. */
async function namedAt(path: string): Promise<string> {
  const { definition } = await definitionIn(readFileSync(path, 'utf8'), path);
  return workflowName(definition, path);
}

/** What definitions have no place for. */
function overlays(workflows: readonly WrittenWorkflow[]): Record<string, unknown> {
  const all = workflows.flatMap(({ name, named, visibility, description, tags, budget, runners }) => {
    const fields = {
      ...(named === name ? {} : { name }),
      ...(visibility === 'public' ? { visibility } : {}),
      ...(typeof description === 'string' ? { description } : {}),
      ...(Array.isArray(tags) && tags.length > 0 ? { tags } : {}),
      ...(isRecord(budget) ? { budget: withoutNulls(budget) } : {}),
      ...(isRecord(runners) && hasRunners(runners) ? { runners } : {}),
    };
    return Object.keys(fields).length === 0 ? [] : [[named, fields]];
  });
  return all.length === 0 ? {} : { workflows: Object.fromEntries(all) };
}

const hasRunners = (runners: Readonly<Record<string, unknown>>): boolean =>
  Object.values(runners).some((value) => (Array.isArray(value) ? value.length > 0 : value === true));

async function resourceOf(
  cli: Cli,
  { kind, name, id }: Pick<AppliedResource, 'kind' | 'name' | 'id'>,
): Promise<Resource> {
  const path = { id };
  switch (kind) {
    case 'workflow': {
      const workflow = await cli.client.call('getWorkflow', { path, signal: cli.signal });
      const { definition, revision, visibility, description, tags, budget, runners } = workflow;
      const text = await cli.client.call('getWorkflowText', {
        path,
        query: { revision },
        signal: cli.signal,
      });
      return { kind, name, definition, text, visibility, description, tags, budget, runners };
    }
    case 'agent':
      return { ...agentResource(await cli.client.call('getAgent', { path, signal: cli.signal })), name };
    case 'webhook': {
      const { url, types, description, active } = await cli.client.call('getWebhook', {
        path,
        signal: cli.signal,
      });
      return { kind, name, url, types, ...(description === null ? {} : { description }), active };
    }
    case 'hook':
      return { ...hookResource(await cli.client.call('getHook', { path, signal: cli.signal })), name };
    case 'event_source': {
      const found = await cli.client.call('getEventSource', { path, signal: cli.signal });
      const { source, client_id, user_id, shared_with, description } = found;
      return { kind, source, ...withoutNulls({ client_id, user_id, shared_with, description }) };
    }
  }
}

const withoutNulls = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

function hookResource(hook: InboundWebhook): Resource {
  const { name, scheme, secret, former_secret, event_type, tolerance_seconds, active, source, url } = hook;
  // A webhook has its own address as its source by default, and the copy has another.
  const named = source === url ? null : source;
  const others = withoutNulls({ former_secret, event_type, source: named });
  return { kind: 'hook', name, scheme, secret, ...others, tolerance_seconds, active };
}

/** The fields that a caller sets. Status and version are the set's too; the rest is made by the server. */
export const AGENT_FIELDS = [
  'type',
  'execution_type',
  'version',
  'visibility',
  'status',
  'description',
  'documentation',
  'license',
  'repository_url',
  'configuration',
  'input_schema',
  'output_schema',
  'modalities',
  'capabilities',
  'url',
  'provider_name',
  'provider_url',
  'authentication_type',
  'authentication_config',
  'capabilities_streaming',
  'capabilities_push',
  'capabilities_history',
  'tags',
  'limits',
  'budget',
] as const satisfies readonly (keyof Agent)[];

function agentResource(agent: Agent): Resource {
  const fields = AGENT_FIELDS.map((field) => [field, agent[field]]).filter(([, value]) => value !== null);
  const skills = agent.skills.map(({ id: _id, agent_id: _agent, ...skill }) => skill);
  return {
    kind: 'agent',
    name: agent.name,
    ...Object.fromEntries(fields),
    ...(skills.length === 0 ? {} : { skills }),
    ...(agent.published_version === null ? { publish: false } : {}),
  };
}
