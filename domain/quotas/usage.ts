/** Quotas with what is used of them. */
import { QUOTA_NAMES, type QuotaName, type QuotaScope, type QuotaUnit } from '../../contracts/quotas.ts';
import type { EntityManager } from '../../db/orm.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { badRequest, forbidden, notFound } from '../errors.ts';
import { getTeam } from '../teams/teams.ts';
import { COUNTED, OTHER_USED, usedSql } from './counted.ts';
import { settingOf, unitOf, type QuotaEnv, type QuotaSetting } from './settings.ts';

export interface QuotaSubject {
  scope: QuotaScope;
  /** Null: the platform. */
  id: string | null;
  name: string | null;
}

export interface QuotaState {
  name: QuotaName;
  scope: QuotaScope;
  per: QuotaUnit | null;
  /** Null: no limit. */
  limit: number | null;
  used: number;
  setting: QuotaSetting;
  /** An administrator has replaced the setting. */
  own: boolean;
}

const PLATFORM = '00000000-0000-0000-0000-000000000000';

/** Whose quotas are asked for. @throws 403, 404 for those who may not know them */
export async function quotaSubject(
  em: EntityManager,
  actor: Actor,
  asked: { user_id?: string | undefined; team_id?: string | undefined; platform?: boolean | undefined },
): Promise<QuotaSubject> {
  const { team_id: teamId, user_id: userId = actor.id, platform = false } = asked;
  if ([teamId, asked.user_id, platform || undefined].filter((one) => one !== undefined).length > 1)
    throw badRequest('invalid_query', 'Give one of user_id, team_id and platform.');
  if (platform) {
    if (!isAdmin(actor))
      throw forbidden('Only administrators see the limits of the platform.', 'role_required');
    return { scope: 'platform', id: null, name: null };
  }
  if (teamId !== undefined) {
    const team = await getTeam(em, actor, teamId);
    return { scope: 'team', id: team.id, name: team.name };
  }
  if (userId !== actor.id && !isAdmin(actor)) throw notFound('user');
  const [user] = await em.execute<{ username: string }[]>('select username from user_account where id = ?', [
    userId,
  ]);
  if (!user) throw notFound('user');
  return { scope: 'user', id: userId, name: user.username };
}

/** In one statement. */
export async function readQuotas(
  em: EntityManager,
  limits: QuotaEnv,
  { scope, id }: QuotaSubject,
): Promise<QuotaState[]> {
  const names = QUOTA_NAMES.filter((name) => settingOf(name, scope) !== undefined);
  const [row = {}] = await em.execute<Record<string, string | null>[]>(
    `with subject as materialized (select ?::uuid as id)
     select ${names
       .flatMap((name) => [
         `${usedBy(name, scope)} as "${name}"`,
         `${scope === 'platform' ? 'null' : `quota_of(subject.id, '${name}')`} as "${name}_own"`,
       ])
       .join(', ')} from subject`,
    [id ?? PLATFORM],
  );
  return names.flatMap((name) => {
    const setting = settingOf(name, scope);
    if (setting === undefined) return [];
    const own = row[`${name}_own`] ?? null;
    const limit = own === null ? limits[setting] : Number(own);
    return {
      name,
      scope,
      per: unitOf(name),
      limit: limit === 0 ? null : limit,
      used: Number(row[name] ?? 0),
      setting,
      own: own !== null,
    };
  });
}

const OF_RUN: Record<QuotaScope, string | null> = {
  user: 'r.owner_id = subject.id',
  team: 'r.team_id = subject.id',
  platform: null,
};

function usedBy(name: QuotaName, scope: QuotaScope): string {
  if (name in COUNTED) {
    // Safe: the table's own names.
    return usedSql(name as keyof typeof COUNTED, scope === 'platform' ? null : 'subject.id');
  }
  // Safe: what is not counted there is counted here, as the types of both tables say.
  return OTHER_USED[name as keyof typeof OTHER_USED](OF_RUN[scope], 'subject.id');
}
