/** Notifications of human tasks: docs/notifications.md. */
import * as z from 'zod';

import { NOTIFICATION_KINDS } from '../../../contracts/notification-kinds.ts';
import { notificationSettings } from '../../../contracts/notifications.ts';
import { TASK_STATUSES } from '../../../contracts/hitl.ts';
import {
  countUnread,
  listNotifications,
  markRead,
  MAX_UNREAD,
  type Notification,
} from '../../../domain/notifications/inbox.ts';
import {
  getNotificationSettings,
  lockNotificationSettings,
  storeNotificationSettings,
  type StoredSettings,
} from '../../../domain/notifications/settings.ts';
import { renderMail } from '../../../domain/notifications/templates.ts';
import { conflict } from '../../../domain/errors.ts';
import { getUser } from '../../../domain/auth/users.ts';
import type { AppDeps } from '../../deps.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { endpoint, media, type Endpoint, type EndpointResponse } from '../../endpoint.ts';
import { byId, readPage } from '../../paging.ts';
import { flag, emptyBody, pageQuery, timestamp, uuid } from '../../schemas.ts';
import { channelEndpoints } from './channels.ts';
import { streamNotifications } from './stream.ts';
import { unsubscribeEndpoints } from './unsubscribe.ts';

const TAGS = ['notifications'];
const kind = z.enum(NOTIFICATION_KINDS);
const person = z.object({ id: uuid, display_name: z.string() });

const notificationRecord = z
  .object({
    id: uuid,
    kind,
    task: z.object({
      id: uuid,
      title: z.string(),
      workflow_name: z.string(),
      status: z.enum(TASK_STATUSES),
    }),
    actor: person.nullable().meta({ description: 'Who commented or delegated.' }),
    in_place_of: person.nullable().meta({ description: 'The absent person whose deputy you are.' }),
    comment: z.string().nullable().meta({ description: 'The beginning of the comment that mentions you.' }),
    created_at: timestamp,
    read_at: timestamp.nullable(),
  })
  .meta({ id: 'Notification' });

const unreadRecord = z
  .object({
    unread: z
      .int()
      .min(0)
      .max(MAX_UNREAD)
      .meta({ description: `${MAX_UNREAD}: or more.` }),
  })
  .meta({ id: 'UnreadNotifications' });

const settingsRecord = notificationSettings
  .extend({
    mail_available: z.boolean().meta({ description: 'Whether this platform sends mails.' }),
    default_time_zone: z.string(),
  })
  .meta({ id: 'NotificationSettings' });

export function notificationEndpoints(deps: AppDeps): Endpoint[] {
  return [
    ...inboxEndpoints(deps),
    ...settingsEndpoints(deps),
    ...channelEndpoints(deps),
    ...unsubscribeEndpoints(),
    testMailEndpoint(deps),
  ];
}

function inboxEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/notifications',
      operationId: 'listNotifications',
      summary: "List the caller's notifications, newest first",
      tags: TAGS,
      role: 'viewer',
      scope: 'hitl:read',
      query: z.object({ ...pageQuery, unread: flag.optional(), kind: kind.optional() }),
      responses: { 200: z.array(notificationRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listNotifications(c.em, c.actor.id, filter, page),
        );
        return { status: 200, body: items.map(present), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/notifications/summary',
      operationId: 'getNotificationSummary',
      summary: 'Count the notifications that the caller has not read',
      tags: TAGS,
      role: 'viewer',
      scope: 'hitl:read',
      responses: { 200: unreadRecord },
      handler: async (c) => ({ status: 200, body: { unread: await countUnread(c.em, c.actor.id) } }),
    }),
    endpoint({
      method: 'GET',
      path: '/notifications/stream',
      operationId: 'streamNotifications',
      summary: 'Stream how many notifications the caller has not read, as Server-Sent Events',
      description: 'An event `unread` with `{unread}` at the start and at each change.',
      tags: TAGS,
      role: 'viewer',
      scope: 'hitl:read',
      responses: { 200: media({ 'text/event-stream': z.string() }) },
      handler: async (c) => streamNotifications(deps, c),
    }),
    endpoint({
      method: 'POST',
      path: '/notifications/read',
      operationId: 'markNotificationsRead',
      audit: false,
      summary: 'Mark notifications as read',
      description:
        '`ids`, or with `up_to` that one and all before it. What is read is not sent by mail any more.',
      tags: TAGS,
      role: 'viewer',
      clientRole: 'approver',
      scope: 'hitl:decide',
      body: z
        .object({ ids: z.array(uuid).max(200).optional(), up_to: uuid.optional() })
        .refine(({ ids, up_to: upTo }) => (ids === undefined) !== (upTo === undefined), 'give ids or up_to')
        .meta({ id: 'ReadNotifications' }),
      responses: { 200: unreadRecord },
      handler: async (c) => {
        const { ids = [], up_to: upTo } = c.body;
        await markRead(c.em, c.actor.id, upTo === undefined ? { ids } : { up_to: upTo });
        return { status: 200, body: { unread: await countUnread(c.em, c.actor.id) } };
      },
    }),
  ];
}

