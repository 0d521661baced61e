/**
 * A run as one workflow: registers handlers, interprets the definition, and closes the run's row with a last
 * activity.
 */
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  CancellationScope,
  condition,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { LOG_TEXT } from '../contracts/log-texts.ts';
import {
  EVENT,
  isTerminal,
  type NewRunEvent,
  type RunEnd,
  type RunStatus,
  type WaitingOn,
} from '../contracts/run-events.ts';
import { runSignal, runStatusQuery, SEARCH_ATTRIBUTES, type RunArgs } from '../contracts/temporal.ts';
import { loggedError, standardError, type DslError } from '../contracts/dsl-error.ts';
import { endExecution } from './end-execution.ts';
import { closing, writing } from './interpreter/activities.ts';
import { countSizes } from './interpreter/effort.ts';
import { enterAgent } from './interpreter/enter-agent.ts';
import { Execution } from './interpreter/execution.ts';
import { fetchFiles } from './interpreter/fetch-files.ts';
import { DslFault, isRunClosed } from './interpreter/fault.ts';
import { isOtherOutcome, shortCall } from './interpreter/functions/short-call.ts';
import { interpret } from './interpreter/interpret.ts';
import { preview } from './interpreter/preview.ts';
import { fitsCheckpoint } from './interpreter/size.ts';
import {
  checkpointOf,
  initialState,
  stateForRetry,
  STATE_VERSION,
  type Checkpoint,
  type RunState,
} from './interpreter/state.ts';
import { runExtended } from './interpreter/tasks/extended.ts';
import { runKind } from './interpreter/tasks/index.ts';
import { receive } from './signals.ts';
import { onCurrentVersion } from './worker-version.ts';

/** For runs that were started without the setting. */
const DEFAULT_MAX_EVENTS = 100_000;

const STATUS_KEY = defineSearchAttributeKey(SEARCH_ATTRIBUTES.status, SearchAttributeType.KEYWORD);

export async function run(args: RunArgs): Promise<void> {
  // A cancel request on Temporal is treated like any other command: it must not keep the run from writing its
  // log and its end.
  const { cancelRequested } = CancellationScope.current();
  await CancellationScope.nonCancellable(() => execute(args, cancelRequested));
}

async function execute(args: RunArgs, cancelRequested: Promise<never>): Promise<void> {
  const { start } = args;
  if (args.counts_sizes === true) countSizes();
  const state = stateOf(args);
  const describe = describer(args);
  const execution = new Execution(start, state, {
    runKind,
    runExtended,
    shortCall,
    shortCallRules: args.short_calls,
    processQueue: args.process_queue,
    shown: (status) => describe(status.status, status.waiting_on),
    url: args.run_url,
    maxEvents: args.max_events ?? DEFAULT_MAX_EVENTS,
    append: (batch) => writing((activities) => activities.appendEvents({ run_id: start.run_id, batch })),
  });
  const work = new CancellationScope();
  setHandler(runSignal, (signal: unknown) => {
    if (!receive(execution, signal, () => work.cancel()))
      log.error('A signal is dropped: it is none of this run', { run_id: start.run_id });
  });
  let cancelledOnTemporal = false;
  cancelRequested.catch(() => {
    cancelledOnTemporal = true;
    cancelFromTemporal(execution, work);
  });
  setHandler(runStatusQuery, () => ({
    ...execution.status(),
    task: execution.status().waiting_on[0]?.task ?? null,
  }));

  if (state.started_at === null) {
    state.started_at = new Date().toISOString();
    execution.journal.add(startedEvent(execution));
  }
  let over = false;
  void execution.journal.flushWhenBlocked(() => over);
  let end: RunEnd | null = null;
  try {
    const result = await Promise.race([
      runToEnd(execution, work),
      execution.quietForContinueAsNew().then(() => null),
    ]);
    // The carried state replaces the checkpoint.
    if (result === null)
      await makeContinueAsNewFunc<typeof run>(onCurrentVersion())({
        ...args,
        start: { ...start, checkpoint: null },
        state,
      });
    else end = await close(execution, describe, result);
  } finally {
    over = true;
  }
  if (execution.journal.inFlight > 0) await condition(() => execution.journal.inFlight === 0);
  if (end !== null) await endExecution(execution, end, cancelledOnTemporal);
}

/** Cancelled from Temporal's UI or command line; ignored at the run's end, when nothing is left to cancel. */
function cancelFromTemporal(execution: Execution, work: CancellationScope): void {
  if (work.consideredCancelled || execution.journal.closed) return;
  execution.journal.add(
    execution.event(EVENT.cancelRequested, 'cancel:temporal', LOG_TEXT.cancelRequested.onTemporal(), {
      level: 'warn',
      data: { by: null },
    }),
  );
  work.cancel();
}

