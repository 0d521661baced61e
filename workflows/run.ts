/** A run: handlers first, then the definition, in one workflow; at the end one activity closes the run's row. */
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { EVENT } from '../contracts/run-events.ts';
import type { NewRunEvent, RunEnd, RunStatus, WaitingOn } from '../contracts/run-events.ts';
import { runSignal, runStatusQuery, SEARCH_ATTRIBUTES } from '../contracts/temporal.ts';
import type { RunArgs, RunSignal } from '../contracts/temporal.ts';
import { standardError } from '../contracts/dsl-error.ts';
import type { DslError } from '../contracts/dsl-error.ts';
import { closing, writing } from './interpreter/activities.ts';
import { Execution } from './interpreter/execution.ts';
import { fetchFiles } from './interpreter/fetch-files.ts';
import { DslFault, isRunClosed } from './interpreter/fault.ts';
import { interpret } from './interpreter/interpret.ts';
import { checkpointOf, initialState, stateForRetry, STATE_VERSION } from './interpreter/state.ts';
import type { Checkpoint, RunState } from './interpreter/state.ts';
import { runKind } from './interpreter/tasks/index.ts';
import { receive } from './signals.ts';

const STATUS_KEY = defineSearchAttributeKey(SEARCH_ATTRIBUTES.status, SearchAttributeType.KEYWORD);

export async function run(args: RunArgs): Promise<void> {
  const { start } = args;
  const state = stateOf(args);
  const describe = describer(args);
  const x = new Execution(start, state, {
    runKind,
    shown: (status) => describe(status.status, status.waiting_on),
    url: args.run_url,
    append: (batch) => writing((activities) => activities.appendEvents({ run_id: start.run_id, batch })),
  });
  const work = new CancellationScope();
  setHandler(runSignal, (signal: RunSignal) => receive(x, signal, () => work.cancel()));
  setHandler(runStatusQuery, () => ({ ...x.status(), task: x.status().waiting_on[0]?.task ?? null }));

  if (state.started_at === null) {
    state.started_at = new Date().toISOString();
    x.journal.add(started(x));
  }
  let over = false;
  void CancellationScope.nonCancellable(() => x.journal.flushWhenBlocked(() => over));
  try {
    const end = await Promise.race([finish(x, work), x.quietForContinueAsNew().then(() => null)]);
    if (end === null) await continueAsNew<typeof run>({ ...args, state });
    else await close(x, describe, end);
  } finally {
    over = true;
  }
  if (x.journal.inFlight > 0) await CancellationScope.nonCancellable(() => condition(() => x.journal.inFlight === 0));
}

function stateOf({ start, state }: RunArgs): RunState {
  // Both were made by this code; the version guards against a worker from before.
  const carried = state as RunState | undefined;
  if (carried) {
    if (carried.version !== STATE_VERSION) throw new Error('the carried state is of another version');
    return carried;
  }
  return start.checkpoint ? stateForRetry(start.checkpoint as Checkpoint) : initialState(start.input);
}

async function finish(x: Execution, work: CancellationScope): Promise<{ end: RunEnd; checkpoint?: Checkpoint } | 'closed'> {
  try {
    const body = x.start.fetch_files ? () => fetchFiles(x).then(() => interpret(x)) : () => interpret(x);
    return { end: { status: 'completed', output: await work.run(body) } };
  } catch (error) {
    if (isRunClosed(error) || x.journal.closed) return 'closed';
    if (isCancellation(error)) return { end: { status: 'cancelled' } };
    if (error instanceof DslFault) return { end: { status: 'faulted', error: error.error }, checkpoint: checkpointOf(x.state) };
    throw error;
  }
}

/** The run's last activity, whatever was cancelled before. */
async function close(x: Execution, describe: Describe, result: Awaited<ReturnType<typeof finish>>): Promise<void> {
  if (result === 'closed') return;
  const { end, checkpoint } = result;
  await CancellationScope.nonCancellable(async () => {
    await x.journal.drain();
    const event = ended(x, end);
    describe(end.status, [], end.error);
    await x.journal.carry(
      (batch) =>
        closing((activities) =>
          activities.endRun({ run_id: x.start.run_id, batch, end, ...(checkpoint === undefined ? {} : { checkpoint }) }),
        ),
      [event],
    );
  });
}

type Describe = (status: RunStatus, waits: WaitingOn[], error?: DslError | null) => void;

/** What people see in Temporal UI: the status to filter by, and in Markdown what the run waits for or ended with. */
function describer({ search_attributes: attributes = false, state }: RunArgs): Describe {
  // A new run's is set by who starts it.
  let known: RunStatus | null = state === undefined ? 'running' : null;
  return (status, waits, error) => {
    if (attributes && status !== known) upsertSearchAttributes([{ key: STATUS_KEY, value: status }]);
    known = status;
    const lines = waits.map(({ kind, task, until }) => `- \`${task}\` waits for ${kind === 'human' ? 'a person' : `a ${kind}`}${until ? ` until ${until}` : ''}`);
    if (error) lines.push(`- \`${error.instance ?? ''}\` ${error.title ?? error.type}: ${error.detail ?? ''}`);
    setCurrentDetails([`**${status}**`, ...lines].join('\n'));
  };
}

function started(x: Execution): NewRunEvent {
  const { name, namespace, version } = x.definition.document;
  const startedAt = x.state.started_at;
  return x.event(EVENT.runStarted, 'started', `Run of ${x.start.name} started`, {
    data: { name: x.qualifiedName, definition: { name, namespace, version }, startedAt, execution: workflowInfo().runId },
  });
}

function ended(x: Execution, end: RunEnd): NewRunEvent {
  const name = x.qualifiedName;
  const at = new Date().toISOString();
  switch (end.status) {
    case 'completed':
      return x.event(EVENT.runCompleted, 'ended', 'Run completed', { data: { name, completedAt: at } });
    case 'cancelled':
      return x.event(EVENT.runCancelled, 'ended', 'Run cancelled', { level: 'warn', data: { name, cancelledAt: at } });
    case 'faulted': {
      const error = end.error ?? standardError('runtime', 'unknown');
      const message = `Run faulted: ${error.detail ?? error.title ?? error.type}`;
      return x.event(EVENT.runFaulted, 'ended', message, { level: 'error', data: { name, faultedAt: at, error } });
    }
  }
}
