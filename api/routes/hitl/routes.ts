import * as z from 'zod';

import { TASK_STATUSES } from '../../../contracts/hitl.ts';
import { withAbsentPeople, withKeptAbsentPeople } from '../../../domain/auth/absences.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { listAudit } from '../../../domain/hitl/audit.ts';
import { decideAtOnce } from '../../../domain/hitl/decide-at-once.ts';
import type { Decided } from '../../../domain/hitl/decide.ts';
import type { Caller } from '../../../domain/hitl/locked-task.ts';
import {
  claim,
  comment,
  countTasks,
  decide,
  delegate,
  getTask,
  listTasks,
  loadForChange,
  loadForComment,
  release,
} from '../../../domain/hitl/service.ts';
import type { HumanTaskView } from '../../../domain/hitl/human-task.ts';
import { MAX_COUNT, TASK_SORTS, type TaskPosition, type TaskSort } from '../../../domain/hitl/list-query.ts';
import { sendSignal } from '../../../domain/runs/dispatch.ts';
import { dataOf } from '../../audit-trail.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext, type EndpointResponse } from '../../endpoint.ts';
import { viewQuery } from '../../listed.ts';
import { byId, readPage, type ListOrder } from '../../paging.ts';
import { flag, idParams, instant, pageQuery, personOrMe, text, uuid } from '../../schemas.ts';
import { decideBatch } from './batch.ts';
import {
  auditRecord,
  batchRecord,
  commentRecord,
  decidedRecord,
  humanTaskRecord,
  listedTask,
  presentAudit,
  presentDecided,
  presentListedTask,
  presentTask,
  withDelivery,
} from './presenter.ts';

const TAGS = ['hitl'];

const submission = z.object({
  decision: text({ min: 1, max: 255 }).meta({ description: "One of the task's `decisions`." }),
  payload: z
    .unknown()
    .optional()
    .meta({ description: "Must match the task's `form_schema`, unless the decision is `reject`." }),
  comment: text({ max: 10_000 }).nullish(),
});

const filters = {
  scope: z
    .enum(['mine', 'candidate', 'all'])
    .default('mine')
    .meta({
      description:
        '`mine`: undecided tasks that the caller can decide now. `candidate`: also their tasks that wait ' +
        'for others or that they may not decide. `all`: the tasks of all users, for admins only.',
    }),
  status: z
    .string()
    .transform((value) => value.split(','))
    .pipe(z.array(z.enum(TASK_STATUSES)))
    .optional()
    .meta({ description: 'One or more, separated by commas. Default: undecided tasks.' }),
  priority: z.coerce.number().int().min(0).max(100).optional(),
  overdue: flag.optional().meta({ description: 'Undecided tasks that are past `due_at`.' }),
  due_before: instant.optional().meta({ description: 'Tasks whose `due_at` is earlier.' }),
  claimed_by: personOrMe.optional(),
  run_id: uuid.optional(),
  workflow_id: uuid.optional(),
  team_id: uuid.optional().meta({ description: "The team of the run's workflow." }),
  q: text({ min: 1, max: 255 })
    .optional()
    .meta({ description: 'Text in the title, description, task or workflow name.' }),
};

const count = z.int().min(0).max(MAX_COUNT);
const summaryRecord = z
  .object({ open: count, overdue: count, claimed_by_me: count })
  .meta({ id: 'HumanTaskSummary' });

const sort = z
  .enum(TASK_SORTS)
  .default('priority')
  .meta({
    description:
      '`priority`: highest first. `due`: earliest `due_at` first, tasks without one last. ' +
      '`created`: oldest first. Equal tasks are sorted by age, oldest first.',
  });

/** The cursors of each order have a form of their own. */
const orders: Record<TaskSort, ListOrder<HumanTaskView, TaskPosition>> = {
  priority: {
    key: z
      .tuple([z.int().min(-100).max(0), z.guid()])
      .transform((after) => ({ sort: 'priority' as const, after })),
    valuesOf: (task) => [-task.priority, task.id],
  },
  due: {
    key: z
      .tuple([z.literal('due'), instant.nullable(), z.guid()])
      .transform(([, ...after]) => ({ sort: 'due' as const, after })),
    valuesOf: (task) => ['due', task.exact_due_at ?? null, task.id],
  },
  created: {
    key: z
      .tuple([z.literal('created'), z.guid()])
      .transform(([, id]) => ({ sort: 'created' as const, after: [id] as const })),
    valuesOf: (task) => ['created', task.id],
  },
};

