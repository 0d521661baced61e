import { fault } from '../contracts/fault.ts';
import { splitTemplate } from './split-template.ts';

const VARIABLE = /\{([^{}]*)\}/g;

/** Names of the `{name}` variables, in order. */
export function uriVariables(template: string): string[] {
  return [...template.matchAll(VARIABLE)].map((match) => match[1] ?? '');
}

/**
 * Simple string expansion of RFC 6570 as the DSL defines it (dsl-reference.md "URI Template"): top-level
 * values that are strings, numbers, booleans or null, percent-encoded. Any other value is an expression
 * error. A missing value is empty, or with `required` a validation error. A value cannot traverse the path:
 * `..` as a whole segment is rejected.
 */
export function expandUri(
  template: string,
  variables: Record<string, unknown>,
  options: { required?: boolean } = {},
): string {
  const expanded = template.replace(VARIABLE, (_, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value === undefined || value === null) {
      if (options.required === true)
        throw fault('validation', `The address needs "${name}", which the input does not have`);
      return '';
    }
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      throw fault('expression', `The address needs "${name}" to be a string, number or boolean`);
    }
    return encodeUnreserved(String(value));
  });
  refuseClimbing(template, expanded);
  return expanded;
}

/** Like `expandUri`, for a text of the definition that may contain `${ … }`, which is kept as it is. */
export function expandTemplate(text: string, variables: Record<string, unknown>): string {
  const parts = splitTemplate(text);
  // Each expression is replaced by a character that no URI contains, so that it is not read as part of the
  // URI.
  const literal = parts
    .map(({ expression, source }) => (expression ? EXPRESSION : source.replaceAll(EXPRESSION, '')))
    .join('');
  const expressions = parts.filter(({ expression }) => expression).map(({ source }) => source);
  return expandUri(literal, variables).replaceAll(EXPRESSION, () => expressions.shift() ?? '');
}

const EXPRESSION = '\uE000';

/** @throws Fault if a value made a whole segment of the path `.` or `..`. */
export function refuseClimbing(template: string, expanded: string): void {
  const segments = template.split(/[?#]/, 1)[0]?.split('/') ?? [];
  const climbs = expanded
    .split(/[?#]/, 1)[0]
    ?.split('/')
    .some((segment, index) => /^(\.|%2e){1,2}$/i.test(segment) && segments[index] !== segment);
  if (climbs === true)
    throw fault('validation', 'A value in the address is "." or "..", which would lead to another path');
}

/** All but RFC 3986's unreserved characters. */
export function encodeUnreserved(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
