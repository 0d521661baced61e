/** Builds an HTTP request from an operation and the values of its parameters. */
import { didYouMean } from '../../contracts/suggest.ts';
import { fault } from '../../contracts/fault.ts';
import { refuseClimbing } from '../../language/uri-template.ts';
import { headersOf } from '../http/message.ts';
import { bodyFor, type EncodedBody } from './body.ts';
import { fieldsOf } from './document.ts';
import type { Operation, Parameter } from './operation.ts';
import type { Load } from './references.ts';
import { cookiePairs, headerText, pathText, queryPairs } from './serialize.ts';

export interface OperationRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: EncodedBody | null;
}

/**
 * Parameters that OpenAPI 3 says to ignore; the platform, the body and `authentication` set these headers.
 */
const IGNORED_HEADERS = new Set(['accept', 'content-type', 'authorization']);

/**
 * Throws `Fault` (validation) for a missing required parameter, and for one that the operation does not have.
 */
export async function requestOf(
  operation: Operation,
  given: Record<string, unknown>,
  load: Load,
): Promise<OperationRequest> {
  const { version } = operation;
  const left = new Map(Object.entries(given).filter(([, value]) => value !== undefined));
  const parameters = operation.parameters.filter((each) => isSent(each, version));
  const values = new Map(parameters.map((parameter) => [parameter, valueOf(parameter, left, version)]));
  for (const { name } of parameters) left.delete(name);
  const lacking = parameters
    .filter((parameter) => parameter.required && values.get(parameter) === undefined)
    .map(({ name }) => name);
  const body = lacking.length > 0 ? null : await bodyFor(operation, left, load);
  refuse(operation, lacking, [...left.keys()], parameters);

  const present = parameters.flatMap((parameter): { parameter: Parameter; value: unknown }[] => {
    const value = values.get(parameter);
    return value === undefined ? [] : [{ parameter, value }];
  });
  const inPlace = (place: string): typeof present =>
    present.filter(({ parameter }) => parameter.in === place);
  let path = operation.path;
  for (const { parameter, value } of inPlace('path'))
    path = path.replaceAll(`{${parameter.name}}`, () => pathText(parameter, version, value));
  refuseClimbing(operation.path, path);
  const query = inPlace('query')
    .flatMap(({ parameter, value }) => queryPairs(parameter, version, value))
    .join('&');
  const cookies = inPlace('cookie').flatMap(({ parameter, value }) => cookiePairs(parameter, value));
  const headers = Object.fromEntries(
    inPlace('header').map(({ parameter, value }) => [parameter.name, headerText(parameter, version, value)]),
  );
  const suffix = query === '' ? '' : `${path.includes('?') ? '&' : '?'}${query}`;
  return {
    method: operation.method.toUpperCase(),
    url: `${operation.base}${path.startsWith('/') ? '' : '/'}${path}${suffix}`,
    headers: headersOf({ ...headers, ...(cookies.length === 0 ? {} : { cookie: cookies.join('; ') }) }),
    body,
  };
}

function isSent({ in: place, name }: Parameter, version: 2 | 3): boolean {
  if (place === 'header') return version === 2 || !IGNORED_HEADERS.has(name.toLowerCase());
  return place === 'path' || place === 'query' || place === 'cookie';
}

/** Null counts as missing. A required parameter with a default in the document may be left out. */
function valueOf(parameter: Parameter, left: ReadonlyMap<string, unknown>, version: 2 | 3): unknown {
  const value = left.get(parameter.name) ?? undefined;
  if (value !== undefined || !parameter.required) return value;
  return version === 2 ? parameter.value['default'] : fieldsOf(parameter.value, 'schema')['default'];
}

function refuse(operation: Operation, lacking: string[], unknown: string[], parameters: Parameter[]): void {
  const names = [
    ...parameters,
    ...operation.parameters.filter(({ in: place }) => place === 'body' || place === 'formData'),
  ].map(({ name }) => name);
  if (operation.requestBody) names.push('body');
  const complaints = [
    ...lacking.map((name) => `needs ${JSON.stringify(name)} in "parameters"`),
    // When required parameters are missing, unknown ones may have been meant for the body.
    ...unknown
      .filter((name) => lacking.length === 0 || !operation.requestBody || didYouMean(name, names) !== '')
      .map((name) => {
        const hint =
          didYouMean(name, names) || (names.length === 0 ? ': it has none' : `; it has ${names.join(', ')}`);
        return `has no parameter ${JSON.stringify(name)}${hint}`;
      }),
  ];
  if (complaints.length > 0)
    throw fault('validation', `The operation ${operation.id} ${complaints.join('; it ')}`);
}
