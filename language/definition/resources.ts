/**
 * What a definition takes from elsewhere: functions by URL and of catalogs, and external schemas
 * (dsl-reference.md "Catalog", "External Resource"). They are fetched when a definition is saved, pinned by
 * digest and written into the definition that runs, so a run fetches nothing.
 */
import { pointerTokens } from '../../contracts/json-pointer.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import { parseFunctionName } from './call-function.ts';
import { at, own } from './problems.ts';
import { taskKindOf } from './task-kind.ts';

type ResourceKind = 'function' | 'schema';

/** A place that names a resource. */
export interface ResourceReference {
  kind: ResourceKind;
  /** What the definition writes: the `call`, or the URI of the schema. */
  name: string;
  /** Where it is fetched, with addresses of GitHub and GitLab replaced by those of the raw files. */
  url: string;
  pointer: string;
  /** A policy of the DSL, as the definition has it; undefined if none. */
  authentication: unknown;
}

/** A fetched resource; `document` is the parsed content. */
export interface Resource {
  kind: ResourceKind;
  name: string;
  url: string;
  /** Where the definition names it first. */
  pointer: string;
  /** `sha256:` and the digest of the bytes, hexadecimal. */
  digest: string;
  bytes: number;
  document: unknown;
}

const WEB = /^https?:\/\//i;

function isFunctionUrl(call: string): boolean {
  return WEB.test(call);
}

/** The address of a function; null if the call names none that is to be fetched. */
export function functionAddress(
  call: string,
  definition: unknown,
): { url: string; endpoint: unknown } | null {
  if (isFunctionUrl(call)) return { url: rawAddress(call), endpoint: call };
  const { name, version, catalog } = parseFunctionName(call);
  if (catalog === null || version === null || /^\.+$/.test(name) || /^\.+$/.test(version)) return null;
  const endpoint = own(own(own(own(definition, 'use'), 'catalogs'), catalog), 'endpoint');
  const root = isRecord(endpoint) ? endpoint['uri'] : endpoint;
  if (typeof root !== 'string') return null;
  const path = ['functions', name, version, 'function.yaml'].map(encodeURIComponent).join('/');
  return { url: rawAddress(`${withoutEnd(root, '/')}/${path}`), endpoint };
}

/** dsl.md "Catalogs": the machine-readable file behind the page of a file on GitHub or GitLab. */
export function rawAddress(address: string): string {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  const parts = url.pathname.split('/').slice(1);
  if (url.hostname === 'github.com' && parts.length > 2) {
    const [owner, repository, ...rest] = parts;
    const path = ['tree', 'blob', 'raw'].includes(rest[0] ?? '') ? rest.slice(1) : ['HEAD', ...rest];
    return `https://raw.githubusercontent.com/${[owner, repository, ...path].join('/')}`;
  }
  if (url.hostname === 'gitlab.com') {
    const marker = parts.indexOf('-');
    if (marker > 0 && ['tree', 'blob'].includes(parts[marker + 1] ?? '')) parts[marker + 1] = 'raw';
    else if (marker < 0 && parts.length > 2) parts.splice(2, 0, '-', 'raw', 'HEAD');
    return `https://gitlab.com/${parts.join('/')}`;
  }
  return address;
}

/** The task in a file of a function: the task itself, or an object whose only property is the task. */
function taskOfFunction(document: unknown): Record<string, unknown> | null {
  if (!isRecord(document)) return null;
  if (taskKindOf(document) !== undefined) return document;
  const [only, ...others] = Object.values(document);
  return others.length === 0 && isRecord(only) && taskKindOf(only) !== undefined ? only : null;
}

/** The definition with the functions in `use.functions`, each under the text that calls it. */
export function withFunctions(
  definition: Record<string, unknown>,
  resources: readonly Resource[],
): Record<string, unknown> {
  const fetched = resources.flatMap(({ kind, name, document }): [string, unknown][] => {
    const task = kind === 'function' ? taskOfFunction(document) : null;
    return task === null ? [] : [[name, task]];
  });
  if (fetched.length === 0) return definition;
  const use = own(definition, 'use');
  const functions = own(use, 'functions');
  return {
    ...definition,
    use: {
      ...(isRecord(use) ? use : {}),
      functions: { ...Object.fromEntries(fetched), ...(isRecord(functions) ? functions : {}) },
    },
  };
}

/** Where `withFunctions` puts a function. */
export function functionPlace(name: string): string {
  return at('/use/functions', name);
}

/** A copy with other values at the given JSON pointers; without any, the definition itself. */
export function withValues<T extends Record<string, unknown>>(
  definition: T,
  values: ReadonlyMap<string, unknown>,
): T {
  if (values.size === 0) return definition;
  const copy = structuredClone(definition);
  for (const [pointer, value] of values) {
    const path = pointerTokens(pointer);
    const last = path.pop();
    let holder: unknown = copy;
    for (const key of path)
      holder = typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : null;
    if (last !== undefined && typeof holder === 'object' && holder !== null) Reflect.set(holder, last, value);
  }
  return copy;
}
