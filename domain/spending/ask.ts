/** A budget that asks: a human task for those who may raise it, and what follows from their decision. */
import type { RemoteAsk, RemoteReply } from '../../contracts/activities.ts';
import type { Exceeded } from '../../contracts/budgets.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { EntityManager } from '../../db/orm.ts';
import { budgetFault, budgetSentence, raiseNow, readBudget, type BudgetState } from './budgets.ts';
import { endQuestion } from './questions.ts';

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
    subject: { budget: { ...state, owner_id: undefined, team_id: undefined }, exceeded },
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

/** How long a call waits for the question of another run, at most, before it looks again itself. */
const LOOK_MS = 15 * 60_000;

/** The same for a call of a run that waits, because another run asks. */
export function waitToRaise(ask: RemoteAsk, state: BudgetState, key: string): RemoteAsk {
  const { remote } = ask;
  if (!remote.budget) throw new Error('no question about a budget');
  const look = Date.now() + LOOK_MS;
  const anew = state.window_to === null ? look : Math.max(Date.now() + 1_000, Date.parse(state.window_to));
  const waits = { key, until: new Date(Math.min(look, anew)).toISOString() };
  return { ...ask, remote: { ...remote, budget: { ...remote.budget, waits } } };
}

/** Those who may raise it; nobody means the run's owner. */
function candidatesOf({
  subject,
  owner_id: owner,
  team_id: team,
}: BudgetState): NonNullable<RemoteAsk['candidates']> {
  const nobody = { users: [], roles: [], groups: [] };
  if (subject === 'run') return nobody;
  if (team !== null) return { ...nobody, teams: [team] };
  if (subject === 'user' || owner === null) return { ...nobody, roles: ['admin'] };
  return { ...nobody, users: [owner] };
}

/**
 * Raises the budget once, however many calls bring the decision, and ends the question. `deliver` sends
 * signals. @throws Fault if the decision is not to
 */
export async function raiseAsDecided(
  em: EntityManager,
  runId: string,
  { decision, remote }: RemoteReply,
  deliver: (signals: string[]) => Promise<unknown>,
): Promise<void> {
  const { budget } = remote;
  if (!budget?.question || decision === null || decision.decision === ASK_AGAIN) return;
  const { question, subject_id: subjectId } = budget;
  const state = await readBudget(em, subjectId);
  if (!state) return;
  const amount = isRecord(decision.payload) ? decision.payload['amount'] : undefined;
  const isRaised = decision.decision !== 'reject' && typeof amount === 'number' && amount > 0;
  if (!isRaised) {
    await deliver(
      await once(em, runId, question, (tx) => endQuestion(tx, subjectId, runId, { rejected: true })),
    );
    throw budgetFault(budget.exceeded, state);
  }
  const by = { [budget.exceeded]: budget.exceeded === 'cost_usd' ? amount : Math.ceil(amount) };
  const lasting = decision.decision === RAISE || state.window === null;
  await deliver(
    await once(em, runId, question, async (tx) => [
      ...(await raiseNow(tx, state, { by, lasting })),
      ...(await endQuestion(tx, subjectId, runId)),
    ]),
  );
}

/** Does it with the first call that brings the decision of this human task. */
function once(
  em: EntityManager,
  runId: string,
  question: string,
  work: (tx: EntityManager) => Promise<string[]>,
): Promise<string[]> {
  return em.transactional(async (tx) => {
    const first = await tx.execute<object[]>(
      `insert into budget_raise (run_id, task_id) values (?, ?::uuid)
       on conflict do nothing returning task_id`,
      [runId, question],
    );
    return first.length > 0 ? work(tx) : [];
  });
}
