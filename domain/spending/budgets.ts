/**
 * Budgets (docs/budgets.md): what a call may use is reserved in all budgets that bear it before the call, and
 * settled after it. The SQL functions `hold_budgets` and `settle_budgets` do it in one statement each.
 */
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { arrayLiteral, Conditions, type KeysetPage } from '../../db/sql.ts';
import {
  BUDGET_SUBJECTS,
  EXCEEDABLE,
  MAX_COUNT,
  MAX_USD,
  type Budget,
  type BudgetSubject,
  type Exceeded,
} from '../../contracts/budgets.ts';
import { Fault } from '../../contracts/fault.ts';
import { tokensOf } from './cost.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { mayChange, maySee, teamsWith, type Held as Holding } from '../auth/ownership.ts';
import type { Usage } from '../ports.ts';
import { wakeCalls } from './questions.ts';
import { conflict, notFound } from '../errors.ts';

/** US dollars, tokens and invocations. */
type Amounts = Record<(typeof EXCEEDABLE)[number], number>;

/** A budget with what is used of it. */
export interface BudgetState {
  subject: BudgetSubject;
  subject_id: string;
  /** Null: the subject does not exist any more. */
  name: string | null;
  owner_id: string | null;
  /** That holds the agent or workflow. */
  team_id: string | null;
  limits: { [Name in keyof Amounts]: number | null };
  on_exceed: 'stop' | 'ask';
  window: string | null;
  /** Null: it begins with the first call. */
  window_from: string | null;
  /** Null: it never ends, or has not begun. */
  window_to: string | null;
  used: Amounts;
  /** Calls of unknown cost among the used invocations. */
  unpriced: number;
  /** By calls under way. */
  reserved: Amounts;
  /** By which it is raised for this window. */
  raised: Amounts;
}

export interface Hold {
  runId: string;
  key: string;
  /** As the attempt has claimed the key. */
  claim: number;
  agentId: string;
  /** Null: nobody knows the price. */
  costUsd: number | null;
  tokens: number;
  /** The amounts are not the most that the call can use. */
  estimated: boolean;
}

export type Held =
  { closed: true } | { overtaken: true } | { held: number } | { exceeded: Exceeded; budget: BudgetState };

const HOLD = new Prepared(
  'select hold_budgets(?::uuid, ?, ?::uuid, ?::numeric, ?::bigint, ?::boolean, ?::int) as held',
);

/** Reserves what the call may use in all budgets, or in none. */
export async function holdBudgets(em: EntityManager, hold: Hold): Promise<Held> {
  const [row] = await HOLD.execute<{
    held: Exclude<Held, { exceeded: Exceeded }> | { exceeded: Exceeded; budget: { subject_id: string } };
  }>(em, [hold.runId, hold.key, hold.agentId, hold.costUsd, hold.tokens, hold.estimated, hold.claim]);
  if (!row) return { closed: true };
  if (!('exceeded' in row.held)) return row.held;
  const { exceeded, budget } = row.held;
  const state = await readBudget(em, budget.subject_id);
  if (!state) throw new Error('the budget was removed meanwhile');
  return { exceeded, budget: state };
}

/** What a call has used. `tokens` null: what was reserved. `costUsd` null: nobody knows. */
export interface Spent {
  costUsd: number | null;
  tokens: number | null;
}

/** Of a call whose end nobody has seen, and which its provider may charge for: what was reserved. */
export const AS_HELD: Spent = { costUsd: null, tokens: null };

/** By what the usage itself says. */
export function spentBy(usage: Usage | undefined): Spent {
  const [input, output] = tokensOf(usage);
  const { cost_usd: cost } = usage ?? {};
  const known = typeof cost === 'number' && cost > 0 ? cost : input + output > 0 ? null : 0;
  return { costUsd: known, tokens: input + output };
}

/** SQL: books what the call of `stored` (run_id, key) has used; values of `settleValues`. */
export const SETTLE = 'settle_budgets(run_id, key, ?::numeric, ?::bigint)';
export const settleValues = ({ costUsd, tokens }: Spent): (number | null)[] => [costUsd, tokens];

/**
 * Books a call that ended without an answer at what was reserved for it, unless another attempt than that of
 * `claim` has the key: what is held is for that one then.
 */