export function hitlEndpoints(deps: AppDeps): Endpoint[] {
  return [...readEndpoints(), ...decisionEndpoints(deps), ...handoverEndpoints()];
}

function readEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/hitl/tasks',
      operationId: 'listHumanTasks',
      summary: "List the caller's human tasks, by default by priority, then age",
      tags: TAGS,
      role: 'viewer',
      query: z.object({ ...pageQuery, ...viewQuery, ...filters, sort }),
      responses: { 200: z.array(listedTask) },
      errors: [403],
      handler: async (c) => {
        const order = orders[c.query.sort];
        const person = await readerOf(c);
        const { items, headers } = await readPage(c, order, (page, { sort: by, ...filter }) =>
          listTasks(c.em, person, filter, page.after ?? { sort: by }, page.limit),
        );
        return { status: 200, body: items.map((task) => presentListedTask(person, task)), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/hitl/summary',
      operationId: 'getHumanTaskSummary',
      summary: 'Count the human tasks of the caller',
      description:
        '`open`: tasks that the caller can decide now. `overdue`: those of them that are past `due_at`. ' +
        '`claimed_by_me`: undecided tasks that the caller has claimed. ' +
        `${MAX_COUNT} means that many or more.`,
      tags: TAGS,
      role: 'viewer',
      responses: { 200: summaryRecord },
      handler: async (c) => ({ status: 200, body: await countTasks(c.em, await readerOf(c)) }),
    }),
    endpoint({
      method: 'GET',
      path: '/hitl/tasks/{id}',
      operationId: 'getHumanTask',
      summary: 'Get a human task',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: humanTaskRecord },
      handler: async (c) => {
        const person = await readerOf(c);
        return { status: 200, body: presentTask(person, await getTask(c.em, person, c.params.id)) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/hitl/tasks/{id}/audit',
      operationId: 'listHumanTaskAudit',
      summary: 'List who did what with a human task, oldest first',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(auditRecord) },
      handler: async (c) => {
        const task = await getTask(c.em, await readerOf(c), c.params.id);
        const { items, headers } = await readPage(c, byId, (page) => listAudit(c.em, c.actor, task, page));
        return { status: 200, body: items.map(presentAudit), headers };
      },
    }),
  ];
}

function decisionEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/hitl/tasks/{id}/decision',
      operationId: 'decideHumanTask',
      summary: 'Decide a human task or vote on it',
      description:
        'If the state does not permit a decision (already decided, expired, cancelled, claimed by another ' +
        'user, already voted), `decision` of the problem has the winning decision, or null if there is ' +
        'none.',
      tags: TAGS,
      role: 'approver',
      inTeams: true,
      params: idParams,
      body: submission,
      responses: { 200: decidedRecord },
      errors: [403, 409],
      atOnce: async (c) => {
        const { keyed } = c;
        const decided = await decideAtOnce(
          c.em,
          { actor: c.actor, via: 'api' },
          {
            taskId: c.params.id,
            submission: () => c.readBody(),
            entry: () => c.audit.row({ data: dataOf(c.body) }),
            keep: keyed
              ? ({ actor, task, decision }) =>
                  keyed.answer({ status: 200, body: presentDecided(actor, task, decision) })
              : undefined,
          },
        );
        return decided && answerDecided(deps, c, decided.actor, decided);
      },
      handler: async (c) => {
        const caller = await callerOf(c);
        const seen = await loadForChange(c.em, caller.actor, c.params.id);
        return answerDecided(deps, c, caller.actor, await decide(c.em, caller, seen, c.readBody()));
      },
    }),
    endpoint({
      method: 'POST',
      path: '/hitl/decisions',
      operationId: 'decideHumanTasks',
      summary: 'Decide several human tasks, each with its own result',
      tags: TAGS,
      role: 'approver',
      inTeams: true,
      transaction: false,
      body: z.object({
        decisions: z
          .array(submission.extend({ task_id: uuid }).strict())
          .min(1)
          .max(100),
      }),
      responses: { 200: batchRecord },
      handler: async (c) => ({
        status: 200,
        body: { results: await decideBatch(deps, c, c.body.decisions) },
      }),
    }),
  ];
}

