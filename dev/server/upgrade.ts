/** `cadenza server upgrade`: brings the schema to this release, or says what it would change. */
import { migrate, pendingMigrations } from '../../db/migrate.ts';
import { openInstallation } from './installation.ts';

export interface UpgradeResult {
  migrations: string[];
  functions: string[];
  applied: boolean;
}

/** @throws MigrationRefused, and errors of the database */
export async function upgrade({ dryRun = false }: { dryRun?: boolean | undefined }): Promise<UpgradeResult> {
  const installation = await openInstallation('running');
  try {
    const url = installation.env.DATABASE_URL;
    return { ...(await (dryRun ? pendingMigrations(url) : migrate(url))), applied: !dryRun };
  } finally {
    await installation.close();
  }
}
