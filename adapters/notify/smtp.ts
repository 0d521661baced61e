/**
 * Mails by SMTP, through the server that the operator named. A server's 4xx, and what has no answer, is worth
 * another attempt; a 5xx is not, unless it refuses us and not the mail (RFC 5321 section 4.2.1).
 */
import { readFileSync } from 'node:fs';

import { createTransport } from 'nodemailer';

import { isRecord } from '../../contracts/is-record.ts';
import type { Mail, Mailer, SendOutcome } from '../../domain/ports.ts';

/** The settings of these names. */
interface MailSettings {
  SMTP_HOST?: string | undefined;
  SMTP_PORT: number;
  SMTP_TLS: 'starttls' | 'implicit' | 'none';
  SMTP_TLS_CA?: string | undefined;
  SMTP_USERNAME?: string | undefined;
  SMTP_PASSWORD?: string | undefined;
  SMTP_FROM?: string | undefined;
}

const CONNECT_MS = 5_000;
const ANSWER_MS = 10_000;
/** All of it, however slowly the server answers. Shorter than the heartbeat timeout of deliveries. */
const TOTAL_MS = 20_000;
const MAX_CONNECTIONS = 4;
const MAX_ERROR = 500;

/** Null unless SMTP_HOST is set. */
export function createMailer(settings: MailSettings, totalMs = TOTAL_MS): Mailer | null {
  const { SMTP_HOST: host, SMTP_FROM: from, SMTP_PASSWORD: pass } = settings;
  if (host === undefined || from === undefined) return null;
  const transport = createTransport({
    ...serverOptions(settings),
    pool: true,
    // The outbox repeats what failed.
    maxRequeues: 0,
    maxConnections: MAX_CONNECTIONS,
    // Neither files nor addresses: all content is text.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send(mail) {
      try {
        // Later the message leaves the queue, or its connection ends: nothing is sent after we gave up.
        await transport.sendMail({ ...messageOf(mail, from), signal: AbortSignal.timeout(totalMs) });
        return { sent: true };
      } catch (error) {
        return refusalOf(error, pass);
      }
    },
    close: () => transport.close(),
  };
}

/** Connects and logs in as for a mail, and sends none. @returns why it does not work, or null */
export async function mailServerProblem(settings: MailSettings): Promise<string | null> {
  const transport = createTransport(serverOptions(settings));
  try {
    await transport.verify();
    return null;
  } catch (error) {
    const refusal = refusalOf(error, settings.SMTP_PASSWORD);
    return 'error' in refusal ? refusal.error : 'it does not answer';
  } finally {
    transport.close();
  }
}

function serverOptions(settings: MailSettings) {
  const { SMTP_HOST: host, SMTP_PORT: port, SMTP_TLS: tls, SMTP_TLS_CA: ca } = settings;
  const { SMTP_USERNAME: user, SMTP_PASSWORD: pass } = settings;
  return {
    ...(host === undefined ? {} : { host }),
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(ca === undefined ? {} : { tls: { ca: readFileSync(ca, 'utf8') } }),
    ...(user === undefined || pass === undefined ? {} : { auth: { user, pass } }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: ANSWER_MS,
  };
}

function messageOf({ to, subject, text, html, messageId, unsubscribe }: Mail, from: string) {
  return {
    from,
    // An object is one address, whatever characters it has.
    to: { name: '', address: to },
    subject,
    text,
    html,
    messageId,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      ...(unsubscribe === undefined
        ? {}
        : {
            'List-Unsubscribe': { prepared: true, value: `<${unsubscribe}>` },
            'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
          }),
    },
  };
}

function refusalOf(error: unknown, password: string | undefined): SendOutcome {
  const { responseCode: answer, code, message } = isRecord(error) ? error : {};
  const text = code === 'EABORT' ? 'the mail server took too long' : String(message ?? error);
  // A wrong password is the operator's mistake, and soon mended.
  const isOurs = code === 'EAUTH' || code === 'ETLS' || code === 'ENOAUTH';
  const permanent = !isOurs && typeof answer === 'number' && answer >= 500 && answer < 600;
  const clean = password === undefined ? text : text.replaceAll(password, '[password]');
  return { sent: false, permanent, error: clean.slice(0, MAX_ERROR) };
}
