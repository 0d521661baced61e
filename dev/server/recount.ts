/** `cadenza server recount`: counts again what the database keeps totals of. */
import { recountFiles } from '../../domain/quotas/file-totals.ts';
import { withInstallation } from './installation.ts';

/** @returns the ids of the users and teams whose totals were wrong */
export function recount(): Promise<{ repaired: string[] }> {
  return withInstallation('running', async ({ fork }) => ({ repaired: await recountFiles(fork) }));
}
