import { CancellationScope, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { DslError } from '../../../contracts/dsl-error.ts';
import { MAX_MAP_CONCURRENCY } from '../../../language/definition/call-function.ts';
import type { MapArguments, TaskItem } from '../../../language/definition/model.ts';
import { throwIfCancelled } from '../cancellation.ts';
import { evaluate, resolve, type At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { DslFault, fault, RunLimitFault } from '../fault.ts';
import { pointer } from '../pointer.ts';
import { listFrame, runList } from '../run-list.ts';
import type { MapFrame } from '../state.ts';

const DEFAULT_CONCURRENCY = 10;
/**
 * When the run has to continue in a new execution, no item starts before that. This is the longest that they
 * wait, because calls under way may take days.
 */
const MAX_DRAIN_MS = 60_000;
/** After it has waited that long in vain, it waits again when the history has grown by so many events. */
const DRAIN_AGAIN_EVENTS = 4_000;

/** With `on_error: collect`, what stands for an item in the output. */
type Collected = { ok: true; output: unknown } | { ok: false; error: DslError };

/**
 * `call: map` (docs/interface.md#call-map). Each item has its own `$context`, which ends with the item. An
 * item that ends the workflow, or with `on_error: fail` one that faults, cancels the others.
 */
export async function callMap(
  execution: Execution,
  args: MapArguments,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const frame = (task.frame.map ??= { items: itemsOf(args, input, at), next: 0, open: {}, results: [] });
  const left = frame.items.length - frame.next + Object.keys(frame.open).length;
  const count = Math.min(left, concurrencyOf(args, input, at));
  if (count > 0 && !frame.end) {
    await execution.journal.beforeFork(task.env.strand, count);
    await new MapRun(execution, args, task, frame, input).run(count);
  }
  if (frame.end) return { output: frame.end.output, then: 'end' };
  return { output: [...frame.results] };
}

class MapRun {
  readonly #execution: Execution;
  readonly #args: MapArguments;
  readonly #task: Task;
  readonly #frame: MapFrame;
  readonly #input: unknown;
  /** Items that an earlier execution or run has begun. */
  readonly #begun: number[];
  readonly #scope = new CancellationScope();
  /** The length of history from which on it waits for a new execution. */
  #drainsFrom = 0;
  #failure: Error | undefined;

  constructor(execution: Execution, args: MapArguments, task: Task, frame: MapFrame, input: unknown) {
    this.#execution = execution;
    this.#args = args;
    this.#task = task;
    this.#frame = frame;
    this.#input = input;
    this.#begun = Object.keys(frame.open).map(Number);
  }

  /** Settles when all items under way have settled. @throws the first fault */
  async run(count: number): Promise<void> {
    this.#execution.strands(count - 1);
    try {
      await Promise.all(Array.from({ length: count }, () => this.#inTurn()));
    } finally {
      this.#execution.strands(1);
    }
    // A cancellation of the whole task takes precedence over an item's earlier fault.
    throwIfCancelled();
    if (!this.#frame.end && this.#failure !== undefined) throw this.#failure;
  }

  /** Runs one item after the other, as long as there are any. */
  async #inTurn(): Promise<void> {
    try {
      await this.#scope.run(async () => {
        for (let index = await this.#next(); index !== undefined; index = await this.#next())
          await this.#item(index);
      });
    } catch (error) {
      if (this.#failure === undefined || (isCancellation(this.#failure) && !isCancellation(error)))
        this.#failure = error instanceof Error ? error : new Error('an item failed', { cause: error });
      this.#scope.cancel();
    } finally {
      this.#execution.strands(-1);
    }
  }

  async #next(): Promise<number | undefined> {
    const begun = this.#begun.shift();
    if (begun !== undefined) return begun;
    if (this.#execution.wantsContinueAsNew && workflowInfo().historyLength >= this.#drainsFrom)
      await this.#drain();
    const { items, next, open, results } = this.#frame;
    if (next >= items.length || this.#frame.end) return undefined;
    open[next] = {
      scope: { context: this.#task.env.scope.context },
      list: listFrame(this.#input),
    };
    results[next] = null;
    this.#frame.next++;
    return next;
  }

  /**
   * Waits for the new execution, which begins as soon as nothing of the run is in flight, a batch of events
   * included. An item that started beside that batch would keep the run from it, and so would the next ones.
   */
  async #drain(): Promise<void> {
    const { journal } = this.#execution;
    if (!(await this.#execution.until(() => journal.closed, MAX_DRAIN_MS)))
      this.#drainsFrom = workflowInfo().historyLength + DRAIN_AGAIN_EVENTS;
  }

  async #item(index: number): Promise<void> {
    const item = this.#frame.open[index];
    if (!item) throw new Error(`item ${index} is not open`);
    const { as = 'item', at = 'index', on_error: onError = 'fail' } = this.#args;
    // Validation has checked the tasks.
    const tasks = this.#args.do as TaskItem[];
    const { env, ref } = this.#task;
    let result: unknown;
    try {
      const { output, end } = await runList(this.#execution, tasks, pointer(ref, 'with', 'do'), item.list, {
        ...env,
        scope: item.scope,
        strand: env.strand.branch(),
        variables: { ...env.variables, [as]: this.#frame.items[index], [at]: index },
        items: [...(env.items ?? []), { ref, index }],
      });
      if (end) this.#end(output);
      result = onError === 'collect' ? ({ ok: true, output } satisfies Collected) : output;
    } catch (error) {
      if (!(error instanceof DslFault) || error instanceof RunLimitFault || onError === 'fail') throw error;
      throwIfCancelled();
      result = { ok: false, error: error.error } satisfies Collected;
    }
    this.#frame.results[index] = result;
    // Safe: the index is a number.
    delete this.#frame.open[index];
  }

  #end(output: unknown): void {
    this.#frame.end ??= { output };
    this.#scope.cancel();
  }
}

function itemsOf(args: MapArguments, input: unknown, at: At): unknown[] {
  const { in: source } = args;
  const items = typeof source === 'string' ? evaluate(source, input, at) : resolve(source, input, at);
  if (Array.isArray(items)) return items;
  throw fault(
    'expression',
    `with.in must give an array, not ${items === null ? 'null' : typeof items}`,
    at.ref,
  );
}

function concurrencyOf(args: MapArguments, input: unknown, at: At): number {
  const value = resolve(args.concurrency ?? DEFAULT_CONCURRENCY, input, at);
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_MAP_CONCURRENCY)
    return value;
  throw fault(
    'configuration',
    `with.concurrency must be a whole number from 1 to ${MAX_MAP_CONCURRENCY}`,
    at.ref,
  );
}
