/** Sends the mails that are due, as workers do, and reads their links. */
import { STANDARD_RETRY } from '../../domain/delivery/retry.ts';
import { deliverNotifications } from '../../domain/notifications/deliver.ts';
import { prepareMessages } from '../../domain/notifications/prepare.ts';
import { SHARDS } from '../../domain/notifications/shards.ts';
import { createNotifications, type Notifications } from '../../worker/notifications.ts';
import type { TestApp } from './app.ts';
import { partOf, type MailServer, type ReceivedMail } from './mail-server.ts';

/** Settings for a mail server of a test. */
export function smtpSettings({ port }: Pick<MailServer, 'port'>): Record<string, string> {
  return {
    SMTP_HOST: '127.0.0.1',
    SMTP_PORT: String(port),
    SMTP_TLS: 'none',
    SMTP_FROM: 'Cadenza <cadenza@example.com>',
  };
}

export interface MailSender {
  notifications: Notifications;
  send(): Promise<void>;
  close(): void;
}

export function mailSender({ app, orm, env }: TestApp): MailSender {
  const { encryption, keys, sender } = app.deps;
  const retry = { ...STANDARD_RETRY, firstMs: 1, steadyMs: 1 };
  const notifications = createNotifications({ orm, env, encryption, keys, sender, retry });
  return {
    notifications,
    async send() {
      await prepareMessages(notifications.expand);
      for (let shard = 0; shard < SHARDS; shard++)
        await deliverNotifications(notifications.deliver, shard, {
          max: 20,
          signal: new AbortController().signal,
          heartbeat: () => {},
        });
    },
    close() {
      notifications.deliver.mailer?.close();
      app.deps.mailer.mailer?.close();
    },
  };
}

/** The link of the newest mail to an address that has one, in both its parts. */
export function linkTo(mails: readonly ReceivedMail[], address: string): string {
  const mail = mails.findLast((one) => one.to.includes(address) && LINK.test(partOf(one, 'text/plain')));
  const [link = ''] = LINK.exec(partOf(mail, 'text/plain')) ?? [];
  if (link === '' || !partOf(mail, 'text/html').includes(`href="${link}"`))
    throw new Error(`no mail to ${address} has a link`);
  return link;
}

const LINK = /http\S+\/console\/password#[\w.-]+/;

export function tokenOf(link: string): string {
  return new URL(link).hash.slice(1);
}
