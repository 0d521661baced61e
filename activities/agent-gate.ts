/**
 * What every call of an agent passes (docs/budgets.md, docs/agents.md#limits): its turn, if the agent has
 * limits, and the budgets that bear it. A call without any costs no statement here.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { InvocationRef, Invoked, RemoteAsk, RemoteReply, WithBatch } from '../contracts/activities.ts';
import type { AgentLimits } from '../contracts/agent-limits.ts';
import { Fault, fault } from '../contracts/fault.ts';
import { LOG_TEXT } from '../contracts/log-texts.ts';
import { EVENT, type NewRunEvent } from '../contracts/run-events.ts';
import { patiently } from '../db/patiently.ts';
import { standardErrorName } from '../contracts/dsl-error.ts';
import type { PinnedAgent, Usage } from '../domain/ports.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import {
  endTurn,
  holdForRun,
  isAgentFailure,
  LEASE_MS,
  renewTurn,
  takeTurn,
  unclaim,
  type Turn,
  type TurnState,
} from '../domain/registry/agent-turns.ts';
import { appendEvents } from '../domain/runs/events.ts';
import { progressOf } from '../domain/runs/invocations.ts';
import { askToRaise, raiseAsDecided, waitToRaise } from '../domain/spending/ask.ts';
import {
  AS_HELD,
  bookLostCall,
  budgetFault,
  holdBudgets,
  readBudget,
  settleAsHeld,
  type BudgetState,
  type Spent,
} from '../domain/spending/budgets.ts';
import { asksFor, endQuestion, endWait } from '../domain/spending/questions.ts';
import type { Exceeded } from '../contracts/budgets.ts';
import { FileStoreUnavailable } from '../domain/files/ports.ts';
import { costOf, tokensOf, type CallPrice } from '../domain/spending/cost.ts';
import { estimateOf } from '../domain/spending/estimate.ts';
import type { CallRules } from '../domain/spending/rules.ts';
import { priceOf } from '../domain/spending/prices.ts';
import type { CallDeps } from './deps.ts';
import { overtaken } from './under-way.ts';

export interface GatedCall extends WithBatch, InvocationRef {
  input: unknown;
  timeout_ms: number;
  reply?: RemoteReply;
  turn?: unknown;
  entry?: true;
}

/** What an earlier attempt of the call has left behind, of which nobody knows how it ended. */
export interface Earlier {
  /** There was one. */
  isRepeat: boolean;
  /** The call is made again, unless it can be followed. */
  isMadeAgain: boolean;
}

/** One call, by its invocation's key. */
interface Row {
  runId: string;
  key: string;
  /** As this attempt has claimed the key. */
  claim: number;
}

/** How often a waiting call asks again, at least and at most. */
const ASK_AGAIN_MS = { least: 200, most: 5_000 };
const RENEW_MS = LEASE_MS / 3;

type GateDeps = Pick<CallDeps, 'orm' | 'logger' | 'prices' | 'temporal'>;

export class AgentGate {
  readonly #deps: GateDeps;
  readonly #input: GatedCall;
  #agent: PinnedAgent | null = null;
  #rules: CallRules | null = null;
  #turn: Turn | null = null;
  #renewing: NodeJS.Timeout | undefined;
  #usage: Usage | undefined;
  #began = new Date();
  #enteredMs = performance.now();
  #isUnseen = false;
  #isBusy = false;
  #isRun = false;
  /** Budgets hold something for the call, so its outcome is stored with what it has used. */
  holds = false;

  constructor(deps: GateDeps, input: GatedCall) {
    this.#deps = deps;
    this.#input = input;
  }

  /**
   * The answer that the agent gets. A question about a budget is not its own; if nobody answers it any more,
   * nobody answers the agent's question behind it.
   */
  get reply(): RemoteReply | undefined {
    const { reply } = this.#input;
    const budget = reply?.remote.budget;
    if (!reply || !budget?.then) return budget ? undefined : reply;
    return reply.decision === null ? { ...budget.then, decision: null } : budget.then;
  }

