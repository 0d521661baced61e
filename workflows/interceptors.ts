/**
 * Keeps payloads that the codec has refused (temporal/payload-codec.ts) away from workflow code, without
 * letting a refused signal block the workflow. Lets all workflows but runs go to the workers' current
 * version.
 */
import { ApplicationFailure } from '@temporalio/common';
import {
  log,
  workflowInfo,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInternalsInterceptor,
  type WorkflowInterceptorsFactory,
} from '@temporalio/workflow';
import { RUN_WORKFLOW, type RefusedPayload } from '../contracts/temporal.ts';
import { leaveVersion } from './worker-version.ts';

const inbound: WorkflowInboundCallsInterceptor = {
  /**
   * Arguments whose key is missing may become readable, so the workflow task is retried. All other refused
   * arguments were never ours.
   */
  async execute(input, next) {
    const refused = refusedOf(input.args);
    if (refused?.passing === true) throw new Error(refused.reason);
    if (refused) throw ApplicationFailure.nonRetryable(refused.reason, 'cadenza.refused');
    return next(input);
  },

  /** Nothing is lost: each of our signals is a row that is resent until the workflow acknowledges it. */
  handleSignal(input, next) {
    const refused = refusedOf(input.args);
    if (!refused) return next(input);
    log.error(`A signal is dropped: ${refused.reason}`, { signal: input.signalName });
    return Promise.resolve();
  },

  handleQuery(input, next) {
    const refused = refusedOf(input.args);
    return refused ? Promise.reject(new Error(refused.reason)) : next(input);
  },
};

/** The platform's own workflows: no version must stop their work when its workers are gone. */
const unpinned: WorkflowInternalsInterceptor = {
  activate(input, next) {
    leaveVersion();
    next(input);
  },
};

export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [inbound],
  internals: workflowInfo().workflowType === RUN_WORKFLOW ? [] : [unpinned],
});

/** The codec marks refusals with bytes; we never send bytes ourselves. */
function refusedOf(args: readonly unknown[]): RefusedPayload | null {
  const marker = args.find((arg) => ArrayBuffer.isView(arg));
  if (marker === undefined) return null;
  try {
    return JSON.parse(
      new TextDecoder().decode(new Uint8Array(marker.buffer, marker.byteOffset, marker.byteLength)),
    ) as RefusedPayload;
  } catch {
    return { reason: 'A payload of bytes is none of ours', passing: false };
  }
}
