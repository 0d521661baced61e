/** What people chose about their notifications. */
import { randomBytes } from 'node:crypto';

import type { OptionalMailKind } from '../../contracts/account-mails.ts';
import type { NotificationKind } from '../../contracts/notification-kinds.ts';
import type { NotificationSettings } from '../../contracts/notifications.ts';
import type { EntityManager } from '../../db/orm.ts';

export interface StoredSettings {
  content: NotificationSettings;
  /** Counts the changes; 0 before the first. */
  version: number;
}

export async function getNotificationSettings(em: EntityManager, userId: string): Promise<StoredSettings> {
  const [row] = await em.execute<StoredSettings[]>(
    'select content, version from notification_settings where user_id = ?',
    [userId],
  );
  return row ?? { content: {}, version: 0 };
}

/** Like `getNotificationSettings`, and keeps others from changing them until the transaction ends. */
export async function lockNotificationSettings(em: EntityManager, userId: string): Promise<StoredSettings> {
  await unsubscribeKey(em, userId);
  const [row] = await em.execute<StoredSettings[]>(
    'select content, version from notification_settings where user_id = ? for update',
    [userId],
  );
  return row ?? { content: {}, version: 0 };
}

export async function storeNotificationSettings(
  em: EntityManager,
  userId: string,
  content: NotificationSettings,
): Promise<StoredSettings> {
  const [row] = await em.execute<StoredSettings[]>(
    `update notification_settings set content = ?::jsonb, version = version + 1 where user_id = ?
     returning content, version`,
    [JSON.stringify(content), userId],
  );
  if (row === undefined) throw new Error('the settings vanished under their lock');
  return row;
}

/** What the address in a person's mails contains. It can only turn their mails off, so it does not expire. */
export async function unsubscribeKey(em: EntityManager, userId: string): Promise<string> {
  await em.execute(
    `insert into notification_settings (user_id, unsubscribe_key) values (?, ?)
     on conflict (user_id) do nothing`,
    [userId, randomBytes(24).toString('base64url')],
  );
  const [row] = await em.execute<{ unsubscribe_key: string }[]>(
    'select unsubscribe_key from notification_settings where user_id = ?',
    [userId],
  );
  if (row === undefined) throw new Error('The settings were not written');
  return row.unsubscribe_key;
}

export async function isUnsubscribeKey(em: EntityManager, key: string): Promise<boolean> {
  const rows = await em.execute<object[]>('select 1 from notification_settings where unsubscribe_key = ?', [
    key,
  ]);
  return rows.length > 0;
}

/** Turns mails off: of these kinds. @returns whose the key is; null for nobody's */
export async function unsubscribe(
  em: EntityManager,
  key: string,
  kinds: readonly (NotificationKind | OptionalMailKind)[],
): Promise<string | null> {
  const off = Object.fromEntries(kinds.map((kind) => [kind, false]));
  const [row] = await em.execute<{ user_id: string }[]>(
    `update notification_settings
        set content = content || jsonb_build_object('mail', coalesce(content -> 'mail', '{}') || ?::jsonb),
            version = version + 1
      where unsubscribe_key = ? returning user_id`,
    [JSON.stringify(off), key],
  );
  return row?.user_id ?? null;
}
