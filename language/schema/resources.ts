/** Resolves references of a JSON Schema: collects its resources (`$id`) and anchors once. */
import { fragmentToken } from '../../contracts/json-pointer.ts';

export type SchemaObject = Record<string, unknown>;
export type Schema = SchemaObject | boolean;

export interface Resource {
  root: Schema;
  anchors: Map<string, Schema>;
  dynamicAnchors: Map<string, Schema>;
}

export interface Resources {
  root: Resource;
  /** The resource that contains a schema. */
  of: Map<SchemaObject, Resource>;
  byId: Map<string, Resource>;
  /** Whether some part needs to know what other parts evaluated. */
  tracks: boolean;
}

const SCHEMA_LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const SCHEMA_MAPS = ['$defs', 'definitions', 'properties', 'patternProperties', 'dependentSchemas'];
// oxlint-disable-next-line unicorn/no-thenable -- keywords of JSON Schema
const SCHEMAS = [
  'not',
  'if',
  'then',
  'else',
  'items',
  'contains',
  'additionalProperties',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contentSchema',
];

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'boolean' || isObject(value);
}

export function findResources(schema: Schema): Resources {
  const root = resource(schema);
  const found: Resources = { root, of: new Map(), byId: new Map(), tracks: false };
  walk(schema, root, found);
  return found;
}

function resource(root: Schema): Resource {
  return { root, anchors: new Map(), dynamicAnchors: new Map() };
}

function walk(schema: unknown, parent: Resource, found: Resources): void {
  if (!isObject(schema) || found.of.has(schema)) return;
  const id = own(schema, '$id');
  const here = typeof id === 'string' && schema !== parent.root ? resource(schema) : parent;
  if (typeof id === 'string') found.byId.set(id.replace(/#$/, ''), here);
  found.of.set(schema, here);
  const anchor = own(schema, '$anchor');
  const dynamic = own(schema, '$dynamicAnchor');
  if (typeof anchor === 'string') here.anchors.set(anchor, schema);
  if (typeof dynamic === 'string') {
    here.anchors.set(dynamic, schema);
    here.dynamicAnchors.set(dynamic, schema);
  }
  if (Object.hasOwn(schema, 'unevaluatedItems') || Object.hasOwn(schema, 'unevaluatedProperties'))
    found.tracks = true;
  for (const key of SCHEMAS) walk(own(schema, key), here, found);
  for (const key of SCHEMA_LISTS) {
    const list = own(schema, key);
    if (Array.isArray(list)) for (const item of list) walk(item, here, found);
  }
  for (const key of SCHEMA_MAPS) {
    const map = own(schema, key);
    if (isObject(map)) for (const item of Object.values(map)) walk(item, here, found);
  }
}

/** Target of a `$ref` within a resource; null if it does not exist. */
export function resolveReference(
  reference: string,
  from: Resource,
  resources: Resources,
): { schema: Schema; resource: Resource } | null {
  const hash = reference.indexOf('#');
  const base = hash < 0 ? reference : reference.slice(0, hash);
  const fragment = hash < 0 ? '' : reference.slice(hash + 1);
  const target = base === '' ? from : resources.byId.get(base);
  if (!target) return null;
  if (fragment !== '' && !fragment.startsWith('/')) {
    const schema = target.anchors.get(fragment);
    return schema === undefined ? null : { schema, resource: target };
  }
  let current: unknown = target.root;
  for (const token of fragment.split('/').slice(1)) {
    const key = fragmentToken(token);
    current = Array.isArray(current)
      ? current[Number(key)]
      : isObject(current)
        ? own(current, key)
        : undefined;
  }
  if (!isSchema(current)) return null;
  return { schema: current, resource: (isObject(current) ? resources.of.get(current) : undefined) ?? target };
}

export function own(object: SchemaObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
