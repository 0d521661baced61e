/** Mails about changes of accounts, and about credentials that end, with a real mail server. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';

import { countEndingCredentials, tellOfEndingCredentials } from '../../../domain/auth/ending-credentials.ts';
import { prepareMessages } from '../../../domain/notifications/prepare.ts';
import { createClient, startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { mailSender, smtpSettings, type MailSender } from '../../support/account-mails.ts';
import { headerOf, partOf, startMailServer, type MailServer } from '../../support/mail-server.ts';
import { totpCode } from '../../support/totp.ts';

const PASSWORD = 'correct horse battery';
const DAY_MS = 86_400_000;
const TOKEN = 'a-token-of-at-least-thirty-two-bytes';
let smtp: MailServer;
let app: TestApp;
let admin: Client;
let mails: MailSender;
let count = 0;

beforeAll(async () => {
  smtp = await startMailServer();
  app = await startTestApp({ env: { ...smtpSettings(smtp), METRICS_TOKEN: TOKEN } });
  mails = mailSender(app);
  admin = await app.as('admin');
});
beforeEach(async () => {
  await sql('delete from account_notice');
  await sql('delete from account_mail');
  smtp.mails.length = 0;
});
afterAll(async () => {
  mails?.close();
  await app?.close();
  await smtp?.close();
});

const sql = <T = object>(text: string, values: unknown[] = []): Promise<T[]> =>
  app.orm.em.fork().execute<T[]>(text, values);

interface Person {
  id: string;
  username: string;
  email: string;
  own: Client;
}

async function person(): Promise<Person> {
  count += 1;
  const username = `told${count}`;
  const body = { username, email: `${username}@example.com`, roles: ['builder'], password: PASSWORD };
  const made = await admin.post('/users', body);
  const { body: tokens } = await app.anonymous.post('/auth/token', { username, password: PASSWORD });
  return { ...made.body, own: createClient(app.url, tokens.access_token) };
}

/** What was sent, as address and subject, in a fixed order. */
async function sent(): Promise<string[]> {
  await mails.send();
  const lines = smtp.mails.map((mail) => `${mail.to.join()}: ${headerOf(mail, 'Subject')}`);
  smtp.mails.length = 0;
  return lines.sort();
}

const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();
const token = (own: Client, name: string, days = 30) =>
  own.post('/users/me/tokens', { name, scopes: ['runs:read'], expires_at: inDays(days) });

/** As if the person had made them a month ago. */
const endTokensSoon = (userId: string) =>
  sql(
    `update access_token set expires_at = now() + interval '2 days', created_at = now() - interval '30 days'
      where user_id = ?`,
    [userId],
  );