  /**
   * Admits the call. @returns what it ends with instead; null: it is made. @throws Fault if it is refused,
   * ApplicationFailure if it waits for its turn
   */
  async enter(row: Row, agent: PinnedAgent, rules: CallRules, earlier: Earlier): Promise<Invoked | null> {
    this.#agent = agent;
    this.#rules = rules;
    this.#began = new Date();
    this.#enteredMs = performance.now();
    const { reply } = this.#input;
    const budget = reply?.remote.budget;
    if (reply && budget) await this.#takeAnswer(row, reply, budget);
    // Nothing is called, only told that nobody waits any more.
    if (reply?.decision === null) return budget && !budget.then ? { output: null } : null;
    const wasLost = earlier.isMadeAgain && (await this.#bookLost(row, agent));
    const isRepeat = earlier.isRepeat && !wasLost;
    if (rules.limits) await this.#takeTurn({ ...row, agentId: agent.id, limits: rules.limits }, isRepeat);
    if (!rules.budgeted) return null;
    return this.#hold(row, agent);
  }

  /** What came of the question about a budget. @throws Fault if people have refused to raise it */
  async #takeAnswer(
    { runId }: Row,
    reply: RemoteReply,
    { subject_id: subjectId, exceeded, waits }: NonNullable<RemoteReply['remote']['budget']>,
  ): Promise<void> {
    const em = this.#deps.orm.em.fork();
    const deliver = (signals: string[]): Promise<unknown> => deliverSignals(this.#deps, signals);
    if (waits) {
      const refused = await endWait(em, { runId, key: waits.key });
      const state = refused === subjectId ? await readBudget(em, subjectId) : null;
      if (state && reply.decision !== null) throw budgetFault(exceeded, state);
    } else if (reply.decision === null)
      await deliver(await em.transactional((tx) => endQuestion(tx, subjectId, runId)));
    else await raiseAsDecided(em, runId, reply, deliver);
  }

  /** @returns false if the call can be followed, or was not made, such as one that asked for its budget */
  async #bookLost({ runId, key, claim }: Row, agent: PinnedAgent): Promise<boolean> {
    const em = this.#deps.orm.em.fork();
    if ((await progressOf(em, runId, key)) !== null) return false;
    const { input, turn, task } = this.#input;
    const price = await this.#price(undefined);
    const { usage, costUsd } = await estimateOf(em, agent, turn ? null : { value: input }, price);
    const { id: agentId, version: agentVersion } = agent;
    const { model } = agent.configuration;
    const of = {
      runId,
      key,
      claim,
      task,
      agentId,
      agentVersion,
      model: typeof model === 'string' ? model : null,
    };
    const budgeted = this.#rules?.budgeted ?? false;
    if (!(await bookLostCall(em, { ...of, usage, costUsd, budgeted }))) return false;
    const { attempt } = Context.current().info;
    // A call without tokens, price or budget adds nothing that anybody pays for.
    const isCounted = budgeted || (costUsd ?? 0) > 0 || usage.input_tokens + usage.output_tokens > 0;
    const text = LOG_TEXT.agentWarning.callLost(this.#input.name, agent.name, isCounted);
    await this.#log(EVENT.agentWarning, 'warn', text, attempt);
    return true;
  }

  async #renew(turn: Turn & Row): Promise<void> {
    const { orm, logger } = this.#deps;
    // Once the lease has ended, another call may have the turn as well.
    await renewTurn(orm.em.fork(), turn).catch((error: unknown) =>
      logger.warn({ err: error, run_id: turn.runId }, 'cannot renew the turn of a call'),
    );
  }

