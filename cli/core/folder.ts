/**
 * A set of resources as a folder: `workflows/*.yaml` are plain definitions, the files of the other folders
 * the fields of the API, `cadenza.yaml` names the set.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';

import type { FieldProblem } from '../../client/index.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { jsonPointer } from '../../contracts/json-pointer.ts';
import { closest } from '../../contracts/suggest.ts';
import { CliError } from './errors.ts';
import {
  placedAt,
  refuseMistakes,
  SETTINGS,
  settingsIn,
  unknownWorkflows,
  type Settings,
} from './folder-settings.ts';
import { parseText, sentDefinition } from './input.ts';
import { safeJson } from './text.ts';
import { safeYaml } from './output.ts';

/** Where the resources of each kind are. */
const FOLDERS = {
  agent: 'agents',
  workflow: 'workflows',
  webhook: 'webhooks',
  hook: 'hooks',
  event_source: 'event-sources',
} as const;
type Kind = keyof typeof FOLDERS;
// The keys of the object above.
const KINDS = Object.keys(FOLDERS) as readonly Kind[];
/** Where `readFolder` looks. */
export const RESOURCE_FOLDERS = Object.values(FOLDERS);

/** As the server takes it. */
export interface Resource extends Record<string, unknown> {
  kind: Kind;
}

interface ResourceFile {
  path: string;
  resource: Resource;
  /** `workflows/pay.yaml:4:7#/do/0`: where the author has written what a pointer into the resource names. */
  placed: (pointer: string) => string;
}

export interface Folder {
  path: string;
  /** `set` of cadenza.yaml, else the name of the folder; undefined if that cannot name a set. */
  set: string | undefined;
  /** Whether cadenza.yaml names the set. */
  isNamed: boolean;
  /** `team` of cadenza.yaml: its id or name. */
  team: string | undefined;
  files: ResourceFile[];
  /** Folders that are probably meant and not read, in words. */
  misnamed: string[];
}

/** The server takes as much in one request. */
const MAX_FILES = 200;
const MAX_BYTES = 2 * 1024 * 1024;
/** Characters of the name of a set, as the server takes it. */
const MAX_SET_NAME = 100;
/** Characters of a file's name before its ending. */
const MAX_FILE_NAME = 100;
const EXTENSIONS = ['.yaml', '.yml', '.json'];

/** @throws CliError with every mistake that can be found without the server, each with its file */
export async function readFolder(folder: string): Promise<Folder> {
  requireFolder(folder);
  checkSize(folder);
  const settings = await settingsIn(folder);
  const mistakes = [...settings.mistakes];
  const files: ResourceFile[] = [];
  const names: string[] = [];
  for (const kind of KINDS)
    for (const path of filesIn(join(folder, FOLDERS[kind]))) {
      const read = await readResource(kind, path, settings);
      if (kind === 'workflow' && read.named !== undefined) names.push(read.named);
      mistakes.push(...read.mistakes);
      if (read.file) files.push(read.file);
    }
  refuseMistakes([...mistakes, ...unknownWorkflows(settings, names)]);
  const { set, team } = settings;
  return {
    path: folder,
    set: set ?? setOf(folder),
    isNamed: set !== undefined,
    team,
    files,
    misnamed: misnamedIn(folder),
  };
}

/** The folder's name as the name of a set. */
function setOf(folder: string): string | undefined {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-');
  return name.replace(/^[._-]+/, '').slice(0, MAX_SET_NAME) || undefined;
}

export function requireFolder(path: string): void {
  if (!existsSync(path) || !statSync(path).isDirectory())
    throw new CliError(`There is no folder ${path}.`, { code: 'file_unreadable' });
}

/** Fails early, so that no folder fills the memory. */
function checkSize(folder: string): void {
  const paths = RESOURCE_FOLDERS.flatMap((name) => filesIn(join(folder, name)));
  const settings = join(folder, SETTINGS);
  const read = existsSync(settings) ? [settings, ...paths] : paths;
  const bytes = read.reduce((sum, path) => sum + statSync(path).size, 0);
  if (paths.length > MAX_FILES || bytes > MAX_BYTES)
    throw new CliError(
      `${folder} has ${paths.length} files with ${bytes} bytes. ` +
        `A set has at most ${MAX_FILES} files and ${MAX_BYTES} bytes.`,
      { code: 'set_too_large' },
    );
}

/** Folders with files that are named almost as one that is not there. */
function misnamedIn(folder: string): string[] {
  const missing = RESOURCE_FOLDERS.filter((name) => !existsSync(join(folder, name)));
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && filesIn(join(folder, entry.name)).length > 0)
    .flatMap(({ name }) => {
      const meant = closest(name, missing);
      return meant === undefined ? [] : [`${join(folder, name)}/ is not read, did you mean ${meant}/?`];
    });
}

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => EXTENSIONS.includes(extname(name)));
  return names.toSorted().map((name) => join(folder, name));
}

