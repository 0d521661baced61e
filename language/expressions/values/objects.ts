/** Objects as maps: own properties only, safe for keys such as `__proto__` and `constructor`. */
import { compareText } from './text.ts';
import type { Json, JsonObject } from './json-types.ts';

/**
 * Keys that every object inherits. Reading them must ignore the prototype; writing them by
 * assignment would reach the prototype's setter, or fail where prototypes are frozen.
 */
const inherited: ReadonlySet<string> = new Set([
  '__proto__',
  '__defineGetter__',
  '__defineSetter__',
  '__lookupGetter__',
  '__lookupSetter__',
  'constructor',
  'hasOwnProperty',
  'isPrototypeOf',
  'propertyIsEnumerable',
  'toLocaleString',
  'toString',
  'valueOf',
]);

export function isInherited(key: string): boolean {
  return inherited.has(key);
}

export function hasKey(object: JsonObject, key: string): boolean {
  return Object.hasOwn(object, key) && object[key] !== undefined;
}

/** The value of a key, null when it is missing. */
export function getKey(object: JsonObject, key: string): Json {
  const value = object[key];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'object' && typeof value !== 'function') return value;
  return inherited.has(key) && !Object.hasOwn(object, key) ? null : value;
}

/** Sets a key of an object that this evaluation made. */
export function putKey(object: JsonObject, key: string, value: Json): void {
  if (inherited.has(key))
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}

/** A copy with room for changes. */
export function copyObject(object: JsonObject): JsonObject {
  return { ...object };
}

/** The keys in jq's order. */
export function sortedKeys(object: JsonObject): string[] {
  return Object.keys(object).sort(compareText);
}
