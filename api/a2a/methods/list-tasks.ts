/** ListTasks: a page of an agent's tasks, with the protocol's names and sizes. */
import { Task, TaskState, taskStateToJSON, type ListTasksRequest, type ListTasksResponse } from '@a2a-js/sdk';
import * as z from 'zod';
import { TASK_STATES } from '../../../contracts/a2a/objects.ts';
import { linkBudget } from '../../../domain/a2a/file-links.ts';
import { countTasks, listTaskRows, type ListedTask } from '../../../domain/a2a/list.ts';
import { presentTask } from '../../../contracts/a2a/task.ts';
import { readMessages } from '../../../domain/a2a/task-row.ts';
import { readKeysetPage, type ListOrder } from '../../paging.ts';
import { instant } from '../../schemas.ts';
import type { A2ACall } from '../call.ts';
import { presenting } from '../task-reader.ts';
import { historyLengthOf, invalidField } from './fields.ts';

const MAX_PAGE_SIZE = 100;
const DEFAULT_PAGE_SIZE = 50;

const byLastChange: ListOrder<ListedTask, [changed: string, id: string]> = {
  key: z.tuple([instant, z.guid()]),
  valuesOf: ({ changed, id }) => [changed, id],
};

export async function listTasks(call: A2ACall, params: ListTasksRequest): Promise<ListTasksResponse> {
  const pageSize = pageSizeOf(params);
  const filter = {
    contextId: params.contextId,
    state: stateOf(params),
    changedAfter: changedAfterOf(params),
  };
  const historyLength = historyLengthOf(params.historyLength);
  const em = call.deps.orm.em.fork();
  const { actor, target } = call;
  const { items, next } = await readKeysetPage(
    byLastChange,
    { limit: pageSize, cursor: params.pageToken || undefined },
    (page) => listTaskRows(em, actor, target.agent.id, filter, page),
    () => invalidField('/pageToken', 'pageToken is not a token of this list'),
  );
  const messages = await readMessages(em, items, historyLength, { listed: true });
  const options = { historyLength, artifacts: params.includeArtifacts === true };
  const tasks = [];
  const links = linkBudget();
  for (const row of items) {
    const shown = await presenting(call, em, row, links);
    tasks.push(Task.fromJSON(presentTask(row, messages.get(row.id) ?? [], shown, options)));
  }
  const totalSize = await countTasks(em, actor, target.agent.id, filter);
  return { tasks, nextPageToken: next ?? '', pageSize, totalSize };
}

function pageSizeOf(params: ListTasksRequest): number {
  const pageSize = params.pageSize ?? DEFAULT_PAGE_SIZE;
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE_SIZE)
    throw invalidField('/pageSize', `pageSize must be an integer from 1 to ${MAX_PAGE_SIZE}`);
  return pageSize;
}

function stateOf({ status }: ListTasksRequest): (typeof TASK_STATES)[number] | undefined {
  if (status === TaskState.TASK_STATE_UNSPECIFIED) return undefined;
  const state = TASK_STATES.find((known) => known === taskStateToJSON(status));
  if (state === undefined) throw invalidField('/status', 'status must be a task state');
  return state;
}

function changedAfterOf({ statusTimestampAfter }: ListTasksRequest): string | undefined {
  if (!statusTimestampAfter) return undefined;
  const { data } = instant.safeParse(statusTimestampAfter);
  if (data === undefined)
    throw invalidField(
      '/statusTimestampAfter',
      'statusTimestampAfter must be an RFC 3339 time in the years 1 to 9999',
    );
  return data;
}
