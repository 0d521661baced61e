import * as z from 'zod';

import type { Caller } from '../../../domain/hitl/locked-task.ts';
import { claim, comment, decide, delegate, getTask, listTasks, release } from '../../../domain/hitl/service.ts';
import { sendSignals } from '../../../domain/runs/dispatch.ts';
import type { AppDeps } from '../../app.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { decodeCursor, page } from '../../paging.ts';
import { flag, idParams, pageQuery, text, uuid } from '../../schemas.ts';
import { decideBatch } from './batch.ts';
import { batchRecord, commentRecord, decidedRecord, humanTaskRecord, presentDecided, presentTask } from './presenter.ts';

const tags = ['hitl'];
const statuses = ['open', 'claimed', 'decided', 'expired', 'cancelled'] as const;

const submission = z.object({
  decision: text({ min: 1, max: 255 }).meta({ description: "One of the task's `decisions`." }),
  payload: z.unknown().optional().meta({ description: "Fits the task's `form_schema`, unless the decision is `reject`." }),
  comment: text({ max: 10_000 }).nullish(),
});

const filters = {
  scope: z.enum(['mine', 'all']).default('mine').meta({ description: '`all`: admins only.' }),
  status: z
    .string()
    .transform((value) => value.split(','))
    .pipe(z.array(z.enum(statuses)))
    .optional()
    .meta({ description: 'One or several, separated by commas. Default: those not yet decided.' }),
  priority: z.coerce.number().int().min(0).max(100).optional(),
  overdue: flag.optional().meta({ description: 'Past `due_at` and not yet decided.' }),
  run_id: uuid.optional(),
  workflow_id: uuid.optional(),
  q: text({ min: 1, max: 255 }).optional().meta({ description: 'Part of title, description, task or workflow name.' }),
};

const position = z.tuple([z.int().min(-100).max(0), z.guid()]);

export function hitlEndpoints(deps: AppDeps): Endpoint[] {
  return [...readEndpoints(), ...decisionEndpoints(deps), ...handoverEndpoints()];
}

function readEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/hitl/tasks',
      operationId: 'listHumanTasks',
      summary: "The caller's human tasks, by priority, then age",
      tags,
      role: 'viewer',
      query: z.object({ ...pageQuery, ...filters }),
      responses: { 200: z.array(humanTaskRecord) },
      errors: [403],
      handler: async (c) => {
        const { limit, cursor, ...filter } = c.query;
        const found = await listTasks(c.em, c.actor, filter, { after: decodeCursor(cursor, position), limit });
        const { items, headers } = page(c, found, limit, (task) => [-task.priority, task.id]);
        return { status: 200, body: items.map(presentTask), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/hitl/tasks/{id}',
      operationId: 'getHumanTask',
      summary: 'One human task',
      tags,
      role: 'viewer',
      params: idParams,
      responses: { 200: humanTaskRecord },
      handler: async (c) => ({ status: 200, body: presentTask(await getTask(c.em, c.actor, c.params.id)) }),
    }),
  ];
}

function decisionEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/hitl/tasks/{id}/decision',
      operationId: 'decideHumanTask',
      summary: 'Decide a human task, or vote on it',
      description: 'Refused by state, the problem has the winning decision in `decision`, null where there is none: decided already, expired, cancelled, claimed by another, voted already.',
      tags,
      role: 'approver',
      params: idParams,
      body: submission,
      responses: { 200: decidedRecord },
      errors: [403, 409],
      handler: async (c) => {
        const { task, decision, signal } = await decide(c.em, c.actor, { taskId: c.params.id, submission: () => c.body, via: 'api' });
        if (signal !== null) {
          c.afterCommit(async () => {
            const delivered = await sendSignals(deps, [signal]);
            return { status: 200, body: presentDecided(task, decision, delivered.length > 0) };
          });
        }
        return { status: 200, body: presentDecided(task, decision) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/hitl/decisions',
      operationId: 'decideHumanTasks',
      summary: 'Decide several human tasks; one result each',
      tags,
      role: 'approver',
      transaction: false,
      body: z.object({ decisions: z.array(submission.extend({ task_id: uuid }).strict()).min(1).max(100) }),
      responses: { 200: batchRecord },
      handler: async (c) => ({ status: 200, body: { results: await decideBatch(deps, c, c.body.decisions) } }),
    }),
  ];
}

function handoverEndpoints(): Endpoint[] {
  const common = { method: 'POST' as const, role: 'approver' as const, tags, params: idParams, errors: [403, 409] };
  const caller = (c: EndpointContext): Caller => ({ actor: c.actor, via: 'api', readable: () => c.checkSyntax() });
  return [
    endpoint({
      ...common,
      path: '/hitl/tasks/{id}/claim',
      operationId: 'claimHumanTask',
      summary: 'Claim a human task: nobody else can decide it from then on',
      responses: { 200: humanTaskRecord },
      handler: async (c) => ({ status: 200, body: presentTask(await claim(c.em, caller(c), c.params.id)) }),
    }),
    endpoint({
      ...common,
      path: '/hitl/tasks/{id}/release',
      operationId: 'releaseHumanTask',
      summary: 'Give a claim back',
      responses: { 200: humanTaskRecord },
      handler: async (c) => ({ status: 200, body: presentTask(await release(c.em, caller(c), c.params.id)) }),
    }),
    endpoint({
      ...common,
      path: '/hitl/tasks/{id}/delegate',
      operationId: 'delegateHumanTask',
      summary: 'Make somebody else the assignee',
      body: z.object({ to: text({ min: 1, max: 255 }).meta({ description: 'A user, by id or username.' }) }),
      responses: { 200: humanTaskRecord },
      handler: async (c) => {
        const task = await delegate(c.em, caller(c), c.params.id, () => c.body.to);
        return { status: 200, body: presentTask(task) };
      },
    }),
    endpoint({
      ...common,
      role: 'viewer',
      path: '/hitl/tasks/{id}/comments',
      operationId: 'commentHumanTask',
      summary: 'Comment on a human task',
      body: z.object({ comment: text({ min: 1, max: 10_000 }) }),
      responses: { 201: commentRecord },
      handler: async (c) => ({ status: 201, body: await comment(c.em, caller(c), c.params.id, () => c.body.comment) }),
    }),
  ];
}
