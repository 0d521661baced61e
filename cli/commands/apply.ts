/** Sets of resources in a folder: what it says, the server has. */
import { ApiError, type ApplyPlan, type Operations } from '../../client/index.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { Cli } from '../core/cli.ts';
import { command } from '../core/command.ts';
import { CliError, EXIT, usageError, type ExitCode } from '../core/errors.ts';
import { flag, text } from '../core/flags.ts';
import { readFolder, RESOURCE_FOLDERS, type Folder } from '../core/folder.ts';
import { confirm } from '../core/input.ts';
import { ofTeam } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { oneLine } from '../core/text.ts';

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
  wraps: true,
  none: 'The set is empty.',
};

const folderFlags = {
  file: text('The folder (default: here)', 'DIR'),
  set: text('Name of the set; default: `set` of cadenza.yaml, else the name of the folder', 'NAME'),
  prune: flag('Archive what the set has made before and does not name any more'),
  team: text(
    'Make it for this team, with its secrets; default: `team` of cadenza.yaml, else for you',
    'TEAM',
  ),
};

const DETAILS =
  'A folder has `workflows/*.yaml` (plain definitions), `agents`, `webhooks`, `hooks` and `event-sources` ' +
  'with files of the fields of the API, and `cadenza.yaml` with the name of the set. Everything is checked ' +
  'before anything is sent, and applied all or none. A set never touches what another set or a person made.';

export const applyCommand = command({
  brief: 'Make the server equal to a folder',
  details: DETAILS,
  flags: {
    ...folderFlags,
    dryRun: flag('Only show the plan; exits with 3 if something would change'),
    yes: flag('Do not ask before something is archived'),
  },
  letters: { f: 'file' },
  run: async (cli, { file = '.', set, team, prune, dryRun, yes }) => {
    const folder = await readFolder(file);
    return applyFolder(cli, folder, { set, team, prune: prune === true, dryRun: dryRun === true, yes });
  },
});

export const diffCommand = command({
  brief: 'Show what apply would change; exits with 3 if there is something',
  flags: folderFlags,
  letters: { f: 'file' },
  run: async (cli, { file = '.', set, team, prune }) => {
    const folder = await readFolder(file);
    return applyFolder(cli, folder, { set, team, prune: prune === true, dryRun: true, yes: undefined });
  },
});

interface ApplyOptions {
  set: string | undefined;
  team: string | undefined;
  prune: boolean;
  dryRun: boolean;
  yes: boolean | undefined;
}

interface SentFolder {
  set: string | undefined;
  /** Default: that of the folder. */
  team?: string | undefined;
  prune?: boolean;
  dry_run?: true;
  digest?: string;
}

/** @throws CliError with the file of each resource that the server refuses */
export async function sendFolder(
  cli: Cli,
  folder: Folder,
  { set: given, team: name, ...more }: SentFolder,
): Promise<ApplyPlan> {
  const set = given ?? folder.set;
  if (set === undefined) throw usageError('Name the set: --set NAME, or `set: NAME` in cadenza.yaml.');
  if (more.prune === true && !folder.isNamed && given === undefined)
    throw usageError('To archive, name the set: --set NAME, or `set: NAME` in cadenza.yaml.');
  requireResources(folder, more.prune === true);
  const resources = folder.files.map(({ resource }) => resource);
  // The server checks every field, and names each that is wrong.
  const held = await ofTeam(cli, name ?? folder.team);
  const body = { set, resources, ...held, ...more } as unknown as Operations['applySet']['body'];
  return cli.client
    .call('applySet', { body, signal: cli.signal })
    .catch((error: unknown) => inFiles(error, folder));
}

/** Nothing at all is a mistake, unless everything that the set has made is to go. */
function requireResources({ path, files, misnamed }: Folder, prunes: boolean): void {
  if (files.length > 0 || (prunes && misnamed.length === 0)) return;
  const read = RESOURCE_FOLDERS.map((name) => `${name}/`).join(', ');
  throw new CliError(`There are no resources in ${path}: they are files in ${read}.`, {
    code: 'no_resources',
    hint:
      misnamed.length > 0
        ? misnamed.join('\n')
        : 'To archive all that the set has made: cadenza apply --prune',
  });
}

async function applyFolder(cli: Cli, folder: Folder, options: ApplyOptions): Promise<ExitCode> {
  const { set, team, prune } = options;
  sayMisnamed(cli, folder);
  const plan = await sendFolder(cli, folder, { set, team, prune, dry_run: true });
  const changes = plan.plan.filter(({ action }) => action !== 'unchanged' && action !== 'keep');
  const archived = changes.filter(({ action }) => action === 'archive');
  if (options.dryRun || changes.length === 0) {
    sayWarnings(cli, plan.plan);
    await cli.out.list(plan.plan, planView);
    return options.dryRun && changes.length > 0 ? EXIT.no : EXIT.good;
  }
  if (archived.length > 0) {
    const names = archived.map(({ kind, name }) => `${kind} ${name}`).join(', ');
    await confirm(cli, `Archive ${names}?`, options.yes);
  }
  const { plan: done } = await sendFolder(cli, folder, { set, team, prune, digest: plan.digest });
  sayWarnings(cli, done);
  await cli.out.list(done, planView);
  return EXIT.good;
}

/** Of a folder without resources, the error says it. */
export function sayMisnamed(cli: Cli, { files, misnamed }: Folder): void {
  if (files.length > 0) for (const one of misnamed) cli.say(oneLine(`warning: ${one}`));
}

export function sayWarnings(cli: Cli, plan: readonly PlanItem[]): void {
  for (const { kind, name, warnings } of plan)
    for (const { pointer, message } of warnings)
      cli.say(oneLine(`warning: ${kind} ${name} at ${pointer}: ${message}`));
}

/** The server's problems of resources, with the places in the files that these came from. */
function inFiles(error: unknown, { files }: Folder): never {
  if (!(error instanceof ApiError) || error.status !== 422) throw error;
  const problems = Array.isArray(error.problem['problems']) ? error.problem['problems'] : error.errors;
  let isOfFile = false;
  const errors = problems.filter(isRecord).map(({ pointer, code, message, line, column }) => {
    const [, index, rest = ''] = /^\/resources\/(\d+)(.*)$/.exec(String(pointer)) ?? [];
    const file = index === undefined ? undefined : files[Number(index)];
    isOfFile ||= file !== undefined;
    // Places of a definition are those in its file.
    const place =
      typeof line === 'number' && file !== undefined
        ? `${file.path}:${line}:${String(column)}#${rest.replace(/^\/definition/, '')}`
        : file?.placed(rest);
    const isMissing = rest === '/visibility' && code === 'required';
    const told = isMissing ? `${String(message)}, here or for all in cadenza.yaml` : String(message);
    return { pointer: place ?? String(pointer), code: String(code), message: told };
  });
  // The server's own sentence may name a place in the request, which nobody has written.
  if (!isOfFile) throw error;
  throw new CliError('Nothing was applied, because some resources have problems.', {
    code: error.code,
    errors,
  });
}
