/** Mails by a real SMTP server with TLS and a log-in: nothing is sent in clear where TLS is asked for. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SMTPServerOptions } from 'smtp-server';

import { createMailer } from '../../../adapters/notify/smtp.ts';
import type { SendOutcome } from '../../../domain/ports.ts';
import { brokerFolder, removeFolder, selfSignedCertificate } from '../../support/brokers/broker-process.ts';
import { startMailServer, type MailServer } from '../../support/mail-server.ts';

const mail = {
  to: 'ann@example.com',
  subject: 'Hi',
  text: 'Hi',
  html: '<p>Hi</p>',
  messageId: '<1@example.com>',
};
const PASSWORD = 'right password';
let folder: string;
let ca: string;
let tls: Pick<SMTPServerOptions, 'key' | 'cert'>;

beforeAll(() => {
  folder = brokerFolder();
  const { certificate, key } = selfSignedCertificate(folder);
  ca = certificate;
  tls = { key: readFileSync(key), cert: readFileSync(certificate) };
});
afterAll(() => removeFolder(folder));

interface Settings {
  SMTP_TLS: 'starttls' | 'implicit' | 'none';
  SMTP_TLS_CA?: string;
  SMTP_PASSWORD?: string;
}

async function send(server: MailServer, settings: Settings): Promise<SendOutcome | undefined> {
  const standard = { SMTP_USERNAME: 'cadenza', SMTP_PASSWORD: PASSWORD, SMTP_FROM: 'c@example.com' };
  const mailer = createMailer({
    SMTP_HOST: 'localhost',
    SMTP_PORT: server.port,
    ...standard,
    ...settings,
  });
  try {
    return await mailer?.send(mail);
  } finally {
    mailer?.close();
  }
}

test.each([
  ['starttls', { disabledCommands: [] }],
  ['implicit', { secure: true }],
] as const)('by TLS (%s), a mail is sent after a log-in, if the authority is known', async (kind, more) => {
  const server = await startMailServer({ ...tls, ...more, authOptional: false, disabledCommands: [] });
  try {
    const settings = { SMTP_TLS: kind, SMTP_TLS_CA: ca };
    expect(await send(server, settings)).toEqual({ sent: true });
    expect(server.mails).toMatchObject([{ isSecure: true, user: 'cadenza', to: ['ann@example.com'] }]);
    const unknown = await send(server, { SMTP_TLS: kind });
    expect(unknown).toMatchObject({ sent: false, permanent: false });
    expect(JSON.stringify(unknown)).toMatch(/self.signed certificate/i);
    const wrong = await send(server, { ...settings, SMTP_PASSWORD: 'wrong secret' });
    expect(wrong).toMatchObject({ sent: false, permanent: false });
    expect(JSON.stringify(wrong)).not.toContain('wrong secret');
    expect(server.mails).toHaveLength(1);
  } finally {
    await server.close();
  }
});

test('a server that offers no TLS gets neither the password nor the mail', async () => {
  const attempts: string[] = [];
  const server = await startMailServer({
    onAuth: ({ username = '' }, _session, done) => {
      attempts.push(username);
      done(null, { user: username });
    },
  });
  try {
    expect(await send(server, { SMTP_TLS: 'starttls', SMTP_TLS_CA: ca })).toMatchObject({ sent: false });
    expect([attempts, server.mails]).toEqual([[], []]);
  } finally {
    await server.close();
  }
});
