/**
 * Warnings about what a workflow has beside its definition. Other workflows and accounts change without it,
 * so they are computed at each reading, in one statement for all workflows of an answer.
 */
import type { Runners } from '../../contracts/runners.ts';
import type { EntityManager } from '../../db/orm.ts';
import { quote } from '../../language/definition/problems.ts';
import { listed, MAX_IDS } from './name-warnings.ts';

export interface WorkflowWarning {
  /** JSON pointer into the record. */
  pointer: string;
  code: 'name_taken' | 'empty_group';
  message: string;
}

export interface WarnedWorkflow {
  id: string;
  name: string;
  /** Its team, else its owner. */
  holder: string;
  runners: Runners;
}

/**
 * By the ids of the workflows: other workflows of the same holder that have the name, and groups of runners
 * that nobody is in now. Only those who may change a workflow may know.
 */
export async function workflowWarnings(
  em: EntityManager,
  workflows: readonly WarnedWorkflow[],
): Promise<Map<string, WorkflowWarning[]>> {
  if (workflows.length === 0) return new Map();
  const given = workflows.map(({ id, name, holder, runners: { groups = [] } }) => ({
    id,
    name,
    holder,
    groups,
  }));
  const rows = await em.execute<{ id: string; others: string[]; empty: number[] }[]>(
    `select w.id,
            to_json(array(select o.id from workflow o
                           where o.holder_id = w.holder and o.name = w.name and o.archived_at is null
                             and o.id <> w.id
                           order by o.id desc limit ${MAX_IDS + 1})) as others,
            to_json(array(select g.place - 1
                            from json_array_elements_text(w.groups) with ordinality as g (name, place)
                           where not exists (select from user_account u
                                              where u.groups @> array[g.name] and u.status = 'active')
                           order by g.place)) as empty
       from json_to_recordset(?::json) as w (id uuid, name text, holder uuid, groups json)`,
    [JSON.stringify(given)],
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  return new Map(
    given.map(({ id, groups }) => {
      const { others = [], empty = [] } = found.get(id) ?? {};
      return [id, [...nameTaken(others), ...empty.map((place) => emptyGroup(place, groups[place] ?? ''))]];
    }),
  );
}

function nameTaken(others: readonly string[]): WorkflowWarning[] {
  if (others.length === 0) return [];
  const which = `${others.length === 1 ? 'the other is' : 'others are'} ${listed(others)}`;
  const message =
    'another workflow of the same owner has this name, so agents and commands must name one by its id: ' +
    which;
  return [{ pointer: '/name', code: 'name_taken', message }];
}

function emptyGroup(place: number, name: string): WorkflowWarning {
  const message = `nobody is in the group ${quote(name)} now: it lets nobody start the workflow until then`;
  return { pointer: `/runners/groups/${place}`, code: 'empty_group', message };
}
