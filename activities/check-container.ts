/** Tries what an invocation of an agent of kind `docker` needs, and runs nothing. */
import type { RunActivities } from '../contracts/activities.ts';
import { Fault } from '../contracts/fault.ts';
import { failedCheck } from '../domain/registry/failed-check.ts';
import { pinAgent } from '../domain/registry/pin.ts';
import type { ProcessDeps } from './deps.ts';

/** For all questions to the engine, which may ask the image's registry. */
const ENGINE_MS = 10_000;

export function checkContainerActivity(
  deps: Pick<ProcessDeps, 'orm' | 'processes' | 'secret'>,
): RunActivities['checkContainer'] {
  return async ({ agent_id: agent, holder_id: holder }) => {
    const found = await pinAgent(deps.orm.em.fork(), holder, { agent });
    if (!found.found) return { status: 'failed', error: 'configuration', detail: found.message };
    const { pinned } = found;
    try {
      const detail = await deps.processes.check({
        agent: pinned,
        secret: (name) => deps.secret(pinned.owner_id, name),
        signal: AbortSignal.timeout(ENGINE_MS),
      });
      return { status: 'ok', error: null, detail };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return failedCheck(error);
    }
  };
}