export async function settleAsHeld(
  em: EntityManager,
  runId: string,
  key: string,
  claim: number | null = null,
): Promise<void> {
  await em.execute(
    `with own as materialized (
       select 1 from invocation where run_id = ? and key = ? and claims = ? for share)
     select settle_budgets(?::uuid, ?, null, null) where ?::int is null or exists (select from own)`,
    [runId, key, claim, runId, key, claim],
  );
}

/** A call whose worker was lost, and that is made again. */
export interface LostCall {
  runId: string;
  key: string;
  /** As the attempt that makes it again has claimed the key. */
  claim: number;
  /** JSON pointer. */
  task: string;
  agentId: string;
  agentVersion: string;
  model: string | null;
  /** By the estimate. */
  usage: { input_tokens: number; output_tokens: number };
  /** Null: nobody knows. */
  costUsd: number | null;
  /** Budgets bear it: it was made only if they hold something for it. */
  budgeted: boolean;
}

/**
 * Books a call that a kill cut off and that is made again, since its provider may charge for both: in budgets
 * what was reserved, in the usage what would be. `lost` in its usage marks it. @returns false if the
 * call was not made
 */
export async function bookLostCall(em: EntityManager, call: LostCall): Promise<boolean> {
  const { runId, key, claim, task, agentId, agentVersion, model, usage, costUsd, budgeted } = call;
  const counts = { ...usage, cost_usd: costUsd, lost: 1, ...(costUsd === null ? { unpriced: 1 } : {}) };
  return em.transactional(async (tx) => {
    // A later attempt has booked it, and what is held is for that one.
    const isOwn = 'select from invocation where run_id = ? and key = ? and claims = ? for share';
    if ((await tx.execute<object[]>(isOwn, [runId, key, claim])).length === 0) return false;
    const booked = await tx.execute<object[]>(
      `insert into usage_record (id, run_id, user_id, workflow_id, task, agent_id, agent_version, usage,
                                 model, input_tokens, output_tokens, cost_usd)
       select gen_random_uuid(), id, owner_id, workflow_id, ?, ?, ?, ?::jsonb, ?, ?, ?, ?::numeric
         from run
        where id = ?
          and (not ?::boolean or exists (select from budget_hold where run_id = run.id and key = ?))
       returning 1`,
      [
        task,
        agentId,
        agentVersion,
        JSON.stringify(counts),
        model,
        usage.input_tokens,
        usage.output_tokens,
        costUsd,
        runId,
        budgeted,
        key,
      ],
    );
    await settleAsHeld(tx, runId, key);
    return booked.length > 0;
  });
}

/** The most tokens and US dollars of the latest calls of the agent. */
export async function latestTokens(
  em: EntityManager,
  agentId: string,
): Promise<{ input: number; output: number; cost: number }> {
  const [row] = await em.execute<{ input: string | null; output: string | null; cost: string | null }[]>(
    `select max(input_tokens) as input, max(output_tokens) as output, max(cost_usd) as cost
       from (select input_tokens, output_tokens, cost_usd from usage_record
              where agent_id = ? order by at desc limit 20) latest`,
    [agentId],
  );
  return {
    input: Number(row?.input ?? 0),
    output: Number(row?.output ?? 0),
    cost: Number(row?.cost ?? 0),
  };
}

/** SQL: 0 once the window has ended. */
const inWindow = (column: string): string =>
  `(case when b.window_to <= clock_timestamp() then 0 else b.${column} end)`;
const amounts = (column: (name: string) => string): string =>
  `json_build_object(${EXCEEDABLE.map((name) => `'${name}', ${column(name)}`).join(', ')})`;

const STATE = `select b.subject, b.subject_id, b.subject_id as id,
    coalesce(a.name, w.name, u.username, r.workflow_name) as name,
    coalesce(a.owner_id, w.owner_id, u.id, r.owner_id) as owner_id,
    coalesce(a.team_id, w.team_id) as team_id,
    ${amounts((name) => `b.max_${name}`)} as limits, b.on_exceed, b.window_length as "window",
    case when b.window_to > clock_timestamp() then b.window_from end as window_from,
    case when b.window_to > clock_timestamp() then b.window_to end as window_to,
    ${amounts((name) => inWindow(`used_${name}`))} as used,
    ${inWindow('used_unpriced')}::int as unpriced,
    ${amounts((name) => `b.held_${name}`)} as reserved,
    ${amounts((name) => inWindow(`more_${name}`))} as raised
  from budget b
  left join agent a on b.subject = 'agent' and a.id = b.subject_id
  left join workflow w on b.subject = 'workflow' and w.id = b.subject_id
  left join user_account u on b.subject = 'user' and u.id = b.subject_id
  left join run r on b.subject = 'run' and r.id = b.subject_id`;

