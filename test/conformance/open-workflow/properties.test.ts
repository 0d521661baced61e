/**
 * Every property of the DSL's own schema with its state, as a table in docs/conformance.md. What is not
 * refused has to be known to the validator.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { definitionSchema } from '../../../language/definition/json-schema.ts';
import { INSTEAD } from '../../../language/definition/support.ts';
import { scoreProblem } from '../../support/docs-section.ts';
import { withConformanceData } from '../../support/outside.ts';

type Schema = Record<string, any>; // both schemas are read in any depth

/** Where a feature is refused, by its name in `support.ts`: a section of the table, or one of its rows. */
const REFUSED: Record<string, string[]> = {
  listen: ['listenTask'],
  'run.container': ['runTask run.container'],
  'run.script': ['runTask run.script'],
  'run.shell': ['runTask run.shell'],
  'call.grpc': ['CallGRPC'],
  'call.asyncapi': ['CallAsyncAPI'],
  'call.mcp': ['CallMCP'],
  'schedule.on': ['workflow schedule.on', 'workflow schedule.read'],
};

/** Properties of which a part is refused, with the reason. */
const LIMITED: Record<string, string> = {
  'workflow document.dsl': INSTEAD.dsl,
  'workflow evaluate.language': INSTEAD['evaluate.language'],
  'schema format': INSTEAD['schema.format'],
  'oauth2AuthenticationProperties grant': INSTEAD['auth.grant'],
  'runTask run.return': INSTEAD['run.return'],
};

/** The features behind `LIMITED`. */
const LIMITS = ['dsl', 'evaluate.language', 'schema.format', 'auth.grant', 'run.return'];

interface Row {
  section: string;
  path: string;
  /** Whether our validator knows it. */
  isKnown: boolean;
}

withConformanceData('the schema of the DSL', ['open-workflow/schema'], (folder) => {
  test('docs/conformance.md has the state of every property', async () => {
    const rows = rowsOf(parse(readFileSync(`${folder}/workflow.yaml`, 'utf8')));
    expect(rows.length).toBeGreaterThan(200);
    const unknown = rows.filter(({ isKnown }) => !isKnown).map(({ section, path }) => `${section} ${path}`);
    expect(unknown).toEqual([]);
    const named = new Set([...Object.keys(REFUSED), ...LIMITS, 'schedule.combined']);
    const others = Object.entries(INSTEAD).filter(([key]) => !named.has(key));
    const states = rows.map((row) => ({ ...row, state: stateOf(row) }));
    const works = states.filter(({ state }) => state === 'works').length;
    const body = [
      '## Properties of the DSL',
      '',
      `The DSL's schema has **${rows.length}** properties, of which **${works}** work without a limit. ` +
        'A schedule has one of its properties: write a workflow for each.',
      '',
      '| of | property | state |',
      '|---|---|---|',
      ...states.map(({ section, path, state }) => `| ${section} | \`${path}\` | ${state} |`),
      ...(others.length > 0 ? ['', 'Also refused:', '', ...others.map(([, why]) => `- ${why}`)] : []),
    ].join('\n');
    expect(await scoreProblem('properties', body)).toBeNull();
  });
});

function stateOf({ section, path }: Row): string {
  const name = `${section} ${path}`;
  const isOrIsIn = (place: string): boolean =>
    place === section || name === place || name.startsWith(`${place}.`);
  const refused = Object.entries(REFUSED).find(
    ([feature, places]) => Object.hasOwn(INSTEAD, feature) && places.some(isOrIsIn),
  );
  if (refused) return `refused: ${Object.entries(INSTEAD).find(([key]) => key === refused[0])?.[1]}`;
  const limit = LIMITED[name];
  return limit === undefined ? 'works' : `works, with a limit: ${limit}`;
}

