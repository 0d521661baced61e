/** `cadenza server recount`: counts again what the database keeps totals of. */
import { recountFiles } from '../../domain/quotas/file-totals.ts';
import { openInstallation } from './installation.ts';

/** @returns the ids of the users and teams whose totals were wrong */
export async function recount(): Promise<{ repaired: string[] }> {
  const installation = await openInstallation('running');
  try {
    return { repaired: await recountFiles(installation.fork) };
  } finally {
    await installation.close();
  }
}
