/** What a person chooses of the notifications of human tasks and accounts (docs/notifications.md). */
import { z } from 'zod';

import { OPTIONAL_MAIL_KINDS } from './account-mails.ts';
import { DIGESTS, NOTIFICATION_KINDS } from './notification-kinds.ts';

const clock = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 22:00')
  .meta({ description: 'Time of day, such as `22:00`.' });

const timeZone = z
  .string()
  .max(100)
  .refine(isTimeZone, 'must be a time zone such as Europe/Paris')
  .meta({ description: 'IANA time zone, such as `Europe/Paris`.' });

const ofKinds = <const Kind extends string>(kinds: readonly Kind[]) =>
  z.partialRecord(z.enum(kinds), z.boolean()).meta({ description: 'By kind; what is not listed is sent.' });

/** What a person chooses; what is left out has its default. */
export const notificationSettings = z.object({
  mail: ofKinds([...NOTIFICATION_KINDS, ...OPTIONAL_MAIL_KINDS]).optional(),
  chat: ofKinds(NOTIFICATION_KINDS).optional(),
  digest: z
    .enum(DIGESTS)
    .optional()
    .meta({ description: 'Whether mails are collected into one an hour or a day. Default: `off`.' }),
  digest_at: clock.optional().meta({ description: 'Of the daily digest. Default: `08:00`.' }),
  quiet_hours: z
    .strictObject({ from: clock, to: clock })
    .nullable()
    .optional()
    .meta({ description: 'Nothing is sent in between; it is sent afterwards.' }),
  time_zone: timeZone
    .nullable()
    .optional()
    .meta({ description: 'Default: NOTIFY_TIME_ZONE of the platform.' }),
});
export type NotificationSettings = z.output<typeof notificationSettings>;

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