describe('a person is told', () => {
  test('of a new password, by whomever, and of none that is the same', async () => {
    const { id, email, own } = await person();
    const passwords = { current_password: PASSWORD, new_password: `${PASSWORD} 2` };
    expect((await own.post('/users/me/password', passwords)).status).toBe(204);
    expect(await sent()).toEqual([`${email}: Your password at 127.0.0.1 was changed`]);
    await admin.patch(`/users/${id}`, { password: null });
    expect(await sent()).toEqual([`${email}: Your password at 127.0.0.1 was switched off`]);
    await admin.patch(`/users/${id}`, { password: PASSWORD });
    await admin.patch(`/users/${id}`, { display_name: 'Somebody' });
    expect(await sent()).toEqual([`${email}: Your password at 127.0.0.1 was set`]);
    expect(await sent()).toEqual([]);
  });

  test('of second factors that come and go', async () => {
    const { id, email, own } = await person();
    const { secret } = (await own.post('/users/me/totp')).body;
    expect(await sent()).toEqual([]);
    const code = totpCode(secret);
    expect((await own.post('/users/me/totp/confirm', { code })).status).toBe(200);
    await mails.send();
    const [mail] = smtp.mails;
    expect(partOf(mail, 'text/plain')).toContain('authenticator app.');
    expect(mail?.source).not.toContain(secret);
    expect(await sent()).toEqual([`${email}: A second factor at 127.0.0.1 was added`]);
    await sql(
      `insert into passkey (id, user_id, credential_id, public_key, counter, transports, name)
       values (gen_random_uuid(), ?, 'c', '', 0, '{}', 'my <laptop>')`,
      [id],
    );
    await mails.send();
    expect(partOf(smtp.mails[0], 'text/html')).toContain('passkey my &lt;laptop&gt;.');
    smtp.mails.length = 0;
    expect((await admin.delete(`/users/${id}/second-factor`)).status).toBe(204);
    const removed = `${email}: A second factor at 127.0.0.1 was removed`;
    expect(await sent()).toEqual([removed, removed]);
  });

  test('of another e-mail address, at both', async () => {
    const { id, email } = await person();
    const next = `new-${email}`;
    await admin.patch(`/users/${id}`, { email: next });
    // What is sent follows the change, not a later one.
    await admin.patch(`/users/${id}`, { display_name: 'Somebody' });
    await mails.send();
    expect(partOf(smtp.mails[0], 'text/plain')).toContain(next);
    const subject = 'Your e-mail address at 127.0.0.1 was changed';
    expect(await sent()).toEqual([`${next}: ${subject}`, `${email}: ${subject}`].sort());
  });

  test('of new tokens, machine clients and roles, unless they chose otherwise', async () => {
    const { id, email, own } = await person();
    expect((await token(own, 'ci')).status).toBe(201);
    expect((await own.post('/users/me/clients', { name: 'nightly' })).status).toBe(201);
    await admin.patch(`/users/${id}`, { roles: ['builder', 'approver'] });
    expect(await sent()).toEqual([
      `${email}: A new access token ci at 127.0.0.1`,
      `${email}: A new machine client nightly at 127.0.0.1`,
      `${email}: You have a new role at 127.0.0.1`,
    ]);
    await admin.patch(`/users/${id}`, { roles: ['builder'] });
    expect(await sent()).toEqual([]);

    const mail = { credential_made: false, roles_changed: false };
    expect((await own.put('/notifications/settings', { mail })).status).toBe(200);
    await token(own, 'other');
    await admin.patch(`/users/${id}`, { roles: ['admin'] });
    await admin.patch(`/users/${id}`, { password: `${PASSWORD} 3` });
    expect(await sent()).toEqual([`${email}: Your password at 127.0.0.1 was changed`]);
    const states = await sql<{ kind: string; status: string }>(
      `select kind, status from account_mail where user_id = ? and status = 'dropped' order by kind`,
      [id],
    );
    expect(states.map(({ kind }) => kind)).toEqual(['credential_made', 'roles_changed']);
    const refused = await own.put('/notifications/settings', { mail: { password_changed: false } });
    expect(refused.status).toBe(401);
    const again = await app.anonymous.post('/auth/token', {
      username: email,
      password: `${PASSWORD} 3`,
    });
    const fresh = createClient(app.url, again.body.access_token);
    const wrong = await fresh.put('/notifications/settings', { mail: { password_changed: false } });
    expect(wrong.status).toBe(422);
  });

  test('and turns such mails off by the link in them', async () => {
    const { own, email } = await person();
    await token(own, 'first');
    await mails.send();
    const [mail] = smtp.mails;
    const [, link = ''] = /^<(.*)>$/.exec(headerOf(mail, 'List-Unsubscribe') ?? '') ?? [];
    expect(new URL(link).searchParams.get('kinds')).toBe('credential_made');
    const done = await fetch(link, { method: 'POST', body: new URLSearchParams() });
    expect(done.status).toBe(200);
    smtp.mails.length = 0;
    await token(own, 'second');
    expect(await sent()).toEqual([]);
    expect((await own.get('/notifications/settings')).body.mail).toEqual({ credential_made: false });
    expect(email).not.toBe('');
  });

  test('nothing once their data is erased, nor without a mail server', async () => {
    const { id, own } = await person();
    await token(own, 'ci');
    await sql(
      `update user_account set erased_at = now(), status = 'disabled', password_hash = null, email = 'gone'
        where id = ?`,
      [id],
    );
    expect(await sent()).toEqual([]);
    const other = await person();
    await token(other.own, 'ci');
    await prepareMessages({ ...mails.notifications.expand, hasMail: false });
    expect(await sql('select 1 from account_notice')).toEqual([]);
    expect(await sent()).toEqual([]);
  });
});

