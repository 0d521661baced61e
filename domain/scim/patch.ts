/**
 * PATCH of a SCIM resource (RFC 7644 section 3.5.2), with what Entra and Okta send besides: operations in any
 * case, booleans as texts, members without a path, dotted names in a value, removals with a value.
 */
import { filter as matcher } from 'scim2-parse-filter';

import { isRecord } from '../../contracts/is-record.ts';
import { ScimError } from './errors.ts';
import { parsed } from './filter.ts';

export interface Operation {
  op: string;
  path?: string | undefined;
  value?: unknown;
}
type Resource = Record<string, unknown>;

const MAX_PATH_LENGTH = 1_000;
/** As many as a group has members. */
const MAX_VALUES = 5_000;
const MAX_ATTRIBUTES = 500;

/**
 * A changed copy. Each operation looks at all values of an attribute, and at the names of all attributes, so
 * their number is bounded. @throws ScimError
 */
export function applyPatch(resource: Resource, operations: readonly Operation[]): Resource {
  const changed: Resource = structuredClone(resource);
  for (const { op, path, value } of operations) {
    const kind = op.toLowerCase();
    if (kind !== 'add' && kind !== 'replace' && kind !== 'remove')
      throw new ScimError(400, 'op must be add, replace or remove.', 'invalidSyntax');
    if (path !== undefined && path !== '') change(changed, kind, pathOf(path), value);
    else if (kind === 'remove') throw new ScimError(400, 'A removal needs a path.', 'noTarget');
    else changeMembers(changed, kind, value);
  }
  return changed;
}

type Kind = 'add' | 'replace' | 'remove';

/** Without a path the value has the attributes; some clients write `name.familyName` there. */
function changeMembers(resource: Resource, kind: Kind, value: unknown): void {
  if (!isRecord(value)) throw new ScimError(400, 'Without a path, value must be an object.', 'invalidValue');
  for (const [name, one] of Object.entries(value)) change(resource, kind, pathOf(name), one);
}

interface Path {
  /** The schema of an extension, which is a member of the resource. */
  extension: string | null;
  attribute: string;
  filter: string | null;
  sub: string | null;
}

const CORE = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i;
const EXTENSION = /^(urn:[\w.:-]+:\w+):(?=[A-Za-z])/;

function pathOf(text: string): Path {
  if (text.length > MAX_PATH_LENGTH) throw invalidPath();
  const plain = text.replace(CORE, '');
  const isWhole = /^urn:[\w.:-]+:User$/i.test(plain);
  const extension = isWhole ? null : (EXTENSION.exec(plain)?.[1] ?? null);
  const rest = extension === null ? plain : plain.slice(extension.length + 1);
  if (isWhole) return { extension: null, attribute: plain, filter: null, sub: null };
  const found = /^([A-Za-z$][\w$-]*)(?:\[(.*)\])?(?:\.([A-Za-z$][\w$-]*))?$/s.exec(rest);
  const [, attribute, filter, sub] = found ?? [];
  if (attribute === undefined || attribute === '__proto__' || sub === '__proto__') throw invalidPath();
  return { extension, attribute, filter: filter ?? null, sub: sub ?? null };
}

function change(resource: Resource, kind: Kind, path: Path, value: unknown): void {
  let target = resource;
  if (path.extension !== null) {
    const name = nameIn(resource, path.extension);
    if (!isRecord(resource[name])) resource[name] = {};
    target = recordAt(resource, name);
  }
  const name = nameIn(target, path.attribute);
  if (path.filter !== null) changeMatching(target, name, kind, path, value);
  else if (path.sub !== null) {
    if (!isRecord(target[name])) target[name] = {};
    const inner = recordAt(target, name);
    setOrRemove(inner, nameIn(inner, path.sub), kind, value);
  } else setOrRemove(target, name, kind, value);
}

function recordAt(resource: Resource, name: string): Resource {
  const found = resource[name];
  if (!isRecord(found)) throw invalidPath();
  return found;
}