/** Sends the signal after the commit. Repetitions get the answer that was told then. */
function answerDecided(
  deps: AppDeps,
  c: Pick<EndpointContext, 'afterCommit' | 'keyed'>,
  actor: Actor,
  { task, decision, signal }: Decided,
): EndpointResponse {
  const body = presentDecided(actor, task, decision);
  if (signal !== null) {
    const { keyed } = c;
    c.afterCommit(async () => {
      const arrived = { status: 200, body: withDelivery(body, true) };
      const isArrived = await sendSignal(deps, signal, keyed ? () => keyed.answer(arrived) : undefined);
      return isArrived ? arrived : { status: 200, body };
    });
  }
  return { status: 200, body };
}

function handoverEndpoints(): Endpoint[] {
  const common = {
    method: 'POST' as const,
    role: 'approver' as const,
    inTeams: true,
    tags: TAGS,
    params: idParams,
    errors: [403, 409],
  };
  return [
    endpoint({
      ...common,
      path: '/hitl/tasks/{id}/claim',
      operationId: 'claimHumanTask',
      summary: 'Claim a human task, so that nobody else can decide it',
      responses: { 200: humanTaskRecord },
      handler: async (c) => {
        const caller = await callerOf(c);
        const seen = await loadForChange(c.em, caller.actor, c.params.id);
        c.checkSyntax();
        return { status: 200, body: presentTask(caller.actor, await claim(c.em, caller, seen)) };
      },
    }),
    endpoint({
      ...common,
      path: '/hitl/tasks/{id}/release',
      operationId: 'releaseHumanTask',
      summary: 'Release a claimed human task',
      responses: { 200: humanTaskRecord },
      handler: async (c) => {
        const caller = await callerOf(c);
        const seen = await loadForChange(c.em, caller.actor, c.params.id);
        c.checkSyntax();
        return { status: 200, body: presentTask(caller.actor, await release(c.em, caller, seen)) };
      },
    }),
    endpoint({
      ...common,
      path: '/hitl/tasks/{id}/delegate',
      operationId: 'delegateHumanTask',
      summary: 'Delegate a human task to another user',
      description:
        "The delegate must be a candidate, unless the task's `delegate` is `anyone`. " +
        'Delegating gives up your own vote (403 `delegated`) until it is delegated back. ' +
        'A user with several delegations still has one vote.',
      body: z.object({ to: text({ min: 1, max: 255 }).meta({ description: 'A user, by id or username.' }) }),
      responses: { 200: humanTaskRecord },
      handler: async (c) => {
        const caller = await callerOf(c);
        const seen = await loadForChange(c.em, caller.actor, c.params.id);
        const task = await delegate(c.em, caller, seen, c.readBody());
        return { status: 200, body: presentTask(caller.actor, task) };
      },
    }),
    endpoint({
      ...common,
      role: 'viewer',
      clientRole: 'approver',
      path: '/hitl/tasks/{id}/comments',
      operationId: 'commentHumanTask',
      summary: 'Comment on a human task',
      body: z.object({ comment: text({ min: 1, max: 10_000 }) }),
      responses: { 201: commentRecord },
      handler: async (c) => {
        const caller = await callerOf(c);
        const task = await loadForComment(c.em, caller.actor, c.params.id);
        return { status: 201, body: await comment(c.em, caller, task, c.readBody()) };
      },
    }),
  ];
}

async function callerOf(c: Pick<EndpointContext, 'actor' | 'em'>): Promise<Caller> {
  return { actor: await personOf(c), via: 'api' };
}

function readerOf({ em, actor }: Pick<EndpointContext, 'actor' | 'em'>): Promise<Actor> {
  return withKeptAbsentPeople(em, actor);
}

/** The caller, with the absent people whose deputy they are. */
function personOf({ em, actor }: Pick<EndpointContext, 'actor' | 'em'>): Promise<Actor> {
  return withAbsentPeople(em, actor);
}