function settingsEndpoints({ env, mailer }: AppDeps): Endpoint[] {
  const answer = (userId: string, { content, version }: StoredSettings): EndpointResponse => ({
    status: 200,
    body: {
      ...content,
      mail_available: mailer.mailer !== null,
      default_time_zone: env.NOTIFY_TIME_ZONE,
    },
    headers: { ETag: etag(userId, version) },
  });
  return [
    endpoint({
      method: 'GET',
      path: '/notifications/settings',
      operationId: 'getNotificationSettings',
      summary: 'Get what the caller is told, and when',
      tags: TAGS,
      role: 'viewer',
      responses: { 200: settingsRecord },
      handler: async (c) => answer(c.actor.id, await getNotificationSettings(c.em, c.actor.id)),
    }),
    endpoint({
      method: 'PUT',
      path: '/notifications/settings',
      operationId: 'putNotificationSettings',
      summary: 'Choose what you are told, and when',
      description:
        'Replaces all of it; what is left out has its default. The console always shows everything.',
      tags: TAGS,
      role: 'viewer',
      clientRole: 'builder',
      body: notificationSettings.meta({ id: 'NotificationSettingsRequest' }),
      record: settingsRecord,
      responses: { 200: settingsRecord },
      errors: [412],
      handler: async (c) => {
        const { id } = c.actor;
        const { version } = await lockNotificationSettings(c.em, id);
        c.checkSyntax();
        checkIfMatch(c.ctx, etag(id, version));
        return answer(id, await storeNotificationSettings(c.em, id, c.body));
      },
    }),
  ];
}

function testMailEndpoint({ mailer: { mailer, templates }, env }: AppDeps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/notifications/test-mail',
    operationId: 'sendTestMail',
    summary: 'Send a mail to yourself now, to try the mail server',
    description: '409 `mail_not_set_up` without SMTP_HOST. `error` is what the server answered.',
    tags: TAGS,
    role: 'admin',
    body: emptyBody,
    responses: {
      200: z
        .object({ sent: z.boolean(), to: z.string(), error: z.string().nullable() })
        .meta({ id: 'TestMail' }),
    },
    errors: [409],
    idempotent: false,
    transaction: false,
    handler: async (c) => {
      c.checkSyntax();
      if (mailer === null) throw conflict('mail_not_set_up', 'Mails are not set up: set SMTP_HOST.');
      const user = await getUser(c.em, c.actor.id);
      const mail = renderMail(templates.test, {
        recipient: user.display_name ?? user.username,
        link: `${env.BASE_URL}/console/`,
      });
      const outcome = await mailer.send({
        to: user.email,
        ...mail,
        messageId: `<${c.requestId.replaceAll(/[^\w.-]/g, '')}.test@${new URL(env.BASE_URL).hostname}>`,
      });
      return {
        status: 200,
        body: { sent: outcome.sent, to: user.email, error: outcome.sent ? null : outcome.error },
      };
    },
  });
}

function present(row: Notification): z.input<typeof notificationRecord> {
  const { id, kind: what, task_id, title, workflow_name, task_status: status, comment } = row;
  const personOf = (personId: string | null, name: string | null) =>
    personId === null ? null : { id: personId, display_name: name ?? '' };
  return {
    id,
    kind: what,
    task: { id: task_id, title, workflow_name, status },
    actor: personOf(row.actor_id, row.actor_name),
    in_place_of: personOf(row.in_place_of, row.in_place_of_name),
    comment,
    created_at: new Date(row.created_at).toISOString(),
    read_at: row.read_at === null ? null : new Date(row.read_at).toISOString(),
  };
}
