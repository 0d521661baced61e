/** The values of jq: plain JSON. Inside a program NaN and the infinities exist too. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export type Kind = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

/** jq's name for the type of a value (manual: Builtin operators and functions, `type`). */
export function kindOf(value: Json): Kind {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? 'array' : 'object';
    default:
      return 'null';
  }
}

export function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** jq's truth: everything but false and null. */
export function isTrue(value: Json): boolean {
  return value !== false && value !== null && value !== undefined;
}
