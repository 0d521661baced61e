/** A budget: its limits, what is used of them, and forms to set and to raise it. */
import type { Budget, BudgetState } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { cache, useQuery } from '../../data/query.ts';
import { FormDialog } from '../form-dialog.tsx';
import page from '../page.module.css';
import { ProblemText } from '../problem.tsx';
import { exactTime } from '../time.ts';
import { tell } from '../toasts.tsx';
import { amountText, linesOf } from './amounts.ts';
import css from './budget.module.css';
import { words } from './words.ts';

export const budgetForm = {
  type: 'object',
  properties: {
    max_cost_usd: { type: 'number', minimum: 0, title: words.maxCost },
    max_tokens: { type: 'integer', minimum: 0, title: words.maxTokens },
    max_invocations: { type: 'integer', minimum: 0, title: words.maxInvocations },
    window: { type: 'string', title: words.window, description: words.windowHelp },
    on_exceed: {
      title: words.onExceed,
      oneOf: (['stop', 'ask'] as const).map((one) => ({ const: one, title: words[one] })),
    },
  },
};

/** The body of a change; a budget that limits nothing is none. */
export function budgetOf(body: Readonly<Record<string, unknown>>): Budget | null {
  const limits = ['max_cost_usd', 'max_tokens', 'max_invocations'];
  return limits.some((name) => typeof body[name] === 'number') ? body : null;
}

interface Props {
  /** Of the agent, workflow, user or run. */
  id: string;
  budget: Budget | null;
  /** Whether the user may read what is used: the owner and admins. */
  own: boolean;
  /** Null: the user may not change it. */
  save: ((budget: Budget | null) => Promise<void>) | null;
}

export function BudgetPart({ id, budget, own, save }: Props) {
  const form = save && (
    <FormDialog
      id="budget"
      button={budget === null ? words.set : words.change}
      title={words.title}
      help={words.help}
      submit={words.save}
      schema={budgetForm}
      values={{ ...budget }}
      onSubmit={async (body) => {
        await save(budgetOf(body));
        await cache.invalidateQueries({ queryKey: ['budget', id] });
        tell(words.saved);
      }}
    />
  );
  if (budget === null && form === null) return null;
  return (
    <section class={page['part']}>
      <h2>{words.title}</h2>
      {budget === null ? <p class="muted">{words.none}</p> : own && <Used id={id} />}
      <div class={page['actions']}>{form}</div>
    </section>
  );
}

/** What is used of the budget of a subject that has one. */
export function Used({ id }: { id: string }) {
  const { data, error } = useQuery<BudgetState>({
    queryKey: ['budget', id],
    queryFn: ({ signal }) => client.call('getBudget', { path: { id }, signal }),
  });
  if (error !== null) return <ProblemText error={error} />;
  if (data === undefined) return null;
  return (
    <>
      <Amounts state={data} />
      <Raise state={data} />
    </>
  );
}

export function Amounts({ state }: { state: BudgetState }) {
  return (
    <ul class={css['amounts']}>
      {linesOf(state).map(({ name, title, used, reserved, most }) => (
        <li key={name}>
          {title} <meter max={Math.max(most, used)} high={most} value={used + reserved} aria-label={title} />{' '}
          <span class="number">{words.of(amountText(used), amountText(most))}</span>
          {reserved > 0 && `, ${words.reserved(amountText(reserved))}`}
        </li>
      ))}
      {state.window_to !== null && <li>{words.until(exactTime(state.window_to))}</li>}
      {state.unpriced > 0 && <li>{words.unpriced(state.unpriced)}</li>}
    </ul>
  );
}

export function Raise({ state, onRaised }: { state: BudgetState; onRaised?: () => Promise<void> }) {
  if (!state.can.includes('raise')) return null;
  const limits = linesOf(state).map(({ name }) => [
    name,
    { type: 'number', minimum: 0, title: words.by[name] },
  ]);
  return (
    <FormDialog
      id={`raise-${state.id}`}
      button={words.raise}
      title={words.raiseTitle}
      submit={words.raise}
      schema={{
        type: 'object',
        properties: {
          ...Object.fromEntries(limits),
          ...(state.window === null ? {} : { lasting: { type: 'boolean', title: words.lasting } }),
        },
      }}
      onSubmit={async (body) => {
        const lasting = state.window === null ? { lasting: true } : {};
        const raised = await client.call('raiseBudget', {
          path: { id: state.id },
          body: { ...body, ...lasting },
        });
        cache.setQueryData(['budget', state.id], raised);
        await cache.invalidateQueries({ queryKey: [state.subject, state.id] });
        await onRaised?.();
        tell(words.saved);
      }}
    />
  );
}
