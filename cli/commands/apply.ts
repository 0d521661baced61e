/** Sets of resources in a folder: what it says, the server has. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ApiError, type Agent, type ApplyPlan, type Operations } from '../../client/index.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { Cli } from '../core/cli.ts';
import { command, optional } from '../core/command.ts';
import { CliError, EXIT, usageError, type ExitCode } from '../core/errors.ts';
import { choice, flag, text } from '../core/flags.ts';
import { readFolder, readSettings, writeResource, type Folder, type Resource } from '../core/folder.ts';
import { confirm } from '../core/input.ts';
import { safeYaml } from '../core/output.ts';
import type { View } from '../core/table.ts';

export type PlanItem = ApplyPlan['plan'][number];

export const SIGNS: Readonly<Record<PlanItem['action'], string>> = {
  create: '+',
  update: '~',
  unchanged: '=',
  archive: '-',
  keep: '?',
};

const planView: View<PlanItem> = {
  columns: [
    ['', ({ action }) => SIGNS[action]],
    ['kind', ({ kind }) => kind],
    ['name', ({ name }) => name],
    ['action', ({ action }) => action],
    ['changes', ({ changes }) => changes],
  ],
  name: ({ kind, name }) => `${kind}/${name}`,
  none: 'The set is empty.',
};

const folderFlags = {
  file: text('The folder (default: here)', 'DIR'),
  set: text('Name of the set; default: `set` of cadenza.yaml, else the name of the folder', 'NAME'),
  prune: flag('Archive what the set has made before and does not name any more'),
};

const DETAILS =
  'A folder has `workflows/*.yaml` (plain definitions), `agents/*.yaml`, `webhooks/*.yaml` (fields of the ' +
  'API), and `cadenza.yaml` with the name of the set. Everything is checked before anything is sent, and ' +
  'applied all or none. A set never touches what another set or a person made.';

export const applyCommand = command({
  brief: 'Make the server equal to a folder',
  details: DETAILS,
  flags: {
    ...folderFlags,
    dryRun: flag('Only show the plan; exits with 3 if something would change'),
    yes: flag('Do not ask before something is archived'),
  },
  letters: { f: 'file' },
  run: async (cli, { file = '.', set, prune, dryRun, yes }) => {
    const folder = await readFolder(file);
    return applyFolder(cli, folder, { set, prune: prune === true, dryRun: dryRun === true, yes });
  },
});

export const diffCommand = command({
  brief: 'Show what apply would change; exits with 3 if there is something',
  flags: folderFlags,
  letters: { f: 'file' },
  run: async (cli, { file = '.', set, prune }) => {
    const folder = await readFolder(file);
    return applyFolder(cli, folder, { set, prune: prune === true, dryRun: true, yes: undefined });
  },
});

interface ApplyOptions {
  set: string | undefined;
  prune: boolean;
  dryRun: boolean;
  yes: boolean | undefined;
}

/** @throws CliError with the file of each resource that the server refuses */
export async function sendFolder(
  cli: Cli,
  folder: Folder,
  {
    set = folder.set,
    ...more
  }: { set: string | undefined; prune?: boolean; dry_run?: true; digest?: string },
): Promise<ApplyPlan> {
  if (set === undefined) throw usageError('Name the set: --set NAME, or `set: NAME` in cadenza.yaml.');
  if (more.prune === true && !folder.isNamed && set === folder.set)
    throw usageError('To archive, name the set: --set NAME, or `set: NAME` in cadenza.yaml.');
  const resources = folder.files.map(({ resource }) => resource);
  // The server checks every field, and names each that is wrong.
  const body = { set, resources, ...more } as unknown as Operations['applySet']['body'];
  return cli.client
    .call('applySet', { body, signal: cli.signal })
    .catch((error: unknown) => inFiles(error, folder));
}

async function applyFolder(cli: Cli, folder: Folder, options: ApplyOptions): Promise<ExitCode> {
  const { set, prune } = options;
  const plan = await sendFolder(cli, folder, { set, prune, dry_run: true });
  const changes = plan.plan.filter(({ action }) => action !== 'unchanged' && action !== 'keep');
  const archived = changes.filter(({ action }) => action === 'archive');
  if (options.dryRun || changes.length === 0) {
    await cli.out.list(plan.plan, planView);
    return options.dryRun && changes.length > 0 ? EXIT.no : EXIT.good;
  }
  if (archived.length > 0) {
    const names = archived.map(({ kind, name }) => `${kind} ${name}`).join(', ');
    await confirm(cli, `Archive ${names}?`, options.yes);
  }
  const { plan: done } = await sendFolder(cli, folder, { set, prune, digest: plan.digest });
  await cli.out.list(done, planView);
  return EXIT.good;
}