type StateRow = Omit<BudgetState, 'window_from' | 'window_to'> & {
  id: string;
  window_from: Date | null;
  window_to: Date | null;
};

function stateOfRow({ id: _id, window_from: from, window_to: to, ...row }: StateRow): BudgetState {
  const time = (value: Date | null): string | null => (value === null ? null : new Date(value).toISOString());
  return { ...row, window_from: time(from), window_to: time(to) };
}

export async function readBudget(em: EntityManager, subjectId: string): Promise<BudgetState | null> {
  const [row] = await em.execute<StateRow[]>(`${STATE} where b.subject_id = ?`, [subjectId]);
  return row ? stateOfRow(row) : null;
}

/** SQL: the ids of one's own subjects that have a budget, each by an index. Values: owner, after, limit. */
const OWN: Record<BudgetSubject, string> = {
  agent: `(select id from agent
            where owner_id = ? and team_id is null and budget is not null and id > ? order by id limit ?)`,
  workflow: `(select id from workflow
               where owner_id = ? and team_id is null and budget is not null and id > ?
               order by id limit ?)`,
  user: `(select id from user_account where id = ? and budget is not null and id > ? limit ?)`,
  run: `(select id from run where owner_id = ? and budget_id = id and id > ? order by id limit ?)`,
};
/** The same of teams. Values: their ids, after, limit. */
const OF_TEAMS: Partial<Record<BudgetSubject, string>> = {
  agent: `(select id from agent
            where team_id = any(?::uuid[]) and budget is not null and id > ? order by id limit ?)`,
  workflow: `(select id from workflow
               where team_id = any(?::uuid[]) and budget is not null and id > ? order by id limit ?)`,
};
const FIRST = '00000000-0000-0000-0000-000000000000';

/** Budgets of what the actor and their teams hold, of the actor's runs and account; admins see all. By id. */
export async function listBudgets(
  em: EntityManager,
  actor: Actor,
  filter: { subject?: BudgetSubject | undefined },
  { after = FIRST, limit }: KeysetPage,
): Promise<(BudgetState & { id: string })[]> {
  const where = new Conditions();
  if (isAdmin(actor)) {
    where.add('b.subject_id > ?', after);
    if (filter.subject !== undefined) where.add('b.subject = ?', filter.subject);
  } else {
    const subjects = filter.subject === undefined ? BUDGET_SUBJECTS : [filter.subject];
    const own = subjects.map((subject) => ({ sql: OWN[subject], of: actor.id }));
    const teams = teamsWith(actor, 'viewer');
    const ofTeams = subjects.flatMap((subject) => {
      const sql = teams.length > 0 ? OF_TEAMS[subject] : undefined;
      return sql === undefined ? [] : [{ sql, of: arrayLiteral(teams) }];
    });
    const parts = [...own, ...ofTeams];
    const ids = parts.map(({ sql }) => sql).join(' union all ');
    const values = parts.flatMap(({ of }) => [of, after, limit]);
    where.add(`b.subject_id in (select o.id from (${ids}) o order by o.id limit ?)`, ...values, limit);
  }
  const rows = await em.execute<StateRow[]>(`${STATE} where ${where.sql} order by b.subject_id limit ?`, [
    ...where.values,
    limit,
  ]);
  return rows.map((row) => ({ ...stateOfRow(row), id: row.id }));
}

/** @throws 404 if there is none, or if it is neither the actor's nor a team's of theirs, except for admins */
export async function getBudget(em: EntityManager, actor: Actor, subjectId: string): Promise<BudgetState> {
  const state = await readBudget(em, subjectId);
  if (!state || !maySee(actor, { ...heldOf(state), visibility: 'private' })) throw notFound('budget');
  return state;
}

/** Whether the actor may raise it: who may change the subject, for the budget of a user an admin. */
export function mayRaise(actor: Actor, state: BudgetState): boolean {
  return isAdmin(actor) || (state.subject !== 'user' && mayChange(actor, heldOf(state)));
}

/** An agent or workflow that is gone is nobody's. */
function heldOf({ owner_id: owner, team_id }: BudgetState): Holding {
  return { owner_id: owner ?? '', team_id };
}

export interface Raise {
  by: Partial<Amounts>;
  /** Else for this window. */
  lasting: boolean;
}

