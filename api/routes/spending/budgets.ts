/** What is used of budgets: docs/budgets.md#budgets. */
import * as z from 'zod';

import { BUDGET_SUBJECTS, MAX_USD, ON_EXCEED } from '../../../contracts/budgets.ts';
import { forbidden, invalid } from '../../../domain/errors.ts';
import {
  getBudget,
  listBudgets,
  mayRaise,
  raiseBudget,
  type BudgetState,
} from '../../../domain/spending/budgets.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { byId, readPage } from '../../paging.ts';
import { personName } from '../../person-names.ts';
import { idParams, pageQuery, timestamp, uuid } from '../../schemas.ts';

const TAGS = ['spending'];

const amounts = z
  .object({ cost_usd: z.number(), tokens: z.number(), invocations: z.number() })
  .meta({ id: 'BudgetAmounts' });

const budgetRecord = z
  .object({
    id: uuid.meta({ description: 'Of the agent, workflow, user or run.' }),
    subject: z.enum(BUDGET_SUBJECTS),
    name: z.string().nullable().meta({ description: 'Of the subject; of a run that of its workflow.' }),
    owner_id: uuid.nullable(),
    owner_name: personName,
    team_id: uuid.nullable().meta({ description: 'That holds the agent or workflow.' }),
    max_cost_usd: z.number().nullable(),
    max_tokens: z.number().nullable(),
    max_invocations: z.number().nullable(),
    window: z.string().nullable(),
    on_exceed: z.enum(ON_EXCEED),
    window_from: timestamp.nullable().meta({ description: 'Null: it begins with the next call.' }),
    window_to: timestamp.nullable(),
    used: amounts.meta({ description: 'In this window.' }),
    unpriced: z.int().meta({ description: 'Calls of unknown cost among those that were used.' }),
    reserved: amounts.meta({ description: 'By calls under way.' }),
    raised: amounts.meta({ description: 'By which it is raised in this window.' }),
    can: z.array(z.enum(['raise'])),
  })
  .meta({ id: 'BudgetState' });

const more = z.number().positive();

export function budgetEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/budgets',
      operationId: 'listBudgets',
      summary: 'List the budgets of what the caller and their teams hold, and of their runs; admins see all',
      tags: TAGS,
      role: 'viewer',
      query: z.object({ ...pageQuery, subject: z.enum(BUDGET_SUBJECTS).optional() }),
      responses: { 200: z.array(budgetRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listBudgets(c.em, c.actor, filter, page),
        );
        return { status: 200, body: items.map((state) => present(c.actor, state)), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/budgets/{id}',
      operationId: 'getBudget',
      summary: 'Get what is used of the budget of an agent, a workflow, a user or a run',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: budgetRecord },
      handler: async (c) => ({
        status: 200,
        body: present(c.actor, await getBudget(c.em, c.actor, c.params.id)),
      }),
    }),
    raiseEndpoint(),
  ];
}

function raiseEndpoint(): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/budgets/{id}/raise',
    operationId: 'raiseBudget',
    summary: 'Raise a budget for this window, or for good',
    tags: TAGS,
    role: 'builder',
    params: idParams,
    body: z.object({
      cost_usd: more.max(MAX_USD).optional(),
      tokens: more.int().max(1e15).optional(),
      invocations: more.int().max(1e15).optional(),
      lasting: z.boolean().default(false).meta({ description: 'For good, not only for this window.' }),
    }),
    responses: { 200: budgetRecord },
    errors: [403, 409],
    handler: async (c) => {
      const before = await getBudget(c.em, c.actor, c.params.id);
      if (!mayRaise(c.actor, before))
        throw forbidden(
          before.subject === 'user'
            ? 'Only admins may raise the budget of a user.'
            : 'Only those who may change the agent or workflow may raise its budget.',
        );
      const { lasting, ...given } = c.body;
      const by = Object.fromEntries(Object.entries(given).filter(([, amount]) => amount !== undefined));
      if (Object.keys(by).length === 0)
        throw invalid([
          { pointer: '', code: 'required', message: 'must have cost_usd, tokens or invocations' },
        ]);
      return {
        status: 200,
        body: present(c.actor, await raiseBudget(c.em, c.actor, before, { by, lasting })),
      };
    },
  });
}

function present(actor: Actor, state: BudgetState): z.input<typeof budgetRecord> {
  const { subject, subject_id: id, limits, ...fields } = state;
  return {
    id,
    subject,
    ...fields,
    max_cost_usd: limits.cost_usd,
    max_tokens: limits.tokens,
    max_invocations: limits.invocations,
    can: mayRaise(actor, state) ? ['raise'] : [],
  };
}