function stateOf({ start, state }: RunArgs): RunState {
  // The assertion holds: this code made the state. The version check guards against an older worker.
  const carried = state as RunState | undefined;
  if (carried) {
    if (carried.version !== STATE_VERSION) throw new Error('the carried state is of another version');
    return carried;
  }
  return start.checkpoint ? stateForRetry(start.checkpoint as Checkpoint) : initialState(start.input);
}

async function runDefinition(execution: Execution): Promise<unknown> {
  const { enters, fetch_files: fetches } = execution.start;
  if (enters) await enterAgent(execution);
  if (fetches) await fetchFiles(execution);
  return interpret(execution);
}

async function runToEnd(
  execution: Execution,
  work: CancellationScope,
): Promise<{ end: RunEnd; checkpoint?: Checkpoint } | 'closed'> {
  try {
    const output = await work.run(() => runDefinition(execution));
    return { end: work.consideredCancelled ? { status: 'cancelled' } : { status: 'completed', output } };
  } catch (error) {
    if (isRunClosed(error) || execution.journal.closed) return 'closed';
    // A cancel that the run has received takes precedence over a simultaneous fault.
    if (isCancellation(error) || (work.consideredCancelled && error instanceof DslFault))
      return { end: { status: 'cancelled' } };
    if (error instanceof DslFault) {
      const end: RunEnd = { status: 'faulted', error: error.error };
      return fitsCheckpoint(execution.state) ? { end, checkpoint: checkpointOf(execution.state) } : { end };
    }
    throw error;
  }
}

/** The run's last activity. @returns the end; null if the run was closed elsewhere */
async function close(
  execution: Execution,
  describe: Describe,
  result: Awaited<ReturnType<typeof runToEnd>>,
): Promise<RunEnd | null> {
  if (result === 'closed') return null;
  const { end, checkpoint } = result;
  await execution.journal.end(endEvent(execution, end), (batch) => {
    describe(end.status, [], end.error);
    const input = {
      run_id: execution.start.run_id,
      batch,
      end,
      ...(checkpoint === undefined ? {} : { checkpoint }),
    };
    return closing((activities) => activities.endRun(input)).catch((error: unknown) => {
      // Fails the workflow task. Its repetition finds the stored outcome.
      throw isOtherOutcome(error) ? new Error('Another outcome of an earlier call is stored') : error;
    });
  });
  return end;
}

type Describe = (status: RunStatus, waits: WaitingOn[], error?: DslError | null) => void;

/**
 * Shows the run to people in Temporal UI: the status as a search attribute, and in Markdown what the run
 * waits for or how it ended.
 */
function describer({ search_attributes: attributes = false, state }: RunArgs): Describe {
  // The starter sets the attribute of a new run.
  let known: RunStatus | null = state === undefined ? 'running' : null;
  return (status, waits, error) => {
    // The end is shown last; a batch from the moment before must not overwrite it.
    if (known !== null && isTerminal(known)) return;
    if (attributes && status !== known) upsertSearchAttributes([{ key: STATUS_KEY, value: status }]);
    known = status;
    const lines = waits.map(({ kind, task, until }) => {
      const waitsFor = kind === 'human' ? 'a person' : `a ${kind}`;
      return `- \`${task}\` waits for ${waitsFor}${until ? ` until ${until}` : ''}`;
    });
    if (error)
      lines.push(`- \`${error.instance ?? ''}\` ${error.title ?? error.type}: ${error.detail ?? ''}`);
    setCurrentDetails([`**${status}**`, ...lines].join('\n'));
  };
}

function startedEvent(execution: Execution): NewRunEvent {
  const { name, namespace, version } = execution.definition.document;
  const startedAt = execution.state.started_at;
  return execution.event(EVENT.runStarted, 'started', LOG_TEXT.runStarted(execution.start.name), {
    data: {
      name: execution.qualifiedName,
      definition: { name, namespace, version },
      startedAt,
      execution: workflowInfo().runId,
    },
  });
}

function endEvent(execution: Execution, end: RunEnd): NewRunEvent {
  const name = execution.qualifiedName;
  const at = new Date().toISOString();
  switch (end.status) {
    case 'completed':
      return execution.event(EVENT.runCompleted, 'ended', LOG_TEXT.runCompleted(), {
        data: { name, completedAt: at, ...preview('output', end.output ?? null) },
      });
    case 'cancelled':
      return execution.event(EVENT.runCancelled, 'ended', LOG_TEXT.runCancelled.byRequest(), {
        level: 'warn',
        data: { name, cancelledAt: at },
      });
    case 'faulted': {
      const error = loggedError(end.error ?? standardError('runtime', 'unknown'));
      return execution.event(EVENT.runFaulted, 'ended', LOG_TEXT.runFaulted.byError(error), {
        level: 'error',
        data: { name, faultedAt: at, error },
      });
    }
  }
}
