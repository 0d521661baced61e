/**
 * Removes containers that nothing needs: those of calls whose outcome is stored or whose run is over, and
 * those that a lost worker left. Ends those that nobody ends at their limit. Every worker with an engine does
 * it; a repeat changes nothing.
 */
import type { Sandbox } from '../adapters/sandbox/containers.ts';
import type { Logger } from '../config/logger.ts';
import type { EntityManager } from '../db/orm.ts';
import { noteEngine } from '../domain/operations/process-policy.ts';
import { openInvocations } from '../domain/runs/invocations.ts';

const EVERY_MS = 60_000;
/** A call that has just begun may not have committed its row where this worker reads. */
const YOUNG_MS = 60_000;

interface ReaperDeps {
  sandbox: Sandbox;
  fork: () => EntityManager;
  logger: Logger;
}

/** Looks after the containers now and every minute, and notes whether the engine answers. */
export function startContainerReaper(deps: ReaperDeps): { stop(): void } {
  const { fork, logger } = deps;
  let passing = false;
  const pass = async (): Promise<void> => {
    if (passing) return;
    passing = true;
    try {
      const removed = await removeContainers(deps);
      if (removed > 0) logger.info({ containers: removed }, 'removed containers that nothing needs');
      await noteEngine(fork(), true);
    } catch (error) {
      logger.warn({ err: error }, 'containers cannot be looked after');
      await noteEngine(fork(), false).catch(() => {});
    } finally {
      passing = false;
    }
  };
  void pass();
  const timer = setInterval(() => void pass(), EVERY_MS);
  return { stop: () => clearInterval(timer) };
}

/** One pass. @returns how many were removed */
export async function removeContainers(
  { sandbox, fork }: Pick<ReaperDeps, 'sandbox' | 'fork'>,
  youngMs = YOUNG_MS,
): Promise<number> {
  const containers = await sandbox.list();
  const open = await openInvocations(
    fork(),
    containers.map(({ key }) => key),
  );
  // Their call may be open, and it may have been given up while its worker was lost.
  for (const { id, overdue } of containers) if (overdue) await sandbox.kill(id);
  const now = Date.now();
  const left = containers.filter(({ key, createdAt, removeAt }) => {
    if (open.has(key) || now - createdAt.getTime() < youngMs) return false;
    return removeAt === null || removeAt.getTime() <= now;
  });
  const failures: unknown[] = [];
  for (const { id } of left) await sandbox.remove(id).catch((error: unknown) => failures.push(error));
  // One that the engine cannot remove does not keep the others.
  if (failures.length > 0) throw failures[0];
  return left.length;
}
