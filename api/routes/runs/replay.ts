import type { AppDeps } from '../../deps.ts';
import { preferredWaitSeconds } from '../../conditional.ts';
import type { EndpointContext, EndpointResponse } from '../../endpoint.ts';
import { waitForEnd } from './started.ts';

/**
 * An idempotent replay with `Prefer: wait` waits again, and returns the run as it is then
 * (docs/interface.md#wait-for-a-run).
 */
export async function replayWaiting(
  deps: AppDeps,
  c: EndpointContext,
  first: EndpointResponse,
): Promise<EndpointResponse | void> {
  const seconds = preferredWaitSeconds(c.ctx);
  // The stored response of these endpoints is a run.
  const { id } = first.body as { id: string };
  if (seconds === null) return;
  return {
    status: first.status,
    body: await waitForEnd(deps, c, id, seconds),
    headers: { 'Preference-Applied': `wait=${seconds}` },
  };
}
