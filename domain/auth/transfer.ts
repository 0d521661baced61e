/** Hands over what a user owns, for example after the user was disabled. */
import type { EntityManager } from '../../db/orm.ts';
import { LIVE_STATUSES } from '../../contracts/run-events.ts';
import { isOneOf } from '../../db/sql.ts';
import { invalid } from '../errors.ts';
import { handOverSources } from '../events/sources.ts';
import { handOverHooks } from '../hooks/service.ts';
import type { QuotaEnv } from '../quotas/settings.ts';
import { handOverRunHours, lockRunHours } from '../runs/hours.ts';
import { handOverListeners } from '../schedules/listener.ts';
import { touchSchedulesOf } from '../schedules/state.ts';
import type { Encryption } from '../secrets/encryption.ts';
import type { Actor } from './actor.ts';
import { checkTransferred, usesOf } from './transfer-quotas.ts';
import { handOverSecrets, renameInAgents, renameInWorkflows, type Renamed } from './transfer-secrets.ts';
import { getUser } from './users.ts';

/** What a team can hold is handed over only where none does. */
const HELD: ReadonlySet<string> = new Set(['agent', 'workflow', 'file', 'delivery_target']);
/** In the order in which all code locks rows: runs before their tasks. */
const owned = ['agent', 'workflow', 'run', 'hitl_task', 'file', 'delivery_target'] as const;

export interface Transferred {
  agents: number;
  workflows: number;
  runs: number;
  files: number;
  webhooks: number;
  /** Marketplace items. */
  items: number;
  /** Copied, because active runs still read the secrets of the owner that their agents were pinned with. */
  secrets: number;
  /**
   * Secrets that were renamed because the new owner has others of their names; what is handed over reads the
   * new names.
   */
  secrets_renamed: Renamed;
}

/**
 * One transaction with one statement a table: after a crash nothing is handed over, and the request can be
 * repeated.
 *
 * @throws 409 if the new owner would have more than a quota allows; 422
 */
export async function transferOwnership(
  em: EntityManager,
  { encryption, limits }: { encryption: Encryption; limits: QuotaEnv },
  actor: Actor,
  args: { from: string; to: string },
): Promise<Transferred> {
  const target = await em.execute<{ status: string }[]>(
    'select status from user_account where id = ? for share',
    [args.to],
  );
  const problem =
    args.from === args.to
      ? 'is the same user'
      : target[0]?.status !== 'active'
        ? 'is not an active user'
        : null;
  if (problem) {
    throw invalid([{ pointer: '/to', code: 'invalid_user', message: problem }]);
  }
  await getUser(em, args.from, true);
  await lockRunHours(em);
  const before = await usesOf(em, args.to);
  const { copied, renamed } = await handOverSecrets(em, encryption, args);
  await renameInAgents(em, args.from, renamed);
  await renameInWorkflows(em, actor, args.from, renamed);
  await freeRunKeys(em, args);
  const counts = { agent: 0, workflow: 0, run: 0, hitl_task: 0, file: 0, delivery_target: 0 };
  for (const table of owned) {
    const [row] = await em.execute<{ count: number }[]>(
      `with moved as (
         update ${table} set owner_id = ?
          where owner_id = ?${HELD.has(table) ? ' and team_id is null' : ''} returning 1)
       select count(*)::int as count from moved`,
      [args.to, args.from],
    );
    counts[table] = row?.count ?? 0;
  }
  await handOverRunHours(em, args);
  await handOverHooks(em, args, renamed);
  await handOverSources(em, args);
  await handOverListeners(em, args);
  await touchSchedulesOf(em, args.to);
  await checkTransferred(em, limits, args.to, before);
  const items = await em.execute<object[]>(
    'update marketplace_item set publisher_id = ? where publisher_id = ? returning 1',
    [args.to, args.from],
  );
  return {
    agents: counts.agent,
    workflows: counts.workflow,
    runs: counts.run,
    files: counts.file,
    webhooks: counts.delivery_target,
    items: items.length,
    secrets: copied,
    secrets_renamed: renamed,
  };
}

/** A live run loses its key where the new owner has a live run of the workflow with that key. */
async function freeRunKeys(em: EntityManager, { from, to }: { from: string; to: string }): Promise<void> {
  const isLive = (run: string): string => isOneOf(`${run}.status`, LIVE_STATUSES);
  await em.execute(
    `update run r set key = null
       from run o
      where r.owner_id = ? and r.key is not null and ${isLive('r')}
        and o.owner_id = ? and o.workflow_id = r.workflow_id and o.key = r.key and ${isLive('o')}`,
    [from, to],
  );
}
