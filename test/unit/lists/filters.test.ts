/** Every filter of a list of the API is among those whose plans are looked at, or has a reason not to be. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

import { filteredLists } from '../../support/filtered-lists.ts';

const OF_HOLDER = 'a quota limits how many a person or a team has, and an index finds those';
const OF_RUN = 'is read within one run, whose events and tasks are limited, in the order of their numbers';
const OF_PERSON = "is looked for among one person's, which an index finds";

/** Filters by operation; those of the first entry are of all lists. */
const UNLISTED: Record<string, Record<string, string>> = {
  '': {
    cursor: 'is the position in the list',
    limit: 'is the length of a page',
    view: 'chooses what records show, not which',
  },
  listAbsences: {
    user_id: OF_PERSON,
    current: 'chooses among absences, of which people have a few',
  },
  listAgentSessions: { q: OF_PERSON },
  listAppliedResources: { set: OF_PERSON, team_id: 'is looked for among what the team has applied' },
  listAudit: { after: 'is a place in the log; test/integration/audit/follow.test.ts looks at the plan' },
  listBudgets: { subject: 'chooses one of three tables, whose records with a budget have an index' },
  listConversations: { q: OF_PERSON },
  listEvaluationCases: { only: 'chooses among the cases of one evaluation, which are limited' },
  listMarketplaceReviews: { user_id: 'is in the key of a review, with the item' },
  listPrices: {
    model: 'is looked for in the price list, which has hundreds of rows',
    provider: 'is looked for in the price list, which has hundreds of rows',
    at: 'is looked for in the price list, which has hundreds of rows',
  },
  listRunLogs: { level: OF_RUN, task: OF_RUN, after: OF_RUN, before: OF_RUN },
  listRunTasks: { reference: OF_RUN, status: OF_RUN, before: OF_RUN },
  listSecrets: { team_id: OF_HOLDER },
  listUsage: Object.fromEntries(
    ['by', 'from', 'to', 'user_id', 'agent_id', 'workflow_id', 'run_id'].map((name) => [
      name,
      'chooses what is summed up, of which every row has to be read',
    ]),
  ),
};

interface Parameter {
  name: string;
  in: string;
}
interface Document {
  paths: Record<string, { get?: { operationId: string; parameters?: (Parameter | { $ref: string })[] } }>;
  components: { parameters: Record<string, Parameter> };
}

const root = join(import.meta.dirname, '../../..');
const document: Document = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));

const withoutNames = (path: string): string => path.replaceAll(/\{\w+\}/g, '{}');

/** The query parameters of operations that return pages. */
function filtersOfApi(): Map<string, { path: string; names: string[] }> {
  const operations = Object.entries(document.paths).flatMap(([path, { get }]) => {
    const parameters = (get?.parameters ?? []).map(parameterOf);
    const names = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
    if (get === undefined || !names.includes('cursor')) return [];
    return [[get.operationId, { path: withoutNames(path), names }] as const];
  });
  return new Map(operations);
}

function parameterOf(given: Parameter | { $ref: string }): Parameter {
  if (!('$ref' in given)) return given;
  const found = document.components.parameters[given.$ref.split('/').at(-1) ?? ''];
  if (found === undefined) throw new Error(`there is no ${given.$ref}`);
  return found;
}

function listedFilters(): Set<string> {
  const found = filteredLists(0).flatMap(([, path]) => {
    const [list = '', query = ''] = path.split('?');
    return query.split('&').map((part) => `${withoutNames(list)} ${part.split('=')[0]}`);
  });
  return new Set(found);
}

const reasonOf = (operation: string, name: string): string | undefined =>
  UNLISTED['']?.[name] ?? UNLISTED[operation]?.[name];

test('every filter of a list is looked at, or has a reason not to be', () => {
  const listed = listedFilters();
  const missing = [...filtersOfApi()].flatMap(([operation, { path, names }]) =>
    names
      .filter((name) => !listed.has(`${path} ${name}`) && reasonOf(operation, name) === undefined)
      .map((name) => `${operation} ${name}`),
  );
  expect(missing).toEqual([]);
});

test('every reason is that of a filter that is not looked at', () => {
  const [api, listed] = [filtersOfApi(), listedFilters()];
  const needless = Object.entries(UNLISTED).flatMap(([operation, reasons]) =>
    Object.keys(reasons)
      .filter((name) => {
        const list = api.get(operation);
        if (operation === '') return ![...api.values()].some(({ names }) => names.includes(name));
        return !list?.names.includes(name) || listed.has(`${list.path} ${name}`);
      })
      .map((name) => `${operation} ${name}`),
  );
  expect(needless).toEqual([]);
});
