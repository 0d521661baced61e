/** Budgets (docs/budgets.md): what agents, workflows, users and runs may use. */
import * as z from 'zod';

export const ON_EXCEED = ['stop', 'ask'] as const;
export const BUDGET_SUBJECTS = ['run', 'workflow', 'agent', 'user'] as const;
export type BudgetSubject = (typeof BUDGET_SUBJECTS)[number];

/** US dollars; kept with nine decimal places. */
export const MAX_USD = 1_000_000_000;
export const MAX_COUNT = 1e15;

const WINDOW =
  /^(?:day|month|P(?!$)(?:\d{1,3}W|(?:\d{1,4}D)?(?:T(?=\d)(?:\d{1,5}H)?(?:\d{1,6}M)?(?:\d{1,7}S)?)?))$/;
const NOTHING = /^[^1-9]*$/;

const usd = z.number().min(0).max(MAX_USD);
const count = z.int().min(0).max(MAX_COUNT);

const fields = {
  max_cost_usd: usd.nullish(),
  max_tokens: count.nullish().meta({ description: 'Input and output tokens together.' }),
  max_invocations: count.nullish().meta({ description: 'Calls of agents.' }),
  window: z
    .string()
    .regex(WINDOW, 'must be `day`, `month`, or an ISO 8601 duration in weeks, days, hours, minutes, seconds')
    .refine((value) => !value.startsWith('P') || !NOTHING.test(value), 'must be longer than nothing')
    .nullish()
    .meta({
      description:
        'How long the budget is for, before it begins anew: a day or month of UTC, or an ISO 8601 ' +
        'duration that begins with the first call. Default: it never begins anew.',
    }),
  on_exceed: z.enum(ON_EXCEED).nullish().meta({
    description: '`stop` (default): the call is a fault. `ask`: people are asked to raise the budget.',
  }),
};

const LIMITS = ['max_cost_usd', 'max_tokens', 'max_invocations'] as const;

export const budgetSchema = z
  .strictObject(fields)
  .refine((budget) => LIMITS.some((name) => typeof budget[name] === 'number'), {
    message: `must have at least one of ${LIMITS.join(', ')}`,
  })
  .meta({ id: 'Budget' });

/** Of a merge patch: null clears a field. */
export const budgetPatch = z.strictObject(fields).meta({ id: 'BudgetPatch' });

export type Budget = z.infer<typeof budgetSchema>;

export const EXCEEDABLE = ['cost_usd', 'tokens', 'invocations'] as const;
/** What of a budget is used up; `unpriced`: a call whose cost nobody knows cannot be counted. */
export type Exceeded = (typeof EXCEEDABLE)[number] | 'unpriced';
