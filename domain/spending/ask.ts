/** A budget that asks: a human task for those who may raise it, and what follows from their decision. */
import type { RemoteAsk, RemoteReply } from '../../contracts/activities.ts';
import type { Exceeded } from '../../contracts/budgets.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { EntityManager } from '../../db/orm.ts';
import { budgetFault, budgetSentence, raiseNow, readBudget, type BudgetState } from './budgets.ts';

const RAISE_ONCE = 'raise_once';
const RAISE = 'raise';
/** Of a branch that waited for the decision of another one. */
const ASK_AGAIN = 'again';

const UNITS = { cost_usd: 'US dollars', tokens: 'Tokens', invocations: 'Invocations' } as const;

/** @param then the answer that the agent gets once the budget allows the call */
export function askToRaise(
  exceeded: Exclude<Exceeded, 'unpriced'>,
  state: BudgetState,
  agent: string,
  then: RemoteReply | undefined,
): RemoteAsk {
  const { subject, subject_id: id, name, window } = state;
  const whose = subject === 'run' ? 'this run' : `the ${subject} ${name ?? ''}`.trim();
  return {
    title: `Raise the budget of ${whose}?`,
    description: `${budgetSentence(exceeded, state)}. A call of the agent ${agent} waits for the decision.`,
    subject: { budget: { ...state, owner_id: undefined }, exceeded },
    form_schema: {
      type: 'object',
      required: ['amount'],
      properties: {
        amount: {
          type: 'number',
          exclusiveMinimum: 0,
          maximum: 1e12,
          title: `By how much (${UNITS[exceeded]})`,
        },
      },
    },
    decisions: [
      {
        id: RAISE_ONCE,
        label: window === null ? 'Raise' : 'Raise until it begins anew',
        requires_comment: false,
      },
      ...(window === null ? [] : [{ id: RAISE, label: 'Raise for good', requires_comment: false }]),
      { id: 'reject', label: 'Do not raise', requires_comment: false },
    ],
    candidates: candidatesOf(state),
    remote: {
      task_id: `budget:${id}`,
      context_id: '',
      answer: { as: 'data' },
      mark: `budget:${id}`,
      budget: { subject_id: id, exceeded, ...(then ? { then } : {}) },
    },
  };
}

/** Those who may raise it; nobody means the run's owner. */
function candidatesOf({ subject, owner_id: owner }: BudgetState): NonNullable<RemoteAsk['candidates']> {
  const nobody = { users: [], roles: [], groups: [] };
  if (subject === 'run') return nobody;
  if (subject === 'user' || owner === null) return { ...nobody, roles: ['admin'] };
  return { ...nobody, users: [owner] };
}

/** Raises the budget once, however many calls bring the decision. @throws Fault if the decision is not to */
export async function raiseAsDecided(
  em: EntityManager,
  runId: string,
  { decision, remote }: RemoteReply,
): Promise<void> {
  const { budget } = remote;
  if (!budget?.question || decision === null || decision.decision === ASK_AGAIN) return;
  const state = await readBudget(em, budget.subject_id);
  if (!state) return;
  if (decision.decision === 'reject') throw budgetFault(budget.exceeded, state);
  const amount = isRecord(decision.payload) ? decision.payload['amount'] : undefined;
  if (typeof amount !== 'number' || !(amount > 0)) throw budgetFault(budget.exceeded, state);
  const by = { [budget.exceeded]: budget.exceeded === 'cost_usd' ? amount : Math.ceil(amount) };
  const lasting = decision.decision === RAISE || state.window === null;
  await em.transactional(async (tx) => {
    const first = await tx.execute<object[]>(
      `insert into budget_raise (run_id, task_id) values (?, ?::uuid)
       on conflict do nothing returning task_id`,
      [runId, budget.question],
    );
    if (first.length > 0) await raiseNow(tx, state, { by, lasting });
  });
}
