/**
 * Texts of the entries that TypeScript code writes to a run's log, by event type in the order of `EVENT`. A
 * type with different entries has one text for each case. Texts travel in activity arguments and are stored
 * in the log, so existing entries keep their old texts.
 */
import type { DslError } from './dsl-error.ts';
import type { EVENT } from './run-events.ts';

type Text = (...data: never[]) => string;
type Texts = { readonly [Name in keyof typeof EVENT]?: Text | Readonly<Record<string, Text>> };

export const LOG_TEXT = {
  runCreated: (workflow: string) => `Run of ${workflow} created`,
  runStarted: (workflow: string) => `Run of ${workflow} started`,
  runSuspended: () => 'Run suspended',
  runResumed: () => 'Run resumed',
  runCancelled: {
    byRequest: () => 'Run cancelled',
    beforeStart: () => 'Run cancelled before it started',
    byAdmin: (reason: string | null) => `Run terminated by an admin${reason === null ? '' : `: ${reason}`}`,
    withExecution: (what: string) => `Run cancelled: ${what}`,
  },
  runFaulted: {
    byError: (error: DslError) => `Run faulted: ${error.detail ?? error.title ?? error.type}`,
    byLimit: (error: DslError) => `Run faulted: ${error.detail ?? ''}`,
    withExecution: (what: string) => `Run faulted: ${what}`,
  },
  runCompleted: () => 'Run completed',
  runInputRequired: () => 'The run waits for people',
  runInputReceived: () => 'The run no longer waits for anyone',
  correlationStarted: (task: string, types: readonly string[]) =>
    `${task} listens for ${types.map((type) => (type === '*' ? 'events' : type)).join(', ')}`,
  correlationCompleted: (task: string, count: number) =>
    `${task} has listened, and received ${count} ${count === 1 ? 'event' : 'events'}`,
  runWarning: {
    stuck: (failures: number) =>
      `The run is stuck: its workflow task has failed ${failures} times in a row. ` +
      `It continues once the cause is fixed; see Temporal and the worker's log.`,
    recovered: () => 'The run is making progress again',
    deprecatedAgent: (agent: string) => `The agent ${agent} is deprecated`,
    deprecatedVersion: (agent: string, version: string) =>
      `Version ${version} of the agent ${agent} is deprecated`,
    undecidable: (task: string, needed: number) =>
      needed === 1
        ? `${task}: nobody but admins may decide it now`
        : `${task}: ${needed} people have to agree, and fewer may decide it now, apart from admins`,
  },
  cancelRequested: {
    byUser: (reason: string | null | undefined) => `Cancellation requested${reason ? `: ${reason}` : ''}`,
    onTemporal: () => 'Cancellation requested on Temporal',
  },
  taskStarted: (task: string) => `${task} started`,
  taskRetried: (task: string, attempt: number, reason: string) =>
    `${task}: attempt ${attempt} after ${reason}`,
  taskCancelled: (task: string) => `${task} cancelled`,
  taskFaulted: (task: string, reason: string) => `${task} faulted: ${reason}`,
  taskCompleted: (task: string) => `${task} completed`,
  taskSkipped: (task: string) => `${task} skipped: its condition is false`,
  eventReceived: (task: string, type: string) => `${task} received ${type}`,
  eventEmitted: (task: string, type: string) => `${task} emitted ${type}`,
  agentPinned: (agent: string, version: string) => `${agent} ${version} is pinned from here on`,
  agentWarning: {
    callLost: (task: string, agent: string, isCounted: boolean) =>
      `${task}: the worker of a call of the agent ${agent} was lost, and the call is made again.` +
      (isCounted ? ' Both count in usage, costs and budgets, the lost one by its estimate.' : ''),
    notTold: (task: string) => `${task}: the agent could not be told that its result is not needed any more`,
  },
  agentWaits: (task: string, agent: string, limit: string) =>
    `${task} waits for its turn: the agent ${agent} allows ${limit}`,
  agentCircuitOpened: (task: string, agent: string) =>
    `${task}: the agent ${agent} keeps failing, and its circuit breaker has opened`,
  agentCircuitClosed: (task: string, agent: string) =>
    `${task}: the agent ${agent} works again, and its circuit breaker has closed`,
  processOutput: (task: string, stream: string, text: string) => `${task} wrote to ${stream}: ${text}`,
  processWaits: (task: string, queue: string, seconds: number) =>
    `${task} waits: within ${seconds} s no worker of the task queue ${queue} has taken it. ` +
    'Either none runs or all are busy.',
  processFiles: (task: string, names: readonly string[]) => `${task} left ${names.join(', ')}`,
  jobCreated: (task: string) => `${task} waits for its outcome from outside`,
  childCreated: {
    byTask: (task: string, childRunId: string) => `${task}: child run ${childRunId}`,
    completedBefore: (childRunId: string) => `Child run ${childRunId} had already completed`,
  },
  childDone: (childRunId: string, status: string) => `Child run ${childRunId} ${status}`,
  hitlCreated: (task: string, title: string) => `${task} waits for a person: ${title}`,
  hitlReminder: (task: string, reminder: number) => `${task}: reminder ${reminder}`,
  hitlOverdue: (task: string) => `${task} is overdue`,
  hitlEscalated: (task: string, level: number) => `${task} escalated to level ${level}`,
  hitlExpired: {
    inRun: () => 'Nobody decided in time',
    inService: (task: string) => `${task}: nobody decided in time`,
  },
  hitlCancelled: (task: string) => `${task}: no decision is needed any longer`,
  hitlClaimed: (task: string, user: string) => `${task}: ${user} claimed it`,
  hitlReleased: {
    byUser: (task: string, user: string) => `${task}: ${user} released it`,
    accountDisabled: (task: string) =>
      `${task} is open again: the account of the person who had it was disabled`,
  },
  hitlDelegated: {
    toUser: (task: string, user: string, recipient: string) =>
      `${task}: ${user} delegated it to ${recipient}`,
    byTransfer: (task: string, user: string) => `${task}: ${user} handed it over`,
    accountDisabled: (task: string, user: string) =>
      `${task} is back with ${user}: the account of the delegate was disabled`,
  },
  hitlCommented: (task: string, user: string) => `${task}: ${user} commented`,
  hitlVoted: (task: string, user: string, decision: string) => `${task}: ${user} voted ${decision}`,
  hitlDecided: (task: string, user: string, decision: string) => `${task}: ${user} decided ${decision}`,
  decisionReceived: (decision: string) => `Decision received: ${decision}`,
  decisionApplied: (task: string, decision: string) => `${task}: ${decision}`,
} satisfies Texts;

/**
 * Why a run ended whose Temporal execution ended without ending the run; `status` is null if the execution no
 * longer exists.
 */
export function lostExecution(status: string | null, reason: string | null): string {
  const state = status ?? 'no longer there';
  return `The run's execution on Temporal is ${state}${reason === null ? '' : `: ${reason}`}`;
}