describe('credentials that end', () => {
  test('are told twice, 14 and 3 days before, and not if they were made for less', async () => {
    const { id, own, email } = await person();
    for (const name of ['long', 'later', 'ended']) await token(own, name, 60);
    await token(own, 'short', 10);
    await sql('delete from account_notice');
    const age = (name: string, left: string, lived: string) =>
      sql(
        `update access_token set expires_at = now() + ?::interval, created_at = now() - ?::interval
          where name = ? and user_id = ?`,
        [left, lived, name, id],
      );
    await age('long', '13 days 23 hours', '30 days');
    await age('later', '14 days 1 hour', '30 days');
    await age('ended', '-1 hour', '30 days');
    const tell = () => tellOfEndingCredentials(app.orm.em.fork());
    expect(await tell()).toBe(1);
    expect(await tell()).toBe(0);
    await mails.send();
    expect(partOf(smtp.mails[0], 'text/plain')).toContain(`${app.url}/console/settings/tokens`);
    expect(partOf(smtp.mails[0], 'text/plain')).not.toContain('It belongs to');
    expect(await sent()).toEqual([`${email}: Ends soon: access token long`]);

    await age('long', '2 days 23 hours', '30 days');
    await age('short', '2 days', '8 days');
    expect(await tell()).toBe(2);
    expect(await tell()).toBe(0);
    expect(await sent()).toEqual([
      `${email}: Ends soon: access token long`,
      `${email}: Ends soon: access token short`,
    ]);
    expect(await countEndingCredentials(app.orm.em.fork())).toMatchObject({ access_token: 2 });
    const { body } = await createClient(app.url, TOKEN).get('/metrics');
    expect(body).toContain('cadenza_credentials_ending{kind="access_token"} 2');
  });

  test('of machines and directories are told to admins', async () => {
    const { id, own, email, username } = await person();
    await own.post('/users/me/clients', { name: 'nightly' });
    const issuer = { name: 'corp', title: 'Corp', issuer: 'https://id.example.com', client_id: 'cadenza' };
    const { id: issuerId } = (await admin.post('/identity-issuers', issuer)).body;
    await admin.post(`/identity-issuers/${issuerId}/scim-tokens`, { name: 'directory' });
    await sql('delete from account_notice');
    for (const table of ['auth_client', 'scim_token'])
      await sql(
        `update ${table} set expires_at = now() + interval '1 day', created_at = now() - interval '80 days'`,
      );
    expect(await tellOfEndingCredentials(app.orm.em.fork())).toBeGreaterThanOrEqual(3);
    await mails.send();
    const toAdmin = smtp.mails.filter(({ to }) => to.includes('the-admin@example.com'));
    expect(toAdmin.map((mail) => headerOf(mail, 'Subject')).sort()).toEqual([
      'Ends soon: SCIM token directory',
      'Ends soon: machine client nightly',
    ]);
    const ofMachine = toAdmin.find((mail) => headerOf(mail, 'Subject')?.includes('nightly'));
    expect(partOf(ofMachine, 'text/plain')).toContain(`It belongs to ${username}.`);
    expect(smtp.mails.filter(({ to }) => to.includes(email))).toHaveLength(1);
    expect(id).not.toBe('');
  });

  test('are not told when the time of the mail is over', async () => {
    const { id, own } = await person();
    await token(own, 'late', 60);
    await endTokensSoon(id);
    await sent();
    expect(await tellOfEndingCredentials(app.orm.em.fork())).toBe(1);
    await sql(`update account_mail set expires_at = now() where user_id = ?`, [id]);
    expect(await sent()).toEqual([]);
    const rows = await sql(`select status, error from account_mail where user_id = ? and kind = ?`, [
      id,
      'credential_ends',
    ]);
    expect(rows).toEqual([{ status: 'failed', error: 'It could not be sent in time' }]);
  });

  test('at once by two workers are told once', async () => {
    const { id, own } = await person();
    await token(own, 'shared', 60);
    await endTokensSoon(id);
    const tell = () => tellOfEndingCredentials(app.orm.em.fork());
    const told = await Promise.all([tell(), tell(), tell()]);
    expect(told.sort()).toEqual([0, 0, 1]);
  });
});
