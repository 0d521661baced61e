/** Which members of an object its JSON Schema names: those that a form can ask for, and `-i` may set. */
import { isRecord } from './is-record.ts';

type Schema = Readonly<Record<string, unknown>>;

/** With one of these, an object may have, or need, members that its `properties` do not list. */
const OPEN = [
  'additionalProperties',
  'unevaluatedProperties',
  'patternProperties',
  'dependentSchemas',
  '$ref',
  '$dynamicRef',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  'then',
  'else',
];

/**
 * Whether its `properties` list all members that the schema knows. JSON Schema allows others that nothing
 * speaks of; they are mistakes more often than not.
 */
export function namesAllMembers(schema: Schema): boolean {
  const isClosed = schema['additionalProperties'] === false && schema['patternProperties'] === undefined;
  const isOpen = OPEN.some((keyword) => schema[keyword] !== undefined && schema[keyword] !== false);
  return (isClosed || !isOpen) && namesNeededMembers(schema);
}

/** Whether its `properties` list all members that the object must have. */
export function namesNeededMembers(schema: Schema): boolean {
  const { properties, required, dependentRequired, minProperties } = schema;
  const named = isRecord(properties) ? properties : {};
  const dependent = isRecord(dependentRequired) ? Object.values(dependentRequired) : [];
  const needed: unknown[] = [required, ...dependent].flatMap((names) => (Array.isArray(names) ? names : []));
  return (
    needed.every((name) => typeof name === 'string' && Object.hasOwn(named, name)) &&
    Number(minProperties ?? 0) <= Object.keys(named).length
  );
}
