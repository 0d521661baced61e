/** Keywords for the properties of an object. */
import { escapeToken } from '../../contracts/json-pointer.ts';
import type { Checking, Evaluated } from './checking.ts';
import { matches } from './check-plain.ts';
import { isObject, isSchema, own, type SchemaObject } from './resources.ts';

/** More names do not help. */
const MAX_NAMES = 10;
const MAX_NAME = 40;
const listedNames = new WeakMap<SchemaObject, string>();

/** ` (known: a, b)` if an object may have few fields. */
function knownNames(properties: SchemaObject): string {
  let text = listedNames.get(properties);
  if (text === undefined) {
    const names = Object.keys(properties);
    const isShort = names.length <= MAX_NAMES && names.every((name) => name.length <= MAX_NAME);
    text = isShort && names.length > 0 ? ` (known: ${names.join(', ')})` : '';
    listedNames.set(properties, text);
  }
  return text;
}

export function checkObjectParts(
  check: Checking,
  schema: SchemaObject,
  value: SchemaObject,
  pointer: string,
  mine: Evaluated | null,
): boolean {
  let fits = true;
  const properties = own(schema, 'properties');
  const patterns = own(schema, 'patternProperties');
  const others = own(schema, 'additionalProperties');
  const names = own(schema, 'propertyNames');
  const known = isObject(properties) ? properties : {};
  const byPattern = isObject(patterns) ? Object.entries(patterns) : [];
  const part = (schemaOf: unknown, key: string): void => {
    mine?.properties.add(key);
    fits = check.run(schemaOf, value[key], `${pointer}/${escapeToken(key)}`, null) && fits;
  };
  for (const key of Object.keys(value)) {
    check.budget.spend(1);
    let named = false;
    if (Object.hasOwn(known, key)) {
      named = true;
      part(known[key], key);
    }
    for (const [pattern, schemaOf] of byPattern) {
      if (!matches(check, pattern, key)) continue;
      named = true;
      part(schemaOf, key);
    }
    if (!named && others === false) {
      mine?.properties.add(key);
      check.budget.spend(8);
      const which = byPattern.length > 0 ? '' : knownNames(known);
      fits = check.fail(`${pointer}/${escapeToken(key)}`, `This is not a known field${which}.`, {
        keyword: 'false',
      });
    } else if (!named && isSchema(others)) part(others, key);
    if (isSchema(names) && !check.fits(names, key, pointer, null))
      fits = check.fail(pointer, `Property name "${key.slice(0, 200)}" does not match schema.`, {
        keyword: 'propertyNames',
        expected: key.slice(0, 200),
      });
  }
  fits = checkDependent(check, schema, value, pointer, mine) && fits;
  const rest = own(schema, 'unevaluatedProperties');
  if (isSchema(rest)) for (const key of Object.keys(value)) if (!mine?.properties.has(key)) part(rest, key);
  return fits;
}

function checkDependent(
  check: Checking,
  schema: SchemaObject,
  value: SchemaObject,
  pointer: string,
  mine: Evaluated | null,
): boolean {
  const dependent = own(schema, 'dependentSchemas');
  let fits = true;
  for (const [key, part] of isObject(dependent) ? Object.entries(dependent) : []) {
    if (Object.hasOwn(value, key)) fits = check.run(part, value, pointer, mine) && fits;
  }
  return fits;
}