/** The sections follow the definitions of the schema, each once, in the order of their references. */
function rowsOf(dsl: Schema): Row[] {
  const ours = definitionSchema('https://cadenza.test/schema');
  const rows: Row[] = [];
  const visited = new Set<string>();
  const pending: { section: string; node: Schema; known: Schema[] }[] = [
    { section: 'workflow', node: dsl, known: [ours] },
  ];

  const walk = (section: string, node: Schema, known: Schema[], path: string): void => {
    const reference = refOf(node);
    if (reference !== undefined) {
      if (visited.has(reference)) return;
      visited.add(reference);
      pending.push({ section: reference, node: dsl['$defs'][reference], known });
      return;
    }
    for (const [key, child] of Object.entries<Schema | false>(node['properties'] ?? {})) {
      if (child === false) continue;
      const inner = membersOf(known, key, ours);
      const place = path === '' ? key : `${path}.${key}`;
      const row = { section, path: place, isKnown: inner.length > 0 };
      if (!rows.some((other) => other.section === section && other.path === place)) rows.push(row);
      walk(section, child, inner, place);
    }
    for (const key of ['additionalProperties', 'items'])
      if (typeof node[key] === 'object') walk(section, node[key], elementsOf(known, key, ours), `${path}[]`);
    for (const part of [...(node['oneOf'] ?? []), ...(node['anyOf'] ?? []), ...(node['allOf'] ?? [])]) {
      if (section === 'callTask' && part.title)
        pending.push({ section: part.title, node: part, known: callsOf(known, part, ours) });
      else walk(section, part, known, path);
    }
  };
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const { section, node, known } = next;
    walk(section, node, section.endsWith('Task') ? tasksOf(section, node, known, ours) : known, '');
  }
  return rows.filter(({ section }) => section !== 'task');
}

function refOf(node: Schema): string | undefined {
  return typeof node['$ref'] === 'string' ? node['$ref'].split('/').at(-1) : undefined;
}

/** A schema and its alternatives, without references. */
function partsOf(node: Schema, ours: Schema): Schema[] {
  const reference = refOf(node);
  const whole = reference === undefined ? node : ours['$defs'][reference];
  const parts = [...(whole.anyOf ?? []), ...(whole.oneOf ?? []), ...(whole.allOf ?? [])];
  return [whole, ...parts.flatMap((part: Schema) => partsOf(part, ours))];
}

/** Whether a schema says nothing about properties, so that it takes all. */
function isOpen(node: Schema): boolean {
  const isFree = !['properties', 'anyOf', 'oneOf', 'allOf', 'items', 'enum', 'const'].some((key) =>
    Object.hasOwn(node, key),
  );
  return (
    isFree &&
    node['additionalProperties'] !== false &&
    [undefined, 'object'].includes([node['type']].flat()[0])
  );
}

function membersOf(known: Schema[], key: string, ours: Schema): Schema[] {
  return known
    .flatMap((node) => partsOf(node, ours))
    .flatMap((node) =>
      node['properties']?.[key] ? [node['properties'][key]] : isOpen(node) || isDuration(node) ? [{}] : [],
    );
}

/** A duration is not described by its properties. */
function isDuration({ type }: Schema): boolean {
  return Array.isArray(type) && type.join() === 'string,object';
}

function elementsOf(known: Schema[], key: string, ours: Schema): Schema[] {
  return known
    .flatMap((node) => partsOf(node, ours))
    .flatMap((node) => (typeof node[key] === 'object' ? [node[key]] : isOpen(node) ? [{}] : []));
}

function tasksOf(section: string, node: Schema, known: Schema[], ours: Schema): Schema[] {
  if (section === 'callTask') return known;
  const kinds = Object.keys(node['properties'] ?? {}).concat(
    ...(node['allOf'] ?? []).map((part: Schema) => Object.keys(part['properties'] ?? {})),
  );
  const kind = section.replace(/Task$/, '');
  expect(kinds).toContain(kind);
  return partsOf(ours['$defs'].task, ours).filter((task) => task['properties']?.[kind]);
}

function callsOf(known: Schema[], call: Schema, ours: Schema): Schema[] {
  const name: unknown = call['allOf']
    ?.map((part: Schema) => part['properties']?.call?.const)
    .find((found: unknown) => found !== undefined);
  const calls = partsOf(ours['$defs'].task, ours).filter((task) => task['properties']?.call);
  if (name === undefined) return calls.filter((task) => task['properties'].call.not);
  return calls.filter((task) => task['properties'].call.enum?.includes(name));
}