interface ReadFile {
  /** Absent if it has mistakes. */
  file?: ResourceFile;
  /** By which cadenza.yaml names a workflow. */
  named?: string;
  mistakes: FieldProblem[];
}

async function readResource(kind: Kind, path: string, settings: Settings): Promise<ReadFile> {
  const text = readFileSync(path, 'utf8');
  const { value, placeOf } = await parseText(text, path);
  const placed = (pointer: string): string => placedAt(path, pointer, placeOf);
  if (!isRecord(value))
    return {
      named: fileName(path),
      mistakes: [{ pointer: path, code: 'wrong_type', message: 'is no object' }],
    };
  if (kind === 'workflow') return readWorkflow({ path, text, value, placed }, settings);
  // Its `source` names an event source.
  if (kind === 'event_source') return { file: { path, resource: { ...value, kind }, placed }, mistakes: [] };
  const shared = kind === 'agent' ? sharedFields(settings) : {};
  const name = typeof value['name'] === 'string' ? value['name'] : fileName(path);
  const resource = { ...shared, ...value, kind, name };
  const isShared = (pointer: string): boolean =>
    pointer === '/visibility' && 'visibility' in shared && !('visibility' in value);
  const place = (pointer: string): string => (isShared(pointer) ? settings.placed(pointer) : placed(pointer));
  return { file: { path, resource, placed: place }, mistakes: [] };
}

const fileName = (path: string): string => basename(path, extname(path));

/** By which cadenza.yaml names a workflow: the name in its document, or else of its file. */
export function workflowName({ document }: Readonly<Record<string, unknown>>, path: string): string {
  return isRecord(document) && typeof document['name'] === 'string' ? document['name'] : fileName(path);
}

const sharedFields = ({ visibility }: Settings): { visibility?: unknown } =>
  visibility === undefined ? {} : { visibility };

interface ParsedWorkflow extends Pick<ResourceFile, 'path' | 'placed'> {
  text: string;
  value: Record<string, unknown>;
}

async function readWorkflow(
  { path, text, value, placed }: ParsedWorkflow,
  settings: Settings,
): Promise<ReadFile> {
  const named = workflowName(value, path);
  const { validateDefinition } = await import('../../language/definition/validate.ts');
  const mistakes = validateDefinition(value)
    .problems.filter(({ severity }) => severity === 'error')
    .map(({ pointer, code, message }) => ({ pointer: placed(pointer), code, message }));
  if (mistakes.length > 0) return { named, mistakes };
  const overlay = Object.hasOwn(settings.workflows, named) ? settings.workflows[named] : undefined;
  const { name, ...fields } = isRecord(overlay) ? overlay : {};
  const resource: Resource = {
    ...sharedFields(settings),
    ...fields,
    kind: 'workflow',
    name: name ?? named,
    definition: sentDefinition({ text, definition: value }),
  };
  const inSettings = (pointer: string): string => {
    const isShared = pointer === '/visibility' && !('visibility' in fields);
    return settings.placed(isShared ? pointer : `${jsonPointer(['workflows', named])}${pointer}`);
  };
  const isInFile = (pointer: string): boolean =>
    /^\/definition(\/|$)/.test(pointer) || pointer === '' || (pointer === '/name' && name === undefined);
  const place = (pointer: string): string =>
    isInFile(pointer) ? placed(pointer.replace(/^\/definition/, '')) : inSettings(pointer);
  return { file: { path, resource, placed: place }, named, mistakes: [] };
}

/** Writes a resource where `readFolder` finds it. @returns its path */
export async function writeResource(
  folder: string,
  name: string,
  { kind, ...fields }: Resource,
  { format, taken }: { format: 'yaml' | 'json'; taken: Set<string> },
): Promise<string> {
  const content = kind === 'workflow' ? fields['definition'] : fields;
  // The text of a definition, as its author has written it.
  const text = kind === 'workflow' && format === 'yaml' ? fields['text'] : undefined;
  // A name may contain anything; a file's may not.
  const safe = name.replaceAll(/[^\w.-]+/g, '-').replace(/^[.-]+/, '') || 'unnamed';
  const inFolder = join(folder, FOLDERS[kind], safe.slice(0, MAX_FILE_NAME));
  let path = `${inFolder}.${format}`;
  for (let n = 2; taken.has(path.toLowerCase()); n++) path = `${inFolder}-${n}.${format}`;
  taken.add(path.toLowerCase());
  mkdirSync(dirname(path), { recursive: true });
  if (typeof text === 'string') writeFileSync(path, text);
  else writeFileSync(path, `${format === 'json' ? safeJson(content, 2) : await safeYaml(content)}\n`);
  return path;
}
