/**
 * The thread that runs workflow code: the SDK's own, without two costs that it has at every step, and without
 * leaving behind what stopped code has resumed (docs/adr/0038).
 */
import { Script, type Context, type RunningScriptInNewContextOptions } from 'node:vm';
import type { coresdk } from '@temporalio/proto';
import { BaseVMWorkflow, globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';

type Activation = coresdk.workflow_activation.IWorkflowActivation;
type Completion = coresdk.workflow_completion.IWorkflowActivationCompletion;

/** As the SDK's `isolateExecutionTimeout`, but for a whole activation. */
const ACTIVATION_MS = 5_000;
/** For what stopped code has resumed. What this does not reach is dropped. */
const REST_MS = 100;

// The SDK records a stack for each promise, for a query that nobody uses. This is what it does itself where
// V8's promise hooks are missing.
Object.assign(globalHandlers, { setPromiseHook() {} });

// The SDK enters the sandbox three to five times for an activation, each time with a watchdog: a thread that
// is started and joined. One around the whole activation stops an endless loop just as well.
let watched: (() => Promise<Completion>) | null = null;
Object.assign(globalThis, { __cadenzaWatched: () => watched?.() });
const watchedScript = new Script('__cadenzaWatched()');

// oxlint-disable-next-line typescript/unbound-method -- called with the script as `this`
const { runInContext } = Script.prototype;
Script.prototype.runInContext = function runUnlessWatched(
  context: Context,
  { timeout, ...options }: RunningScriptInNewContextOptions = {},
): unknown {
  if (watched !== null || timeout === undefined) return runInContext.call(this, context, options);
  try {
    return runInContext.call(this, context, { ...options, timeout });
  } catch (error) {
    if (isTimeout(error)) dropResumed(context);
    throw error;
  }
};

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';

// All workflows of the thread share a queue of microtasks. What stopped code has resumed would stay in it and
// go on at the next entry: as another workflow, or as none, whose rejection would end the thread. It goes on
// here instead, still as its own workflow, which fails and is removed; a timeout there empties the queue.
const noCode = new Script('');
function dropResumed(context: Context): void {
  try {
    runInContext.call(noCode, context, { timeout: REST_MS });
  } catch (error) {
    if (!isTimeout(error)) throw error;
  }
}

// oxlint-disable-next-line typescript/unbound-method -- called with the workflow as `this`
const { activate } = BaseVMWorkflow.prototype;
BaseVMWorkflow.prototype.activate = function activateWatched(activation: Activation): Promise<Completion> {
  watched = () => activate.call(this, activation);
  try {
    // The promise is there after the last entry into the sandbox.
    return watchedScript.runInThisContext({ timeout: ACTIVATION_MS });
  } catch (error) {
    // The watchdog has ended the SDK's function too, so this reports the failure as that would have done.
    const { activator, context } = this;
    if (context !== undefined) dropResumed(context);
    return Promise.resolve({
      runId: activator.info.runId,
      failed: { failure: activator.errorToFailure(error) },
    });
  } finally {
    watched = null;
  }
};

await import('@temporalio/worker/lib/workflow/workflow-worker-thread.js');
