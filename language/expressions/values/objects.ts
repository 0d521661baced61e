/** Objects as maps: own properties only, safe for keys such as `__proto__` and `constructor`. */
import { SHIFT, tickSize } from '../runtime.ts';
import { compareText } from './text.ts';
import type { Json, JsonObject } from './json-types.ts';

/**
 * Keys that every object inherits. Reading them must ignore the prototype; writing them by
 * assignment would reach the prototype's setter, or fail where prototypes are frozen.
 */
const INHERITED: ReadonlySet<string> = new Set([
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
  return INHERITED.has(key);
}

/** The keys in the host's order. */
export function keysOf(object: JsonObject): string[] {
  const keys = Object.keys(object);
  tickSize(keys.length, SHIFT.build);
  return keys;
}

export function hasKey(object: JsonObject, key: string): boolean {
  tickSize(key.length, SHIFT.memory);
  return Object.hasOwn(object, key) && object[key] !== undefined;
}

/** The value of a key, null when it is missing. */
export function getKey(object: JsonObject, key: string): Json {
  tickSize(key.length, SHIFT.memory);
  const value = object[key];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'object' && typeof value !== 'function') return value;
  return INHERITED.has(key) && !Object.hasOwn(object, key) ? null : value;
}

/** Sets a key of an object that this evaluation made. */
export function putKey(object: JsonObject, key: string, value: Json): void {
  tickSize(key.length, SHIFT.memory);
  if (INHERITED.has(key))
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}

/** A copy with room for changes. */
export function copyObject(object: JsonObject): JsonObject {
  tickSize(Object.keys(object).length, 0);
  return { ...object };
}

/** The keys in jq's order. */
export function sortedKeys(object: JsonObject): string[] {
  const keys = keysOf(object);
  tickSize(keys.length * Math.log2(keys.length + 1), SHIFT.copy);
  return keys.sort(compareText);
}