  async #takeTurn(turn: Turn & Row, isRepeat: boolean): Promise<void> {
    const { orm } = this.#deps;
    const state = await takeTurn(orm.em.fork(), turn);
    if (state.state === 'calling') {
      this.#turn = turn;
      this.#renewing = setInterval(() => void this.#renew(turn), RENEW_MS);
      return;
    }
    if (state.state === 'open') throw this.#circuitFault(state, turn.limits);
    const limit = limitOf(turn.limits, state);
    const leftMs = this.#input.timeout_ms - this.#waitedMs();
    if (leftMs <= 0) {
      await endTurn(orm.em.fork(), turn, null);
      throw fault(
        'timeout',
        `The agent ${this.#name} allows ${limit}: the call waited for its turn until its timeout of ` +
          `${this.#input.timeout_ms / 1000} s`,
      );
    }
    if (!isRepeat) await unclaim(orm.em.fork(), turn);
    await this.#log(EVENT.agentWaits, 'info', LOG_TEXT.agentWaits(this.#input.name, this.#name, limit));
    const rounds = 1 + state.ahead / (turn.limits.concurrency ?? 1);
    const byPlace = Math.min(ASK_AGAIN_MS.least * rounds, ASK_AGAIN_MS.most);
    const delayMs = Math.min(Math.max(state.wait_ms, state.wait_ms > 0 ? 1 : byPlace), leftMs);
    throw ApplicationFailure.create({
      type: 'AgentLimit',
      message: `The call waits for its turn: the agent ${this.#name} allows ${limit}`,
      nextRetryDelay: Math.max(1, Math.ceil(delayMs)),
      category: ApplicationFailureCategory.BENIGN,
    });
  }

  /** Since the call was scheduled, by the server's clock and the time since: this machine's may be wrong. */
  #waitedMs(): number {
    const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = Context.current().info;
    return currentAttemptScheduledTimestampMs - scheduledTimestampMs + performance.now() - this.#enteredMs;
  }

  #circuitFault({ since, failures, trial_at }: TurnState & { state: 'open' }, limits: AgentLimits): Fault {
    const openFor = limits.breaker?.open_for ?? null;
    return fault(
      'communication',
      `The agent ${this.#name} is not called: it has failed ${failures} times, and its circuit breaker is ` +
        `open since ${new Date(since).toISOString()}. A call may try it from ` +
        `${new Date(trial_at).toISOString()} on${openFor === null ? '' : ` (open_for: ${openFor} s)`}`,
      { status: 503, title: 'Circuit Open' },
    );
  }

  async #hold(row: Row, agent: PinnedAgent): Promise<Invoked | null> {
    const em = this.#deps.orm.em.fork();
    const price = await this.#price(undefined);
    const { input, turn } = this.#input;
    const { usage: _usage, ...estimate } = await estimateOf(em, agent, turn ? null : { value: input }, price);
    const held = await holdBudgets(em, { ...row, agentId: agent.id, ...estimate });
    if ('held' in held) {
      this.holds = held.held > 0;
      return null;
    }
    // The turn is of the attempt that has overtaken this one, as it has the same key.
    if ('overtaken' in held) throw overtaken();
    await this.#endTurn(null);
    // The run has ended; its end is what the activity finds.
    if ('closed' in held) throw ApplicationFailure.retryable('The run is over', 'RunOver');
    const { exceeded, budget } = held;
    if (budget.on_exceed === 'stop' || exceeded === 'unpriced') throw budgetFault(exceeded, budget);
    return { output: null, ask: await this.#askFor(row, exceeded, budget, agent) };
  }

  /** The question; or the wait for that of another run. */
  async #askFor(
    { runId, key }: Row,
    exceeded: Exclude<Exceeded, 'unpriced'>,
    budget: BudgetState,
    agent: PinnedAgent,
  ): Promise<RemoteAsk> {
    const ask = askToRaise(exceeded, budget, agent.name, this.reply);
    const waitKey = this.#input.reply?.remote.budget?.waits?.key ?? key;
    const asks = await this.#deps.orm.em
      .fork()
      .transactional((em) => asksFor(em, budget.subject_id, { runId, key: waitKey }));
    return asks ? ask : waitToRaise(ask, budget, waitKey);
  }

  /** What the counterpart says that it has used, before its answer is judged. */
  recordUsage(usage: Usage | undefined): void {
    this.#usage = usage;
  }

  /** An earlier attempt may have made the call, and nobody knows how it ended. */
  markOutcomeUnknown(): void {
    this.#isUnseen = true;
  }

  /** The agent is too busy for this call, which is tried again: its circuit breaker counts that. */
  markBusy(): void {
    this.#isBusy = true;
  }

  /** A run is the call: the turn is that of the run. */
  handTurnToRun(): void {
    this.#isRun = true;
  }

  /** What a call of the agent costs, with the price at the call's beginning. */
  async cost(usage: Usage | undefined): Promise<number | null> {
    return costOf(usage, await this.#price(usage?.model));
  }

  /** The usage with its cost; undefined if there is neither. */
  async priced(usage: Usage | undefined): Promise<Usage | undefined> {
    const cost = await this.cost(usage);
    if (cost === 0 && usage === undefined) return undefined;
    const { cost_usd: _its, unpriced: _own, ...counted } = usage ?? {};
    return { ...counted, cost_usd: cost, ...(cost === null ? { unpriced: 1 } : {}) };
  }

  /** Notes in the fault what the call has used before it. */
  async note(error: Fault): Promise<void> {
    if (this.#usage === undefined || !this.#agent) return;
    const { id: agent_id, version: agent_version } = this.#agent;
    error.spent = { usage: await this.priced(this.#usage), agent_id, agent_version };
  }

  async #price(model: string | undefined): Promise<CallPrice> {
    const { cancellationSignal: signal } = Context.current();
    const version = this.#rules?.pricesVersion ?? 0;
    // Mostly after the call.
    const book = await patiently(() => this.#deps.prices.book(version), { signal });
    return priceOf(this.#agent?.configuration ?? {}, model, { book, at: this.#began });
  }

  /** What the call has used that ended with an answer, or with this fault. */
  async spent(error: unknown): Promise<Spent | undefined> {
    if (!this.holds) return undefined;
    const [input, output] = tokensOf(this.#usage);
    // The provider may charge for a call although nobody waited for its answer.
    if ((isTimeout(error) || this.#isUnseen) && this.#usage === undefined) return AS_HELD;
    const failed = (error !== null || this.#isBusy) && this.#usage === undefined;
    return { costUsd: failed ? 0 : await this.cost(this.#usage), tokens: input + output };
  }

  /** After the outcome is stored, or if there is none. `cancelled`: nobody waits for the call any more. */
  async leave(row: Row, error: unknown, cancelled: boolean): Promise<void> {
    clearInterval(this.#renewing);
    try {
      if (cancelled) {
        if (this.holds) await settleAsHeld(this.#deps.orm.em.fork(), row.runId, row.key, row.claim);
        await this.#endTurn(null);
      } else if (error === null) await this.#endTurn(this.#isBusy);
      else if (error instanceof Fault) await this.#endTurn(isAgentFailure(error.error) || null);
      else if (error instanceof FileStoreUnavailable) await this.#unclaim(row);
      // Else the call is repeated, with the same turn and the same holds.
    } catch (failure) {
      // The lease of the turn ends by itself, and the end of the run settles what is held.
      this.#deps.logger.warn({ err: failure, run_id: row.runId }, 'cannot give back what a call held');
    }
  }

  /** The call goes on outside; whoever stores its outcome books it and gives its turn back. */
  passOn(): void {
    clearInterval(this.#renewing);
    this.#turn = null;
  }

  /** If a run is the call: before the outcome is stored, so no kill comes between. A repeat is harmless. */
  async passToRun(): Promise<void> {
    const turn = this.#turn;
    if (!this.#isRun || !turn) return;
    await holdForRun(this.#deps.orm.em.fork(), turn, this.#input.entry === true);
    this.passOn();
  }

  /** The call was not made: its files could not be read. Its repeat is not a second call. */
  async #unclaim(row: Row): Promise<void> {
    await unclaim(this.#deps.orm.em.fork(), row);
  }

  async #endTurn(failed: boolean | null): Promise<void> {
    clearInterval(this.#renewing);
    const turn = this.#turn;
    this.#turn = null;
    if (!turn) return;
    const circuit = await endTurn(this.#deps.orm.em.fork(), turn, failed);
    if (circuit === null) return;
    const { name } = this.#input;
    if (circuit === 'open')
      await this.#log(EVENT.agentCircuitOpened, 'warn', LOG_TEXT.agentCircuitOpened(name, this.#name));
    else await this.#log(EVENT.agentCircuitClosed, 'info', LOG_TEXT.agentCircuitClosed(name, this.#name));
  }

  get #name(): string {
    return this.#agent?.name ?? '';
  }

  /** Once for `ordinal`. */
  async #log(type: string, level: NewRunEvent['level'], message: string, ordinal?: number): Promise<void> {
    const { run_id: runId, task, visit, attempt } = this.#input;
    const event: NewRunEvent = {
      key: `${task}#${visit}:${type}:${attempt}${ordinal === undefined ? '' : `:${ordinal}`}`,
      type,
      at: new Date().toISOString(),
      level,
      task,
      message,
      data: { visit, agent_id: this.#agent?.id, agent: this.#name },
    };
    await this.#deps.orm.em
      .fork()
      .transactional((em) => appendEvents(em, runId, { events: [event], projection: null, acks: [] }));
  }
}

/** In words, for the log and for errors. */
function limitOf({ concurrency, rate }: AgentLimits, { wait_ms: byRate }: { wait_ms: number }): string {
  if (rate && (byRate > 0 || concurrency === undefined))
    return `${rate.calls} ${rate.calls === 1 ? 'call' : 'calls'} a ${rate.per} (limits.rate)`;
  return `${concurrency} ${concurrency === 1 ? 'call' : 'calls'} at once (limits.concurrency)`;
}

function isTimeout(error: unknown): boolean {
  return error instanceof Fault && standardErrorName(error.error.type) === 'timeout';
}
