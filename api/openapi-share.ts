/** Moves what the OpenAPI document repeats into components. */
import type { Json } from './openapi-schemas.ts';

/** A place in the document: `holder[key]` is the value. */
interface Place {
  holder: Record<string, unknown> | unknown[];
  key: string | number;
}

/** Replaces parameters, responses and request bodies that occur more than once by references. */
export function shareRepeated(
  operations: readonly Json[],
): Record<'parameters' | 'responses' | 'requestBodies', Record<string, Json>> {
  const parameters = operations.flatMap(({ parameters: list }) => placesIn(list));
  const responses = operations.flatMap(({ responses: byStatus }) => placesIn(byStatus));
  const bodies = operations.flatMap((operation) =>
    operation['requestBody'] ? [{ holder: operation, key: 'requestBody' }] : [],
  );
  return {
    parameters: share('parameters', parameters, parameterName),
    responses: share('responses', responses, responseName),
    requestBodies: share('requestBodies', bodies, (body) => contentName(body['content'])),
  };
}

function placesIn(holder: unknown): Place[] {
  if (Array.isArray(holder)) return holder.map((_, key) => ({ holder, key }));
  const byKey = (holder ?? {}) as Json;
  return Object.keys(byKey).map((key) => ({ holder: byKey, key }));
}

/** @returns the components, by name; where different values have one name, the later ones are numbered */
function share(
  kind: string,
  places: readonly Place[],
  nameOf: (value: Json, key: string) => string,
): Record<string, Json> {
  const counts = new Map<string, number>();
  for (const place of places) {
    const text = JSON.stringify(valueAt(place));
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const shared = new Map<string, Json>();
  for (const place of places) {
    const value = valueAt(place);
    if ('$ref' in value || (counts.get(JSON.stringify(value)) ?? 0) < 2) continue;
    const name = freeName(nameOf(value, String(place.key)), value, shared);
    shared.set(name, value);
    Object.assign(place.holder, { [place.key]: { $ref: `#/components/${kind}/${name}` } });
  }
  return Object.fromEntries([...shared].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function valueAt({ holder, key }: Place): Json {
  return (holder as Record<string, Json>)[key] ?? {};
}

function freeName(name: string, value: Json, taken: ReadonlyMap<string, Json>): string {
  for (let number = 1; ; number += 1) {
    const numbered = number === 1 ? name : `${name}${number}`;
    const known = taken.get(numbered);
    if (known === undefined || JSON.stringify(known) === JSON.stringify(value)) return numbered;
  }
}

/** `IdInPath`, `LimitInQuery`. */
function parameterName(parameter: Json): string {
  return `${words(String(parameter['name']))}In${words(String(parameter['in']))}`;
}

/** `RunCreated`, `RunSummaryList`, `NoContentWithETag`. */
function responseName(response: Json, status: string): string {
  const suffix: Record<string, string> = { 201: 'Created', 202: 'Accepted', 400: 'Refused' };
  const withETag = 'ETag' in ((response['headers'] ?? {}) as Json) ? 'WithETag' : '';
  return `${contentName(response['content'])}${suffix[status] ?? ''}${withETag}`;
}

/** Named after the schema of the first media type. */
function contentName(content: unknown): string {
  const [first] = Object.values((content ?? {}) as Record<string, { schema: Json }>);
  if (first === undefined) return 'NoContent';
  const { $ref, items, format } = first.schema;
  if (typeof $ref === 'string') return $ref.split('/').at(-1) ?? '';
  if (items !== undefined) return `${contentName({ item: { schema: items } })}List`;
  return words(typeof format === 'string' ? format : 'text');
}

function words(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}
