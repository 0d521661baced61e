/**
 * Quotas of what is kept: checked after the change, in its transaction, so a refusal rolls the change back.
 * The count is exact (docs/adr/0063-quotas-counted-from-rows.md): whoever counts holds the quota until the
 * transaction ends, so the next one sees what this one has added.
 */
import type { QuotaName, QuotaScope } from '../../contracts/quotas.ts';
import type { EntityManager } from '../../db/orm.ts';
import { conflict, type AppError } from '../errors.ts';
import { follows, usedSql, type CountedQuota } from './counted.ts';
import { settingOf, type QuotaEnv, type QuotaSetting } from './settings.ts';

interface Reached {
  quota: QuotaName;
  scope: QuotaScope;
  setting: string;
  limit: number;
  /** An administrator has given the user or team another limit than the setting. */
  own: boolean;
}

/** What a refusal says beside its text. */
export function reachedFacts({ quota, scope, setting, limit }: Reached): Record<string, unknown> {
  return { quota, scope, setting, limit };
}

/** 409, by default `limit_reached`; names the limit and where it comes from. */
export function quotaReached(
  reached: Reached,
  problem: string,
  remedy: string,
  code = 'limit_reached',
): AppError {
  const { quota, scope, setting, limit, own } = reached;
  const source = own ? `the quota ${quota} of this ${scope} allows` : `the setting ${setting} allows`;
  return conflict(code, `${problem}: ${source} ${limit}. ${remedy}`, reachedFacts(reached));
}

const WHO = { user: 'The owner has', team: 'The team has', platform: 'The platform has' } as const;
const WORDS: Record<CountedQuota, { many: string; remedy: string }> = {
  stored_bytes: { many: 'as many bytes of files', remedy: 'Delete files, or runs that store them.' },
  files: { many: 'as many files', remedy: 'Delete one first.' },
  schedules: { many: 'as many schedules', remedy: 'Pause one first.' },
  secrets: { many: 'as many secrets', remedy: 'Delete one first.' },
  webhooks: { many: 'as many webhooks', remedy: 'Delete one first.' },
  inbound_webhooks: { many: 'as many inbound webhooks', remedy: 'Delete one first.' },
  event_sources: { many: 'as many event sources', remedy: 'Delete one first.' },
  chats: { many: 'as many chats', remedy: 'Delete one first.' },
  tokens: { many: 'as many access tokens', remedy: 'Delete one first.' },
  clients: { many: 'as many machine clients', remedy: 'Delete one first.' },
};

/** The codes of refusals that have one of their own. */
const CODES: Partial<Record<CountedQuota, string>> = {
  chats: 'too_many_channels',
  tokens: 'too_many_tokens',
  clients: 'too_many_clients',
};

interface Counts {
  used: string;
  of_team: boolean;
  own: string | null;
  of_platform: string | null;
}

/**
 * Call after something was added for the holder, a user or a team. `isMoved`: it was another holder's before,
 * so the platform has no more of it. @throws AppError (409)
 */
export async function checkQuota(
  em: EntityManager,
  limits: QuotaEnv,
  quota: CountedQuota,
  holderId: string,
  { isMoved = false }: { isMoved?: boolean } = {},
): Promise<void> {
  const user = limitOf(limits, quota, 'user');
  const team = limitOf(limits, quota, 'team');
  const platform = { ...limitOf(limits, quota, 'platform'), ...(isMoved && { limit: 0 }) };
  await holdQuota(em, quota, [holderId]);
  const countedFor = follows(quota) ? await countingFor(em, holderId) : holderId;
  if (countedFor !== holderId) await holdQuota(em, quota, [countedFor]);
  if (platform.limit > 0) await holdQuota(em, quota, ['platform']);
  const most = `(select coalesce(h.own, case when h.of_team then ${team.limit} else ${user.limit} end) + 1
                   from holder h)`;
  const [counts] = await em.execute<Counts[]>(
    `with holder as materialized (
       select exists (select from team where id = ?::uuid) as of_team, quota_of(?::uuid, ?) as own)
     select h.of_team, h.own, ${usedSql(quota, '?::uuid', most)} as used,
            ${platform.limit > 0 ? usedSql(quota, null, String(platform.limit + 1)) : 'null'} as of_platform
       from holder h`,
    [countedFor, countedFor, quota, countedFor],
  );
  if (!counts) return;
  const scope = counts.of_team ? 'team' : 'user';
  const { setting, limit } = counts.of_team ? team : user;
  const own = counts.own !== null;
  refuseAbove(Number(counts.used), { quota, scope, setting, limit: own ? Number(counts.own) : limit, own });
  refuseAbove(Number(counts.of_platform ?? 0), { quota, scope: 'platform', ...platform, own: false });
}

/** Until the transaction ends no run of the user or team starts; the lock of `hold_run_quota`. */
export async function holdLiveRuns(em: EntityManager, holderId: string): Promise<void> {
  await em.execute(`select pg_advisory_xact_lock(hashtextextended('run ' || ?::uuid, 0))`, [holderId]);
}

/** After live runs were handed over to the user, whose starts are held (`holdLiveRuns`). @throws 409 */
export async function checkLiveRuns(em: EntityManager, limits: QuotaEnv, userId: string): Promise<void> {
  // What connections have room for is not counted yet.
  await em.execute('delete from live_run_room where holder_id = ?', [userId]);
  const [row] = await em.execute<{ own: string | null; used: string }[]>(
    `select o.own, count_live_runs('user', ?::uuid, coalesce(o.own, ?::bigint) + 1) as used
       from (select quota_of(?::uuid, 'live_runs')::bigint as own) o`,
    [userId, limits.USER_MAX_LIVE_RUNS, userId],
  );
  const own = (row?.own ?? null) !== null;
  const limit = Number(row?.own ?? limits.USER_MAX_LIVE_RUNS);
  if (limit === 0 || Number(row?.used ?? 0) <= limit) return;
  const reached = { quota: 'live_runs', scope: 'user', setting: 'USER_MAX_LIVE_RUNS', limit, own } as const;
  throw quotaReached(
    reached,
    `${WHO.user} as many live runs as allowed`,
    'Wait for their end, or cancel some.',
  );
}

function refuseAbove(used: number, reached: Reached & { quota: CountedQuota }): void {
  if (reached.limit === 0 || used <= reached.limit) return;
  const { many, remedy } = WORDS[reached.quota];
  throw quotaReached(reached, `${WHO[reached.scope]} ${many} as allowed`, remedy, CODES[reached.quota]);
}

function limitOf(
  limits: QuotaEnv,
  quota: CountedQuota,
  scope: QuotaScope,
): { setting: QuotaSetting | ''; limit: number } {
  const setting = settingOf(quota, scope);
  return setting === undefined ? { setting: '', limit: 0 } : { setting, limit: limits[setting] };
}

/** What somebody adds whose things are being handed over counts for the new owner, whose limit it takes. */
async function countingFor(em: EntityManager, holderId: string): Promise<string> {
  const [open] = await em.execute<{ to_id: string }[]>(
    'select to_id from transfer where from_id = ? and finished_at is null',
    [holderId],
  );
  return open?.to_id ?? holderId;
}

/** In one order everywhere: that of the holder, of who takes over from the holder, of the platform. */
export async function holdQuota(
  em: EntityManager,
  quota: CountedQuota,
  whose: readonly string[],
): Promise<void> {
  const locks = whose.map(() => 'pg_advisory_xact_lock(hashtextextended(?, 0))').join(', ');
  await em.execute(
    `select ${locks}`,
    whose.map((who) => `quota ${quota} ${who}`),
  );
}
