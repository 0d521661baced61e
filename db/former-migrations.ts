/** The migrations that the initial schema replaced, and how a database that has run them is adopted. */
import { Refused } from './database-failure.ts';
import { migrationNames } from './migrations/index.ts';

const [initialSchema = ''] = migrationNames;

/** In the order of application. The initial schema contains all of their changes. */
const FORMER_NAMES = [
  '0001-auth',
  '0002-agents',
  '0003-workflows',
  '0004-runs',
  '0005-hitl',
  '0006-marketplace',
  '0007-rate-limit',
  '0007-files',
  '0007-webhooks',
  '0008-a2a',
  '0009-append-functions',
  '0010-retention',
  '0010-a2a-dialect',
  '0011-unapplied-signals',
  '0012-invocation-progress',
  '0013-invisible-agents',
  '0014-run-files',
  '0017-end-run',
  '0015-payload-files',
  '0018-decide',
  '0019-a2a-auth-required',
  '0020-function-plans',
  '202611220400-run-row-locks',
  '202611220410-detached-runs',
  '202611220354-version-precedence',
  '202611220359-payload-keys',
  '202611220412-initiators',
  '202611220420-ended-calls',
  '202611220425-delegation',
  '202611220415-address-rate-limit',
  '202611220434-run-tree-limits',
  '202611220428-installation',
  '202611220433-version-dates',
  '202611220445-stuck-runs',
  '202611220440-client-expiry',
  '202611220438-waiting-count',
  '202611220452-maintenance',
  '202611220451-encryption-keys',
];

/** Whether a migration is one of those that the initial schema replaced. */
export const isFormer = (name: string): boolean => FORMER_NAMES.includes(name);

/** Why `migrate` refuses to change a database. */
export class MigrationRefused extends Refused {}

/**
 * Whether the database has the initial schema under the old names, because it ran all former migrations. A
 * database that ran only some of them is refused. The old names stay, so that `migrate` of an older build
 * does nothing.
 */
export function ranAllFormer(ran: readonly string[]): boolean {
  if (ran.includes(initialSchema)) return false;
  const missing = FORMER_NAMES.filter((name) => !ran.includes(name));
  if (missing.length === 0) return true;
  if (missing.length === FORMER_NAMES.length) return false;
  const last = FORMER_NAMES.at(-1);
  throw new MigrationRefused(
    `its schema is too old for this version: it lacks ${missing.join(', ')}. Nothing was changed. ` +
      `First run "migrate" of the last version whose db/migrations holds ${last}, ` +
      `then "migrate" of this version.`,
  );
}
