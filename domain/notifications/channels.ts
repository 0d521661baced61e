/**
 * Chats that are told of human tasks: of their owner, of a group (by admins), of a team (by its admins), of a
 * workflow (by whoever may change it). Their addresses let anybody post, so they are secrets and never shown
 * again.
 */
import { v7 as uuidv7 } from 'uuid';

import type { ChatFormat, ChatSilence, NotificationKind } from '../../contracts/notification-kinds.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, type KeysetPage } from '../../db/sql.ts';
import { hasRole, isAdmin, type Actor } from '../auth/actor.ts';
import { hasTeamRole, teamsWith } from '../auth/ownership.ts';
import { forbidden, invalid, notFound, type AppError } from '../errors.ts';
import { checkQuota } from '../quotas/check.ts';
import type { QuotaEnv } from '../quotas/settings.ts';
import type { Encryption } from '../secrets/encryption.ts';

export interface Channel {
  id: string;
  owner_id: string;
  name: string;
  format: ChatFormat;
  group_name: string | null;
  workflow_id: string | null;
  team_id: string | null;
  kinds: NotificationKind[];
  active: boolean;
  /** Null also for one that is off. */
  silent: ChatSilence | null;
  last_error: string | null;
  created_at: Date;
  updated_at: Date;
}

export interface NewChannel extends Pick<
  Channel,
  'name' | 'format' | 'group_name' | 'workflow_id' | 'team_id' | 'kinds'
> {
  url: string;
}

/** SQL: the chat `c` is told of the tasks of its owner. */
export const OF_PERSON = `(c.group_name is null and c.workflow_id is null and c.team_id is null)`;

/** SQL: the owner `o` of the chat `c` has the right that its kind needs. */
const OWNER_HAS_RIGHT = `(
  ${OF_PERSON} or 'admin' = any(o.roles)
  or exists (select from workflow w where w.id = c.workflow_id and w.holder_id = any(rights_held(o.id))))`;

/** SQL: the chat `c` is told of its tasks: one of a team always, others while their owner `o` may have it. */
export const IS_TOLD = `(c.team_id is not null or o.status = 'active' and ${OWNER_HAS_RIGHT})`;

const COLUMNS = `c.id, c.owner_id, c.name, c.format, c.group_name, c.workflow_id, c.team_id,
  to_json(c.kinds) as kinds, c.active, c.last_error, c.created_at, c.updated_at,
  case when not c.active or ${IS_TOLD} then null
       when o.status <> 'active' then 'owner_disabled' else 'owner_not_allowed' end as silent`;
const FROM = 'notification_channel c join user_account o on o.id = c.owner_id';

/** Oldest first: the actor's own, those of teams that they administer, and to admins everyone's. */
export async function listChannels(em: EntityManager, actor: Actor, page: KeysetPage): Promise<Channel[]> {
  return em.execute<Channel[]>(
    `select ${COLUMNS} from ${FROM}
      where (c.owner_id = ? or c.team_id = any(?::uuid[]) or ?)
        and c.id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
      order by c.id limit ?`,
    [actor.id, arrayLiteral(teamsWith(actor, 'admin')), isAdmin(actor), page.after ?? null, page.limit],
  );
}

/** Of its owner, of admins of its team, and of admins. @throws 404 */
export async function getChannel(em: EntityManager, actor: Actor, id: string): Promise<Channel> {
  const [row] = await em.execute<Channel[]>(
    `select ${COLUMNS} from ${FROM} where c.id = ? for no key update of c`,
    [id],
  );
  if (!row || !mayManage(actor, row)) throw notFound('notification channel');
  return row;
}

/** Without the role that chats need, a person's own chat does not count. */
function mayManage(actor: Actor, channel: Channel): boolean {
  const { owner_id: owner, workflow_id: workflow, team_id: team } = channel;
  if (isAdmin(actor) || hasTeamRole(actor, team, 'admin')) return true;
  return owner === actor.id && (actor.teamsOnly !== true || workflow !== null || team !== null);
}

/**
 * The actor may change the workflow, and administers the team. @throws 403 for a chat of a group by somebody
 * who is no admin, and for their own by whoever has the role in teams only; 409 for too many
 */
export async function createChannel(
  em: EntityManager,
  encryption: Encryption,
  actor: Actor,
  { url, ...fields }: NewChannel,
  limits: QuotaEnv,
): Promise<Channel> {
  if (fields.group_name !== null && !isAdmin(actor))
    throw forbidden('Only admins set up chats of groups.', 'role_required');
  if (actor.teamsOnly && fields.workflow_id === null && fields.team_id === null)
    throw forbidden('This requires the role approver, or a team.', 'role_required');
  const id = uuidv7();
  await em.execute(
    `insert into notification_channel (id, owner_id, name, format, url_encrypted, group_name,
       workflow_id, team_id, kinds)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?::text[])`,
    [
      id,
      actor.id,
      fields.name,
      fields.format,
      encryption.encrypt(url, channelContext(id)),
      fields.group_name,
      fields.workflow_id,
      fields.team_id,
      arrayLiteral(fields.kinds),
    ],
  );
  await checkQuota(em, limits, 'chats', actor.id);
  return getChannel(em, actor, id);
}

