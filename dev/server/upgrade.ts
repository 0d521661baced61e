/** `cadenza server upgrade`: brings the schema to this release, or says what it would change. */
import { migrate, pendingMigrations } from '../../db/migrate.ts';
import { withInstallation } from './installation.ts';

export interface UpgradeResult {
  migrations: string[];
  functions: string[];
  applied: boolean;
}

/** @throws MigrationRefused, and errors of the database */
export function upgrade({ dryRun = false }: { dryRun?: boolean | undefined }): Promise<UpgradeResult> {
  return withInstallation('running', async ({ env: { DATABASE_URL: url } }) => ({
    ...(await (dryRun ? pendingMigrations(url) : migrate(url))),
    applied: !dryRun,
  }));
}
