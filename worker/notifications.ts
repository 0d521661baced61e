/** What a worker needs to tell people of human tasks. */
import { loadTemplates } from '../domain/notifications/load-templates.ts';
import { createMailer } from '../adapters/notify/smtp.ts';
import type { Env } from '../config/env.ts';
import type { Logger } from '../config/logger.ts';
import type { Orm } from '../db/orm.ts';
import { STANDARD_RETRY, type RetryPolicy } from '../domain/delivery/retry.ts';
import type { NotifyDeps } from '../domain/notifications/deliver.ts';
import type { SigningKeys } from '../domain/auth/signing-keys.ts';
import type { PrepareDeps } from '../domain/notifications/prepare.ts';
import type { DeliverySender } from '../domain/ports.ts';
import type { Encryption } from '../domain/secrets/encryption.ts';

export interface Notifications {
  expand: PrepareDeps;
  deliver: NotifyDeps;
}

/** @throws Error for templates that are wrong */
export function createNotifications(given: {
  orm: Orm;
  env: Env;
  encryption: Encryption;
  keys: SigningKeys;
  sender: DeliverySender;
  retry?: RetryPolicy;
  logger?: Logger;
  undecidable?: () => void;
}): Notifications {
  const { orm, env, encryption, keys, sender, retry = STANDARD_RETRY, logger, undecidable } = given;
  const mailer = createMailer(env);
  const timeZone = env.NOTIFY_TIME_ZONE;
  return {
    expand: {
      orm,
      hasMail: mailer !== null,
      timeZone,
      maxRecipients: env.NOTIFY_MAX_RECIPIENTS,
      passwordLinkMinutes: env.PASSWORD_LINK_MINUTES,
      failed: (error) =>
        logger?.warn({ err: error }, 'cannot tell people of a task or an account, trying again'),
      ...(undecidable && { undecidable }),
    },
    deliver: {
      orm,
      encryption,
      sender,
      mailer,
      retry,
      timeZone,
      baseUrl: env.BASE_URL,
      links: {
        keys,
        baseUrl: env.BASE_URL,
        allowed: env.DECISION_LINKS,
        hours: env.DECISION_LINK_HOURS,
      },
      templates: loadTemplates(env.NOTIFY_TEMPLATES),
    },
  };
}
