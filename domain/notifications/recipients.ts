/** Who is told of a notice, page by page: a group may have any number of members. */
import type { Candidates } from '../../contracts/hitl.ts';
import type { NoticeReason, NotificationKind } from '../../contracts/notification-kinds.ts';
import type { NotificationSettings } from '../../contracts/notifications.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { ROLES, type Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { isUuid } from '../../contracts/uuid.ts';
import { hasRole, isAdmin, TEAMS_OF_USER, type Actor } from '../auth/actor.ts';
import type { HumanTask } from '../hitl/human-task.ts';
import {
  claimantOf,
  hasDelegated,
  isAssignee,
  isCandidate,
  isConcerned,
  isExcluded,
  mayApprove,
  maySee,
} from '../hitl/policy.ts';
import { candidateKeys } from '../hitl/principals.ts';
import { OF_PERSON } from './channels.ts';

export interface Notice {
  id: string;
  task_id: string;
  reason: NoticeReason;
  data: Record<string, unknown>;
  after_user: string | null;
  told: number;
}

export interface Recipient extends Actor {
  settings: NotificationSettings;
  /** Own chats. */
  channels: { id: string; kinds: NotificationKind[] }[];
}

/** The people whom the notice concerns now, as principals. */
export async function noticePrincipals(
  em: EntityManager,
  { reason, data }: Notice,
  task: HumanTask,
): Promise<string[]> {
  switch (reason) {
    case 'created':
    case 'returned':
      return task.principals;
    case 'stranded':
      return ['role:admin'];
    case 'reminder':
    case 'expiring': {
      const claimant = claimantOf(task);
      return claimant === null ? task.principals : [`id:${claimant}`];
    }
    case 'escalated':
      return candidateKeys(em, readCandidates(data['to']));
    case 'delegated':
      return typeof data['to'] === 'string' ? [`id:${data['to']}`] : [];
    case 'commented':
      return texts(data['mentions']).map((id) => `id:${id}`);
  }
}

/** What this notice is for the person; null if they need not be told. */
export function kindFor(
  person: Actor,
  { reason, data }: Pick<Notice, 'reason' | 'data'>,
  task: HumanTask,
  voters: ReadonlySet<string>,
): NotificationKind | null {
  if (data['by'] === person.id) return null;
  if (reason === 'commented') return maySee(person, task) ? 'mentioned' : null;
  // Only whether enough of them are left is of interest.
  if (reason === 'returned' && data['changed'] === false) return null;
  const mayDecide = mayApprove(person, task) && !isExcluded(person, task);
  if (reason === 'stranded')
    return isAdmin(person) && mayDecide && !voters.has(person.id) ? 'escalation' : null;
  if (!isConcerned(person, task) || !mayDecide || hasDelegated(person, task) || voters.has(person.id))
    return null;
  if (reason === 'escalated') return 'escalation';
  if (reason === 'reminder' || reason === 'expiring') return reason;
  return reason === 'delegated' || isAssignee(person, task) ? 'assigned' : 'candidate';
}

const COLUMNS = `u.id, u.username, to_json(u.roles) as roles, to_json(u.groups) as groups,
  ${TEAMS_OF_USER}, coalesce(s.content, '{}') as settings,
  (select coalesce(json_agg(json_build_object('id', c.id, 'kinds', c.kinds)), '[]')
     from notification_channel c
    where c.owner_id = u.id and c.active and ${OF_PERSON}) as channels`;
const FROM = 'user_account u left join notification_settings s on s.user_id = u.id';

/** What principals with this prefix name, such as the ids of teams with `team:`. */
export function principalsNamed(prefix: string, principals: readonly string[]): string[] {
  return principals.filter((word) => word.startsWith(prefix)).map((word) => word.slice(prefix.length));
}

/** Active people of these principals by id, after `after`. */
export async function findRecipients(
  em: EntityManager,
  principals: readonly string[],
  page: { after: string | null; limit: number },
): Promise<Recipient[]> {
  const words = (prefix: string): string[] => principalsNamed(prefix, principals);
  const roles = rolesWith(words('role:'));
  const named = [
    ['u.id = any(?::uuid[])', words('id:')],
    ['lower(u.username) = any(?::text[])', words('name:')],
    ['u.roles && ?::text[]', roles],
    ['u.groups && ?::text[]', words('group:')],
    [
      // Viewers of a team decide nothing in it.
      `u.id in (select m.user_id from team_member m
                 where m.team_id = any(?::uuid[]) and m.role <> 'viewer')`,
      words('team:').filter((word) => isUuid(word)),
    ],
  ] as const;
  const used = named.filter(([, values]) => values.length > 0);
  if (used.length === 0) return [];
  return em.execute<Recipient[]>(
    `select ${COLUMNS}
       from ${FROM}
      where u.status = 'active' and u.id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
        and (${used.map(([condition]) => condition).join(' or ')})
      order by u.id limit ?`,
    [page.after, ...used.map(([, values]) => arrayLiteral(values)), page.limit],
  );
}

/** The deputies of those among these people who are absent now. */
export async function findDeputies(
  em: EntityManager,
  ids: readonly string[],
): Promise<(Recipient & { absent_id: string })[]> {
  if (ids.length === 0) return [];
  return em.execute<(Recipient & { absent_id: string })[]>(
    `select a.user_id as absent_id, ${COLUMNS}
       from absence a join (${FROM}) on u.id = a.deputy_id
      where a.user_id = any(?::uuid[]) and u.status = 'active'
        and a.from_at <= clock_timestamp() and a.until_at > clock_timestamp()
      order by a.user_id`,
    [arrayLiteral(ids)],
  );
}

/** Whether the deputy can decide in the absent person's place; of a quorum, nobody has two votes. */
export function standsIn(
  deputy: Recipient,
  task: Pick<
    HumanTask,
    'principals' | 'delegates' | 'quorum' | 'initiator_id' | 'initiator_ids' | 'excluded'
  >,
  voters: ReadonlySet<string>,
): boolean {
  if (!hasRole(deputy, 'approver') || isExcluded(deputy, task) || voters.has(deputy.id)) return false;
  return task.quorum === null || !isCandidate(deputy, task);
}

/** The roles that include one of these. */
export function rolesWith(named: readonly string[]): Role[] {
  return ROLES.filter((_role, index) => named.some((word) => isRole(word) && ROLES.indexOf(word) <= index));
}

function isRole(word: string): word is Role {
  return ROLES.some((role) => role === word);
}

function readCandidates(given: unknown): Required<Candidates> {
  const { users, roles, groups, teams } = isRecord(given) ? given : {};
  return { users: texts(users), roles: texts(roles), groups: texts(groups), teams: texts(teams) };
}

function texts(given: unknown): string[] {
  return Array.isArray(given) ? given.filter((entry) => typeof entry === 'string') : [];
}
