import type { AppDeps } from '../../app.ts';
import { preferredWaitSeconds } from '../../conditional.ts';
import type { EndpointContext, EndpointResponse } from '../../endpoint.ts';
import { waitForEnd } from './started.ts';

/** A replay with `Prefer: wait` waits again (interface-decisions §1). */
export async function replayWaiting(deps: AppDeps, c: EndpointContext, first: EndpointResponse): Promise<EndpointResponse | void> {
  const seconds = preferredWaitSeconds(c.ctx);
  // The first answer of these endpoints is a run.
  const { id } = first.body as { id: string };
  if (seconds === null) return;
  return { status: first.status, body: await waitForEnd(deps, c.actor, id, seconds), headers: { 'Preference-Applied': `wait=${seconds}` } };
}