export interface ChannelChanges {
  name?: string | undefined;
  kinds?: NotificationKind[] | undefined;
  active?: boolean | undefined;
  url?: string | undefined;
}

/** Turning it on again forgets its failures. */
export async function updateChannel(
  em: EntityManager,
  encryption: Encryption,
  actor: Actor,
  { id }: Channel,
  { name, kinds, active, url }: ChannelChanges,
): Promise<Channel> {
  await em.execute(
    `update notification_channel
        set name = coalesce(?, name), kinds = coalesce(?::text[], kinds), active = coalesce(?, active),
            url_encrypted = coalesce(?, url_encrypted), failures = case when ? then 0 else failures end,
            last_error = case when ? then null else last_error end, updated_at = clock_timestamp()
      where id = ?`,
    [
      name ?? null,
      kinds === undefined ? null : arrayLiteral(kinds),
      active ?? null,
      url === undefined ? null : encryption.encrypt(url, channelContext(id)),
      active === true,
      active === true,
      id,
    ],
  );
  return getChannel(em, actor, id);
}

/**
 * Gives the chat another owner, whose tasks a person's own is told of from then on. Only admins decide that:
 * the address stays, and lets whoever reads there see the tasks.
 * @throws 403; 422 for a person who may not have such a chat; 409 for too many
 */
export async function moveChannel(
  em: EntityManager,
  actor: Actor,
  channel: Channel,
  ownerId: string,
  limits: QuotaEnv,
): Promise<void> {
  if (!isAdmin(actor)) throw forbidden('Only admins move chats.', 'role_required');
  if (ownerId === channel.owner_id) return;
  const [owner] = await em.execute<(Actor & { may: boolean })[]>(
    `select o.id, o.username, to_json(o.roles) as roles, to_json(o.groups) as groups,
            ${OWNER_HAS_RIGHT} or exists (select from team_member m
              where m.team_id = c.team_id and m.user_id = o.id and m.role = 'admin') as may
       from user_account o, notification_channel c
      where o.id = ? and o.status = 'active' and c.id = ?`,
    [ownerId, channel.id],
  );
  if (owner === undefined) throw refusedOwner('unknown_user', 'is not an active user');
  const isOwn = channel.group_name === null && channel.workflow_id === null && channel.team_id === null;
  if (!owner.may || (isOwn && !hasRole(owner, 'approver')))
    throw refusedOwner('owner_not_allowed', 'may not have a chat of this kind');
  await em.execute(
    'update notification_channel set owner_id = ?, updated_at = clock_timestamp() where id = ?',
    [ownerId, channel.id],
  );
  await checkQuota(em, limits, 'chats', ownerId);
}

function refusedOwner(code: string, message: string): AppError {
  return invalid([{ pointer: '/owner_id', code, message }]);
}

export async function deleteChannel(em: EntityManager, { id }: Channel): Promise<void> {
  await em.execute('delete from notification_channel where id = ?', [id]);
}

/**
 * The chats of workflows that were handed over, and those of groups and teams if the new owner may have them.
 * The former owner's own stay theirs. @returns how many
 */
export async function handOverChats(
  em: EntityManager,
  { from, to }: { from: string; to: string },
): Promise<number> {
  const moved = await em.execute<object[]>(
    `update notification_channel c set owner_id = ?
      where c.owner_id = ? and (
        exists (select from workflow w where w.id = c.workflow_id and w.holder_id = ?)
        or (c.group_name is not null or c.team_id is not null)
           and exists (select from user_account u where u.id = ? and 'admin' = any(u.roles))
        or exists (select from team_member m
                    where m.team_id = c.team_id and m.user_id = ? and m.role = 'admin'))
      returning 1`,
    [to, from, to, to, to],
  );
  return moved.length;
}

/** Its address, to send to it now; null if it is off, or its owner may not have it any more. */
export async function openChannelUrl(
  em: EntityManager,
  encryption: Encryption,
  id: string,
): Promise<{ url: string; format: ChatFormat } | null> {
  const [row] = await em.execute<{ url_encrypted: string; format: ChatFormat }[]>(
    `select c.url_encrypted, c.format from ${FROM} where c.id = ? and c.active and ${IS_TOLD}`,
    [id],
  );
  return row ? { url: encryption.decrypt(row.url_encrypted, channelContext(id)), format: row.format } : null;
}

export function channelContext(id: string): string {
  return `notification-channel:${id}`;
}