/** Raises limits that the budget has. @throws 409 for one that it lacks */
export async function raiseBudget(
  em: EntityManager,
  actor: Actor,
  state: BudgetState,
  raise: Raise,
): Promise<BudgetState> {
  const missing = EXCEEDABLE.find((name) => raise.by[name] !== undefined && state.limits[name] === null);
  if (missing) throw conflict('no_such_limit', `The budget has no limit of ${missing}.`);
  // The reconciler delivers the signals.
  await raiseNow(em, state, raise);
  return getBudget(em, actor, state.subject_id);
}

const TABLES = { agent: 'agent', workflow: 'workflow', user: 'user_account' } as const;

/** The most that a budget can be raised to, as the most that it can be set to. */
const MOST: Amounts = { cost_usd: MAX_USD, tokens: MAX_COUNT, invocations: MAX_COUNT };

/**
 * In a transaction: locks the subject before its budget, as every change of it does. @returns signals to
 * deliver, for calls that wait
 */
export async function raiseNow(
  em: EntityManager,
  { subject, subject_id: id }: Pick<BudgetState, 'subject' | 'subject_id'>,
  { by, lasting }: Raise,
): Promise<string[]> {
  const given = EXCEEDABLE.filter((name) => (by[name] ?? 0) > 0);
  if (given.length === 0) return [];
  if (lasting && subject !== 'run') {
    const sums = given.map(
      (name) => `'max_${name}', least((budget ->> 'max_${name}')::numeric + ?::numeric, ${MOST[name]})`,
    );
    await em.execute(
      `update ${TABLES[subject]}
          set budget = budget || jsonb_build_object(${sums.join(', ')}), updated_at = clock_timestamp()
        where id = ? and budget is not null`,
      [...given.map((name) => by[name]), id],
    );
    return wakeCalls(em, id);
  }
  await em.execute('select from budget where subject_id = ? for update', [id]);
  await em.execute('select roll_budget(?::uuid)', [id]);
  const column = lasting ? 'max' : 'more';
  const sums = given.map((name) => {
    const sum = `${column}_${name}`;
    return `${sum} = least(${sum} + ?::numeric, ${MOST[name]})`;
  });
  await em.execute(`update budget set ${sums.join(', ')} where subject_id = ?`, [
    ...given.map((name) => by[name]),
    id,
  ]);
  return wakeCalls(em, id);
}

/** Stores the budget of a new run. */
export async function addRunBudget(em: EntityManager, id: string, budget: Budget): Promise<void> {
  await em.execute(
    `insert into budget (subject_id, subject, max_cost_usd, max_tokens, max_invocations, window_length,
                         on_exceed)
     values (?, 'run', ?, ?, ?, ?, ?)`,
    [
      id,
      budget.max_cost_usd ?? null,
      budget.max_tokens ?? null,
      budget.max_invocations ?? null,
      budget.window ?? null,
      budget.on_exceed ?? 'stop',
    ],
  );
}

/** The type of the error of an exceeded budget. */
const BUDGET_ERROR = 'urn:cadenza:error:budget';

const UNITS = { cost_usd: 'US dollars', tokens: 'tokens', invocations: 'invocations' } as const;

/** Which budget, its limit, what is used, and when it begins anew. */
export function budgetSentence(exceeded: Exceeded, state: BudgetState): string {
  const { subject, name, limits, raised, used, reserved, window_to: until } = state;
  const whose = subject === 'run' ? 'the run' : `the ${subject} ${name ?? ''}`.trim();
  if (exceeded === 'unpriced')
    return (
      `The budget of ${whose} limits the cost, and nobody knows the price of this model: ` +
      'an admin adds it to the prices, or "price" in the configuration of the agent states it'
    );
  const limit = (limits[exceeded] ?? 0) + raised[exceeded];
  const held = reserved[exceeded] > 0 ? `, ${reserved[exceeded]} reserved by calls under way` : '';
  const end = until === null ? '' : `. It begins anew at ${until}`;
  return (
    `The budget of ${whose} does not allow the call: ${used[exceeded]} of ${limit} ${UNITS[exceeded]} ` +
    `used${held}${end}`
  );
}

export function budgetFault(exceeded: Exceeded, state: BudgetState): Fault {
  const detail = budgetSentence(exceeded, state);
  return new Fault({ type: BUDGET_ERROR, status: 402, title: 'Budget Exceeded', detail });
}
