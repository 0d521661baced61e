/** `cadenza server pause` and `resume`: a pause of writes that lasts until an operator ends it. */
import { SYSTEM_ORIGIN, writeAudit } from '../../domain/audit/write.ts';
import { pauseWrites, resumeWrites, settle } from '../../domain/operations/write-pause.ts';
import { withInstallation } from './installation.ts';

/** Resolves once all processes know. @throws WritesPaused while a command pauses writes */
export function pause(reason: string): Promise<{ reason: string }> {
  return withInstallation('running', async ({ fork }) => {
    await fork().transactional(async (em) => {
      await pauseWrites(em, reason);
      await writeAudit(em, SYSTEM_ORIGIN, { action: 'pause_writes', data: { reason } });
    });
    await settle(fork());
    return { reason };
  });
}

/** @returns whether writes were paused @throws as `pause` */
export function resume(): Promise<{ resumed: boolean }> {
  return withInstallation('running', ({ fork }) =>
    fork().transactional(async (em) => {
      const reason = await resumeWrites(em);
      if (reason !== null) await writeAudit(em, SYSTEM_ORIGIN, { action: 'resume_writes', data: { reason } });
      return { resumed: reason !== null };
    }),
  );
}