function setOrRemove(target: Resource, name: string, kind: Kind, value: unknown): void {
  const before = target[name];
  checkWidth(before);
  if (kind === 'remove') {
    // Entra removes members by their values.
    if (Array.isArray(before) && Array.isArray(value) && value.length > 0) {
      const gone = new Set(value.map(keyOf));
      const keys = keysOf(before);
      setList(
        target,
        name,
        before.filter((_, index) => !gone.has(keys[index] ?? '')),
        keys.filter((key) => !gone.has(key)),
      );
    } else delete target[name];
  } else if (kind === 'add' && Array.isArray(before)) {
    const keys = keysOf(before);
    const known = new Set(keys);
    const added = (Array.isArray(value) ? value : [value])
      .map((one: unknown) => ({ one, key: keyOf(one) }))
      .filter(({ key }) => !known.has(key));
    setList(
      target,
      name,
      [...before, ...added.map(({ one }) => one)],
      [...keys, ...added.map(({ key }) => key)],
    );
  } else if (kind === 'add' && isRecord(before) && isRecord(value)) target[name] = { ...before, ...value };
  else target[name] = value;
}

/** What `keyOf` gave for the values of a list, so that each operation asks for its own values only. */
const knownKeys = new WeakMap<readonly unknown[], string[]>();

function keysOf(list: readonly unknown[]): string[] {
  return knownKeys.get(list) ?? list.map(keyOf);
}

function setList(target: Resource, name: string, list: unknown[], keys: string[]): void {
  knownKeys.set(list, keys);
  target[name] = list;
}

/** What makes two values of a list the same. */
function keyOf(value: unknown): string {
  return isRecord(value) && typeof value['value'] === 'string' ? value['value'] : JSON.stringify(value);
}

/** `emails[type eq "work"].value`: changes what matches; a missing one is added for Entra. */
function changeMatching(target: Resource, name: string, kind: Kind, path: Path, value: unknown): void {
  const { filter, sub } = path;
  const condition = parsed(filter ?? '');
  const matches = matcher(condition);
  const all: unknown[] = Array.isArray(target[name]) ? target[name] : [];
  checkWidth(all);
  if (kind === 'remove' && sub === null) {
    target[name] = all.filter((one) => !matches(one));
    return;
  }
  const found = all.filter((one): one is Resource => isRecord(one) && matches(one));
  if (found.length === 0 && kind !== 'remove' && condition.op === 'eq') {
    const made: Resource = { [condition.attrPath]: condition.compValue };
    target[name] = [...all, made];
    found.push(made);
  }
  if (found.length === 0) throw new ScimError(400, 'No value matches the path.', 'noTarget');
  // What changes below may be what makes them the same.
  knownKeys.delete(all);
  for (const one of found) {
    if (sub !== null) setOrRemove(one, nameIn(one, sub), kind, value);
    else if (isRecord(value)) Object.assign(one, value);
  }
}

/** Names of attributes do not depend on case (RFC 7643 section 2.1). */
function nameIn(resource: Resource, name: string): string {
  checkWidth(resource);
  const lower = name.toLowerCase();
  const isName = (one: string): boolean => one.toLowerCase() === lower;
  return Object.keys(resource).find(isName) ?? NAMES.find(isName) ?? name;
}

/** As the schemas write the names that count. */
const NAMES = [
  'userName',
  'externalId',
  'displayName',
  'active',
  'name',
  'emails',
  'members',
  'formatted',
  'givenName',
  'familyName',
  'value',
  'type',
  'primary',
];

/** @throws ScimError if there is too much for another operation */
function checkWidth(value: unknown): void {
  if (Array.isArray(value) && value.length > MAX_VALUES)
    throw new ScimError(400, `An attribute has at most ${MAX_VALUES} values.`, 'tooMany');
  if (isRecord(value) && Object.keys(value).length > MAX_ATTRIBUTES)
    throw new ScimError(400, `There are at most ${MAX_ATTRIBUTES} attributes.`, 'tooMany');
}

function invalidPath(): ScimError {
  return new ScimError(400, 'The path cannot be used.', 'invalidPath');
}
