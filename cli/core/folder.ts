/**
 * A set of resources as a folder: `workflows/*.yaml` are plain definitions, the files of the other folders
 * the fields of the API, `cadenza.yaml` names the set.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';

import { isRecord } from '../../contracts/is-record.ts';
import { CliError } from './errors.ts';
import type { YamlText } from '../../language/yaml/read-yaml.ts';
import { parseDocument, parseText, sentDefinition } from './input.ts';
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
}

export interface Folder {
  /** `set` of cadenza.yaml, else the name of the folder; undefined if that cannot name a set. */
  set: string | undefined;
  /** Whether cadenza.yaml names the set. */
  isNamed: boolean;
  /** `team` of cadenza.yaml: its id or name. */
  team: string | undefined;
  files: ResourceFile[];
}

const SETTINGS = 'cadenza.yaml';
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
  const settings = await readSettings(folder);
  const mistakes: { pointer: string; code: string; message: string }[] = [];
  const files: ResourceFile[] = [];
  for (const kind of KINDS)
    for (const path of filesIn(join(folder, FOLDERS[kind]))) {
      const read = await readResource(kind, path, settings);
      if (Array.isArray(read)) mistakes.push(...read);
      else files.push({ path, resource: read });
    }
  if (mistakes.length > 0)
    throw new CliError('Nothing was sent: the files have mistakes.', {
      code: 'invalid_files',
      errors: mistakes,
    });
  const { set, team } = settings;
  return { set: set ?? setOf(folder), isNamed: set !== undefined, team, files };
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

interface Settings {
  set: string | undefined;
  team: string | undefined;
  visibility: unknown;
  /** What a definition has no place for, by the name in its document: name, visibility, description, tags. */
  workflows: Readonly<Record<string, unknown>>;
}

export async function readSettings(folder: string): Promise<Settings> {
  const path = join(folder, SETTINGS);
  const settings = existsSync(path) ? await parseDocument(readFileSync(path, 'utf8'), path) : {};
  if (!isRecord(settings)) throw new CliError(`${path} is no object.`, { code: 'file_unreadable' });
  const { set, team, visibility, workflows } = settings;
  return {
    set: typeof set === 'string' ? set : undefined,
    team: typeof team === 'string' ? team : undefined,
    visibility,
    workflows: isRecord(workflows) ? workflows : {},
  };
}

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => EXTENSIONS.includes(extname(name)));
  return names.toSorted().map((name) => join(folder, name));
}

async function readResource(
  kind: Kind,
  path: string,
  { visibility, workflows }: Settings,
): Promise<Resource | { pointer: string; code: string; message: string }[]> {
  const text = readFileSync(path, 'utf8');
  const { value, placeOf } = await parseText(text, path);
  if (!isRecord(value)) return [{ pointer: path, code: 'wrong_type', message: 'is no object' }];
  // Its `source` names it.
  if (kind === 'event_source') return { ...value, kind };
  const isShared = (kind === 'agent' || kind === 'workflow') && visibility !== undefined;
  const shared = isShared ? { visibility } : {};
  if (kind !== 'workflow') {
    const name = typeof value['name'] === 'string' ? value['name'] : basename(path, extname(path));
    return { ...shared, ...value, kind, name };
  }
  const { validateDefinition } = await import('../../language/definition/validate.ts');
  const { problems } = validateDefinition(value);
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length > 0)
    return errors.map(({ pointer, code, message }) => ({
      pointer: `${placed(path, pointer, placeOf)}#${pointer}`,
      code,
      message,
    }));
  const { document } = value;
  const name = isRecord(document) && typeof document['name'] === 'string' ? document['name'] : undefined;
  const workflow = name ?? basename(path, extname(path));
  const overlay = Object.hasOwn(workflows, workflow) ? workflows[workflow] : undefined;
  const { name: named, ...fields } = isRecord(overlay) ? overlay : {};
  return {
    ...shared,
    ...fields,
    kind,
    name: typeof named === 'string' ? named : workflow,
    definition: sentDefinition({ text, definition: value }),
  };
}

/** `workflows/pay.yaml:4:7`, as editors and terminals open it. */
function placed(path: string, pointer: string, placeOf: YamlText['placeOf'] | undefined): string {
  const place = placeOf?.(pointer);
  return place ? `${path}:${place.line}:${place.column}` : path;
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
