import type { A2ACall } from '../call.ts';

/**
 * Like an endpoint's `afterCommit`: the change is committed, so a failure here is only logged. The reconciler
 * repeats the work.
 */
export async function afterCommit({ deps, requestId }: A2ACall, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    deps.logger.error({ err: error, request_id: requestId }, 'post-commit work failed');
  }
}
