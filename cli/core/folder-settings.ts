/** `cadenza.yaml` of a folder of resources: the name of the set, and what definitions have no place for. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { FieldProblem, WorkflowResource } from '../../client/index.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { jsonPointer } from '../../contracts/json-pointer.ts';
import { didYouMean } from '../../contracts/suggest.ts';
import type { YamlText } from '../../language/yaml/read-yaml.ts';
import { CliError } from './errors.ts';
import { parseText } from './input.ts';

export const SETTINGS = 'cadenza.yaml';
/** Names under which somebody may look for it. */
const OTHER_SETTINGS = ['cadenza.yml', 'cadenza.json'];
const SETTING_NAMES = ['set', 'team', 'visibility', 'workflows'] as const;
const VISIBILITIES = ['private', 'public'];
/** What a definition has no place for. */
const WORKFLOW_SETTINGS = [
  'name',
  'visibility',
  'description',
  'tags',
  'budget',
  'runners',
] as const satisfies readonly (keyof WorkflowResource)[];

export interface Settings {
  set: string | undefined;
  team: string | undefined;
  visibility: unknown;
  /** Fields of workflows, by the name in their document. */
  workflows: Readonly<Record<string, unknown>>;
  /** `cadenza.yaml:3:1#/visibility` */
  placed: (pointer: string) => string;
  mistakes: FieldProblem[];
}

/** `set` and `team` of cadenza.yaml. @throws CliError if that has a mistake */
export async function namesIn(folder: string): Promise<Pick<Settings, 'set' | 'team'>> {
  const { set, team, mistakes } = await settingsIn(folder);
  refuseMistakes(mistakes);
  return { set, team };
}

/** @throws CliError if cadenza.yaml cannot be read; other mistakes are in the result */
export async function settingsIn(folder: string): Promise<Settings> {
  const path = join(folder, SETTINGS);
  const other = OTHER_SETTINGS.find((name) => existsSync(join(folder, name)));
  if (!existsSync(path) && other !== undefined)
    throw new CliError(`${join(folder, other)} is not read: its name must be ${SETTINGS}.`, {
      code: 'file_unreadable',
    });
  const { value, placeOf } = existsSync(path)
    ? await parseText(readFileSync(path, 'utf8'), path)
    : { value: {} };
  if (!isRecord(value)) throw new CliError(`${path} is no object.`, { code: 'file_unreadable' });
  const placed = (pointer: string): string => placedAt(path, pointer, placeOf);
  const { set, team, visibility, workflows } = value;
  return {
    set: typeof set === 'string' ? set : undefined,
    team: typeof team === 'string' ? team : undefined,
    // A name without a value says nothing.
    visibility: visibility ?? undefined,
    workflows: isRecord(workflows) ? workflows : {},
    placed,
    mistakes: mistakesOf(value).map((mistake) => ({ ...mistake, pointer: placed(mistake.pointer) })),
  };
}

/** Pointers lead into cadenza.yaml. */
function mistakesOf(settings: Readonly<Record<string, unknown>>): FieldProblem[] {
  const { set, team, visibility, workflows } = settings;
  const wrong = (name: string, message: string): FieldProblem => ({
    pointer: jsonPointer([name]),
    code: 'wrong_type',
    message,
  });
  const isText = (value: unknown): boolean => typeof (value ?? '') === 'string';
  return [
    ...unknownNames('cadenza.yaml', settings, SETTING_NAMES, []),
    ...(isText(set) ? [] : [wrong('set', '"set" must be text')]),
    ...(isText(team) ? [] : [wrong('team', '"team" must be text, such as "finance"')]),
    ...([undefined, null, ...VISIBILITIES].some((one) => one === visibility)
      ? []
      : [wrong('visibility', `"visibility" must be one of ${VISIBILITIES.join(', ')}`)]),
    ...mistakesOfWorkflows(workflows),
  ];
}

function mistakesOfWorkflows(workflows: unknown): FieldProblem[] {
  if (workflows === null || workflows === undefined) return [];
  const code = 'wrong_type';
  if (!isRecord(workflows))
    return [{ pointer: '/workflows', code, message: '"workflows" must be an object, by names of workflows' }];
  return Object.entries(workflows).flatMap(([name, fields]) => {
    const path = ['workflows', name];
    if (isRecord(fields)) return unknownNames(`"${name}"`, fields, WORKFLOW_SETTINGS, path);
    return [{ pointer: jsonPointer(path), code, message: `"${name}" must be an object with fields` }];
  });
}

function unknownNames(
  what: string,
  given: Readonly<Record<string, unknown>>,
  known: readonly string[],
  path: readonly string[],
): FieldProblem[] {
  return Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => ({
      pointer: jsonPointer([...path, name]),
      code: 'unknown_property',
      message: `${what} has no property "${name}"${didYouMean(name, known) || `, only ${known.join(', ')}`}`,
    }));
}

/** @param names of all workflows of the folder, by which cadenza.yaml gives them fields */
export function unknownWorkflows({ workflows, placed }: Settings, names: readonly string[]): FieldProblem[] {
  return Object.keys(workflows)
    .filter((name) => !names.includes(name))
    .map((name) => ({
      pointer: placed(jsonPointer(['workflows', name])),
      code: 'unknown_workflow',
      message:
        `there is no workflow "${name}" in workflows/` +
        (didYouMean(name, names) || (names.length > 0 ? `, only ${names.join(', ')}` : '')),
    }));
}

/** `workflows/pay.yaml:4:7#/do/0`: file and place as editors and terminals open them. */
export function placedAt(path: string, pointer: string, placeOf: YamlText['placeOf'] | undefined): string {
  const place = placeOf?.(pointer);
  return `${place ? `${path}:${place.line}:${place.column}` : path}#${pointer}`;
}

export function refuseMistakes(errors: readonly FieldProblem[]): void {
  if (errors.length > 0)
    throw new CliError('Nothing was sent: the files have mistakes.', { code: 'invalid_files', errors });
}
