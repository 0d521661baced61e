/** Budgets of agents, workflows and users; what is used of them and of those of runs. */
import { buildRouteMap } from '@stricli/core';

import type { Budget, BudgetState } from '../../client/index.ts';
import { BUDGET_SUBJECTS } from '../../contracts/budgets.ts';
import type { Cli } from '../core/cli.ts';
import { budgetFlags, budgetOf, dollars } from '../core/budget-flags.ts';
import { argument, command, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { choice, count, flag, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { agentId, anybodysId, isId, workflowId } from '../core/names.ts';
import type { View } from '../core/table.ts';

const amount = (used: number, held: number, more: number, most: number | null): string => {
  if (most === null) return String(used);
  return `${used}${held > 0 ? ` (+${held} reserved)` : ''} of ${most + more}`;
};
const of = (
  { used, reserved, raised }: BudgetState,
  name: 'cost_usd' | 'tokens' | 'invocations',
  most: number | null,
): string => amount(used[name], reserved[name], raised[name], most);

const budgetView: View<BudgetState> = {
  columns: [
    ['id', ({ id }) => id],
    ['of', ({ subject, name }) => `${subject} ${name ?? ''}`.trim()],
    ['US dollars', (state) => of(state, 'cost_usd', state.max_cost_usd)],
    ['tokens', (state) => of(state, 'tokens', state.max_tokens)],
    ['invocations', (state) => of(state, 'invocations', state.max_invocations)],
    ['window', ({ window }) => window ?? 'none'],
    ['until', ({ window_to: until }) => until],
    ['if exceeded', ({ on_exceed }) => on_exceed],
  ],
  name: ({ id }) => id,
  none: 'No budgets.',
};

const list = command({
  brief: 'List the budgets of your agents, workflows, runs and account; admins see all',
  flags: { ...listFlags, subject: choice('Only of these', BUDGET_SUBJECTS) },
  run: async (cli, { subject, ...flags }) => {
    await cli.requireLogIn();
    const query = { subject, ...pageOf(flags) };
    const items = cli.client.items('listBudgets', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), budgetView);
  },
});

const SUBJECT = argument('SUBJECT', 'agent, workflow, user or run');
const NAME = argument('NAME', 'Its name or id; of a run its id');

async function idOf(cli: Cli, subject: string, given: string): Promise<string> {
  if (isId(given)) return given;
  if (subject === 'agent') return agentId(cli, given);
  if (subject === 'workflow') return workflowId(cli, given);
  if (subject === 'user') return anybodysId(cli, given);
  throw usageError(subject === 'run' ? 'Give the id of the run.' : `${subject} has no budget.`);
}

const get = command({
  brief: 'Show a budget, and what is used of it',
  arguments: [SUBJECT, NAME],
  run: async (cli, _flags, subject, given) => {
    const path = { id: await idOf(cli, subject, given) };
    await cli.out.record(await cli.client.call('getBudget', { path, signal: cli.signal }), budgetView);
  },
});

async function store(cli: Cli, subject: string, id: string, budget: Budget | null): Promise<void> {
  const request = { path: { id }, body: { budget }, signal: cli.signal };
  if (subject === 'agent') await cli.client.call('updateAgent', request);
  else if (subject === 'workflow') await cli.client.call('updateWorkflow', request);
  else if (subject === 'user') await cli.client.call('updateUser', request);
  else throw usageError('A run gets its budget when it starts. `budget raise` raises it.');
}

const set = command({
  brief: 'Set the budget of an agent or workflow, or, as an admin, of a user',
  details: 'What no flag gives stays as it is. A window is `day`, `month`, or an ISO 8601 duration.',
  flags: {
    ...budgetFlags,
    window: text('How long it is for, before it begins anew: day, month, PT1H', 'WINDOW'),
  },
  arguments: [SUBJECT, NAME],
  run: async (cli, { window, ...flags }, subject, given) => {
    const budget: Budget = { ...budgetOf(flags), ...(window === undefined ? {} : { window }) };
    if (Object.keys(budget).length === 0) throw usageError('Give a flag with what the budget is.');
    const id = await idOf(cli, subject, given);
    await store(cli, subject, id, budget);
    const state = await cli.client.call('getBudget', { path: { id }, signal: cli.signal });
    await cli.out.record(state, budgetView);
  },
});

const raise = command({
  brief: 'Raise a budget for this window, or for good',
  flags: {
    cost: text('By so many US dollars', 'USD'),
    tokens: count('By so many tokens'),
    invocations: count('By so many calls'),
    lasting: flag('For good'),
  },
  arguments: [SUBJECT, NAME],
  run: async (cli, { cost, tokens, invocations, lasting }, subject, given) => {
    const usd = dollars(cost, '--cost');
    const body = {
      ...(usd === undefined ? {} : { cost_usd: usd }),
      ...(tokens === undefined ? {} : { tokens }),
      ...(invocations === undefined ? {} : { invocations }),
      ...(lasting === true ? { lasting } : {}),
    };
    const path = { id: await idOf(cli, subject, given) };
    const state = await cli.client.call('raiseBudget', {
      path,
      body,
      idempotencyKey: crypto.randomUUID(),
      signal: cli.signal,
    });
    await cli.out.record(state, budgetView);
  },
});

const remove = command({
  brief: 'Remove the budget of an agent, workflow or user, with what is counted',
  flags: { yes: flag('Do not ask') },
  arguments: [SUBJECT, NAME],
  hasData: false,
  run: async (cli, { yes }, subject, given) => {
    const id = await idOf(cli, subject, given);
    await confirm(cli, `Remove the budget of ${subject} ${given}?`, yes);
    await store(cli, subject, id, null);
    cli.say(`Removed the budget of ${subject} ${given}.`);
  },
});

const routes = { list, get, set, raise, remove };

export const budgetCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Budgets, and what is used of them' },
});