/** The server's problems of resources, with the files that these came from. */
function inFiles(error: unknown, { files }: Folder): never {
  if (!(error instanceof ApiError)) throw error;
  const problems = Array.isArray(error.problem['problems']) ? error.problem['problems'] : error.errors;
  const errors = problems.filter(isRecord).map(({ pointer, code, message, line, column }) => {
    const [, index, rest = ''] = /^\/resources\/(\d+)(.*)$/.exec(String(pointer)) ?? [];
    const file = index === undefined ? undefined : files[Number(index)]?.path;
    // Places of a definition are those in its file.
    const path = typeof line === 'number' ? `${file}:${line}:${String(column)}` : file;
    return {
      pointer: file === undefined ? String(pointer) : `${path}#${rest}`,
      code: String(code),
      message: String(message),
    };
  });
  if (error.status !== 422) throw error;
  throw new CliError(error.detail, { code: error.code, errors });
}

export const exportCommand = command({
  brief: 'Write a set as a folder, which apply would leave unchanged',
  flags: {
    set: text('Name of the set; default: `set` of cadenza.yaml in the folder', 'NAME'),
    format: choice('Form of the files (default yaml)', ['yaml', 'json']),
  },
  arguments: [optional('DIR', 'The folder. Default: the name of the set')],
  run: async (cli, { set: named, format = 'yaml' }, given) => {
    const set = named ?? (given === undefined ? undefined : (await readSettings(given)).set);
    if (set === undefined) throw usageError('Name the set: --set NAME.');
    const folder = given ?? set;
    const workflows: Resource[] = [];
    const written: { kind: string; name: string; path: string }[] = [];
    const rows = cli.client.items('listAppliedResources', { query: { set }, signal: cli.signal });
    for await (const { kind, name, id, archived_at: archived } of rows) {
      if (archived !== null) continue;
      const resource = await resourceOf(cli, kind, name, id);
      if (kind === 'workflow') workflows.push(resource);
      written.push({ kind, name, path: await writeResource(folder, resource, format) });
    }
    if (written.length === 0) throw new CliError(`You have no set ${set}.`, { code: 'not_found' });
    writeFileSync(join(folder, 'cadenza.yaml'), `${await safeYaml({ set, ...overlays(workflows) })}\n`);
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

/** What a definition has no place for, by the name in its document. */
function overlays(workflows: readonly Resource[]): Record<string, unknown> {
  const all = workflows.flatMap(({ name, definition, visibility, description, tags }) => {
    const document = isRecord(definition) && isRecord(definition['document']) ? definition['document'] : {};
    const fields = {
      ...(document['name'] === name ? {} : { name }),
      ...(visibility === 'public' ? { visibility } : {}),
      ...(typeof description === 'string' ? { description } : {}),
      ...(Array.isArray(tags) && tags.length > 0 ? { tags } : {}),
    };
    return Object.keys(fields).length === 0 ? [] : [[document['name'], fields]];
  });
  return all.length === 0 ? {} : { workflows: Object.fromEntries(all) };
}

async function resourceOf(cli: Cli, kind: Resource['kind'], name: string, id: string): Promise<Resource> {
  const path = { id };
  switch (kind) {
    case 'workflow': {
      const workflow = await cli.client.call('getWorkflow', { path, signal: cli.signal });
      const { definition, revision, visibility, description, tags } = workflow;
      const text = await cli.client.call('getWorkflowText', {
        path,
        query: { revision },
        signal: cli.signal,
      });
      return { kind, name, definition, text, visibility, description, tags };
    }
    case 'agent':
      return agentResource(await cli.client.call('getAgent', { path, signal: cli.signal }));
    case 'webhook': {
      const { url, types, description, active } = await cli.client.call('getWebhook', {
        path,
        signal: cli.signal,
      });
      return { kind, name, url, types, ...(description === null ? {} : { description }), active };
    }
  }
}

/** The fields that a caller sets. Status and version are the set's too; the rest is made by the server. */
const AGENT_FIELDS = [
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
