/** Invitations and forgotten passwords, through HTTP and with a real mail server. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';

import { prepareMessages } from '../../../domain/notifications/prepare.ts';
import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../../support/app.ts';
import { linkTo, mailSender, smtpSettings, tokenOf, type MailSender } from '../../support/account-mails.ts';
import { headerOf, partOf, startMailServer, type MailServer } from '../../support/mail-server.ts';
import { recordStatements } from '../../support/statements.ts';
import { totpCode } from '../../support/totp.ts';

const PASSWORD = 'correct horse battery';
const OTHER = 'staple battery horse correct';
let smtp: MailServer;
let app: TestApp;
let admin: Client;
let mails: MailSender;
let count = 0;
/** What the API logs, of every level. */
const logged: string[] = [];

beforeAll(async () => {
  smtp = await startMailServer();
  const sink = { write: (line: string) => void logged.push(line) };
  app = await startTestApp({ env: smtpSettings(smtp), logger: pino({ level: 'trace' }, sink) });
  mails = mailSender(app);
  admin = await app.as('admin');
});
beforeEach(async () => {
  await sql('delete from login_attempt');
  await sql('delete from account_notice');
  await sql('delete from account_mail');
  await sql('delete from password_request');
  smtp.mails.length = 0;
  smtp.attempts = 0;
  smtp.refusals.length = 0;
});
afterAll(async () => {
  mails?.close();
  await app?.close();
  await smtp?.close();
});

const sql = <T = object>(text: string, values: unknown[] = []): Promise<T[]> =>
  app.orm.em.fork().execute<T[]>(text, values);

interface Account {
  id: string;
  username: string;
  email: string;
}

async function account(password: string | null, more: object = {}): Promise<Account> {
  count += 1;
  const username = `person${count}`;
  const body = { username, email: `${username}@example.com`, roles: ['builder'], password, ...more };
  const reply = await admin.post('/users', body);
  expect(reply.status).toBe(201);
  return reply.body;
}

/** The tables of a request for a password, and of who asks. */
const OF_REQUEST = /password_request|login_attempt|user_account|audit_entry/;
const withoutValues = (statement: string): string => statement.replaceAll(/'[^']*'/g, '?');
const invite = (id: string) => admin.post(`/users/${id}/invitation`, {});
const userOf = async (id: string) => (await admin.get(`/users/${id}`)).body;
const ask = (name: string): Promise<Reply> => app.anonymous.post('/auth/password-requests', { name });
const read = (link: string) => app.anonymous.post('/auth/password-link', { token: tokenOf(link) });
const choose = (link: string, password = PASSWORD) =>
  app.anonymous.post('/auth/password', { token: tokenOf(link), password });
const logIn = (username: string, password = PASSWORD): Promise<Reply> =>
  app.anonymous.post('/auth/token', { username, password });

async function askedLink({ email }: Account, name = email): Promise<string> {
  expect((await ask(name)).status).toBe(202);
  await mails.send();
  return linkTo(smtp.mails, email);
}

async function invitedLink({ id, email }: Account): Promise<string> {
  expect((await invite(id)).status).toBe(200);
  await mails.send();
  return linkTo(smtp.mails, email);
}

describe('an invitation', () => {
  test('is a mail with a link by which the person chooses a password, once', async () => {
    const ann = await account(null, { display_name: 'Ann <b>' });
    const sent = await invite(ann.id);
    expect([sent.status, sent.body.mailed_to, sent.body.link]).toEqual([200, ann.email, null]);
    await mails.send();
    await mails.send();
    expect(smtp.mails).toHaveLength(1);
    const [mail] = smtp.mails;
    expect(mail?.to).toEqual([ann.email]);
    expect(headerOf(mail, 'Subject')).toBe('Your account at 127.0.0.1');
    expect(partOf(mail, 'text/plain')).toContain(`Your username is ${ann.username}.`);
    expect(partOf(mail, 'text/plain')).toContain('It was made by the-admin.');
    expect(partOf(mail, 'text/html')).toContain('Hello Ann &lt;b&gt;,');
    expect((await userOf(ann.id)).invited_until).toBe(sent.body.expires_at);

    const link = linkTo(smtp.mails, ann.email);
    // Programs open links in mails: the page is the same for everybody, and nothing is used up.
    expect(new URL(link).pathname).toBe('/console/password');
    const found = await read(link);
    expect([found.status, found.body.username, found.body.purpose]).toEqual([
      200,
      ann.username,
      'invitation',
    ]);
    expect((await read(link)).status).toBe(200);
    const short = await choose(link, 'short');
    expect([short.status, short.body.errors[0].pointer]).toEqual([422, '/password']);

    expect((await choose(link)).status).toBe(204);
    expect((await logIn(ann.username)).status).toBe(200);
    expect(await userOf(ann.id)).toMatchObject({ has_password: true, invited_until: null });
    const again = await choose(link, OTHER);
    expect([again.status, again.body.code, again.body.detail]).toEqual([
      410,
      'link_void',
      'The link has been used.',
    ]);
    expect((await logIn(ann.username, OTHER)).status).toBe(401);
  });

  test('stays when a whole account is written again, and can be taken back', async () => {
    const amy = await account(null);
    const link = await invitedLink(amy);
    const same = await admin.patch(`/users/${amy.id}`, { email: amy.email, display_name: 'Amy' });
    expect(same.body.invited_until).toEqual(expect.any(String));
    expect((await read(link)).status).toBe(200);
    expect((await admin.delete(`/users/${amy.id}/invitation`)).status).toBe(204);
    expect((await read(link)).body.code).toBe('link_void');
  });

  test('is sent again, which ends the link of before, and is taken back', async () => {
    const bob = await account(null);
    const first = await invitedLink(bob);
    const second = await invitedLink(bob);
    expect((await read(first)).body.code).toBe('link_void');
    expect((await read(second)).status).toBe(200);
    expect((await admin.delete(`/users/${bob.id}/invitation`)).status).toBe(204);
    expect((await read(second)).body.code).toBe('link_void');
    expect((await choose(second)).status).toBe(410);
    expect((await userOf(bob.id)).invited_until).toBeNull();
    const none = await admin.delete(`/users/${bob.id}/invitation`);
    expect([none.status, none.body.code]).toEqual([409, 'not_invited']);
    // A mail that waits when the invitation is taken back is not sent.
    expect((await invite(bob.id)).status).toBe(200);
    expect((await admin.delete(`/users/${bob.id}/invitation`)).status).toBe(204);
    smtp.mails.length = 0;
    await mails.send();
    expect(smtp.mails).toEqual([]);
  });

  test('ends when the account is disabled, or gets another address or a password', async () => {
    for (const change of [{ status: 'disabled' }, { email: 'elsewhere@example.com' }, { password: OTHER }]) {
      const one = await account(null);
      const link = await invitedLink(one);
      const changed = await admin.patch(`/users/${one.id}`, change);
      expect([changed.status, changed.body.invited_until]).toEqual([200, null]);
      expect((await read(link)).body.code).toBe('link_void');
      await admin.patch(`/users/${one.id}`, { email: `${one.username}@example.org` });
    }
  });

  test('ends after INVITATION_DAYS', async () => {
    const one = await account(null);
    const { expires_at: until } = (await invite(one.id)).body;
    const days = (Date.parse(until) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(7);
    await mails.send();
    await sql('update account_link set expires_at = now() where user_id = ?', [one.id]);
    expect((await choose(linkTo(smtp.mails, one.email))).status).toBe(410);
  });

  test('is for active accounts without a password, by admins with a fresh log-in', async () => {
    const codeOf = async (id: string) => (await invite(id)).body.code;
    const withPassword = await account(PASSWORD);
    expect(await codeOf(withPassword.id)).toBe('has_password');
    const disabled = await account(null);
    await admin.patch(`/users/${disabled.id}`, { status: 'disabled' });
    expect(await codeOf(disabled.id)).toBe('account_disabled');
    const nowhere = await account(null, { email: 'x@corp.invalid' });
    expect(await codeOf(nowhere.id)).toBe('no_mail_address');
    const fresh = await account(null);
    const path = `/users/${fresh.id}/invitation`;
    expect((await app.anonymous.post(path, {})).status).toBe(401);
    expect((await (await app.as('builder')).post(path, {})).status).toBe(403);
    const corp = { name: 'corp', title: 'Corp', issuer: 'https://id.example.com', client_id: 'cadenza' };
    const { id: issuer } = (await admin.post('/identity-issuers', corp)).body;
    await sql('update user_account set issuer_id = ? where id = ?', [issuer, fresh.id]);
    expect(await codeOf(fresh.id)).toBe('single_sign_on');
    expect((await admin.post(`/users/${fresh.id}/invitation`, { days: 3 })).status).toBe(409);
    expect((await admin.post('/users/0197a1b2-0000-7000-8000-000000000001/invitation', {})).status).toBe(404);
  });

  test('repeats a refused mail with a new link, and keeps none', async () => {
    const one = await account(null);
    smtp.refusals.push(451);
    await invite(one.id);
    await mails.send();
    await sql(`update account_mail set due_at = clock_timestamp() where status = 'pending'`);
    await mails.send();
    expect([smtp.attempts, smtp.mails.length]).toEqual([2, 1]);
    const link = linkTo(smtp.mails, one.email);
    const stored = JSON.stringify([
      await sql('select * from account_mail'),
      await sql(`select id, user_id, purpose, encode(unnest(token_hashes), 'escape') from account_link`),
    ]);
    expect(stored).not.toContain(tokenOf(link));
    expect((await choose(link)).status).toBe(204);
  });
});

test('without a mail server the admin gets the link, once, and a request for one is refused', async () => {
  const plain = await startTestApp();
  try {
    const boss = await plain.as('admin');
    const body = { username: 'zoe', email: 'zoe@example.com', roles: ['viewer'], password: null };
    const { id } = (await boss.post('/users', body)).body;
    const sent = await boss.post(`/users/${id}/invitation`, {});
    expect([sent.status, sent.body.mailed_to]).toEqual([200, null]);
    expect(sent.headers.get('cache-control')).toBe('no-store');
    expect(JSON.stringify((await boss.get(`/users/${id}`)).body)).not.toContain('#');
    const { link } = sent.body;
    const chosen = await plain.anonymous.post('/auth/password', { token: tokenOf(link), password: PASSWORD });
    expect(chosen.status).toBe(204);
    const asked = await plain.anonymous.post('/auth/password-requests', { name: 'zoe' });
    expect([asked.status, asked.body.code]).toEqual([409, 'mail_not_set_up']);
    expect((await plain.anonymous.get('/auth/issuers')).body.password_links).toBe(false);
    const again = await boss.post(`/users/${id}/invitation`, {});
    expect([again.body.code, again.body.detail]).toEqual([
      'has_password',
      expect.stringContaining('Without a mail server an admin sets another one: PATCH /users/{id}'),
    ]);
  } finally {
    await plain.close();
  }
});

describe('a forgotten password', () => {
  test('is replaced by a link; sessions end, and the second factor stays', async () => {
    const ann = await account(PASSWORD);
    const before = createClient(app.url, (await logIn(ann.username)).body.access_token);
    const { secret } = (await before.post('/users/me/totp')).body;
    const code = totpCode(secret);
    expect((await before.post('/users/me/totp/confirm', { code })).status).toBe(200);
    // Wrong passwords would keep the right one out.
    for (let n = 0; n < 10; n++) await logIn(ann.username, 'wrong wrong wrong');
    expect((await logIn(ann.username)).status).toBe(429);

    const link = await askedLink(ann, ann.email.toUpperCase());
    expect(smtp.mails[0]?.to).toEqual([ann.email]);
    expect((await read(link)).body).toMatchObject({ username: ann.username, purpose: 'password' });
    expect((await before.get('/users/me')).status).toBe(200);
    expect((await choose(link, OTHER)).status).toBe(204);
    expect((await before.get('/users/me')).status).toBe(401);
    const next = await logIn(ann.username, OTHER);
    expect([next.status, next.body.code]).toEqual([401, 'mfa_required']);
    expect((await logIn(ann.username)).status).toBe(401);
    expect((await choose(link)).status).toBe(410);
  });

  test('is answered the same whether there is an account, by the same statements', async () => {
    const ann = await account(PASSWORD);
    const shape = ({ status, body, headers }: Reply) => [
      status,
      body,
      [...headers.keys()].filter((name) => name !== 'x-request-id').sort(),
    ];
    const statements = await recordStatements(app.orm);
    const asked = async (name: string) => {
      statements.length = 0;
      const answer = shape(await ask(name));
      // Others are of what the process does beside.
      return { answer, statements: statements.filter((text) => OF_REQUEST.test(text)).map(withoutValues) };
    };
    const known = await asked(ann.username);
    expect(known.answer.slice(0, 2)).toEqual([202, null]);
    expect(known.statements.filter((text) => text.includes('insert into password_request'))).toHaveLength(1);
    expect(await asked('nobody-at-all')).toEqual(known);
    expect(await asked(ann.email)).toEqual(known);
    const rows = await sql<{ known: boolean }>(
      'select user_id is not null as known from password_request order by id',
    );
    expect(rows.map((row) => row.known)).toEqual([true, false, true]);
    await mails.send();
    expect(await sql('select 1 from password_request')).toEqual([]);
    // The second request ended the link of the first, but its mail had not been sent yet.
    expect(smtp.mails.length).toBe(1);
    expect((await read(linkTo(smtp.mails, ann.email))).status).toBe(200);
  });

  test('gets a mail that says so where there is no password, and none for a disabled account', async () => {
    const off = await account(null);
    const disabled = await account(PASSWORD);
    await admin.patch(`/users/${disabled.id}`, { status: 'disabled' });
    await ask(off.username);
    await ask(disabled.username);
    await mails.send();
    expect(smtp.mails.map(({ to }) => to)).toEqual([[off.email]]);
    expect(partOf(smtp.mails[0], 'text/plain')).toContain('The account has no password of its own.');
    expect(smtp.mails[0]?.source).not.toContain('#');
    const entries = (await admin.get(`/audit?object_id=${off.id}&action=sendPasswordLink`)).body;
    expect(entries).toMatchObject([{ outcome: 'refused', details: { code: 'no_password' } }]);
  });

  test('is limited: 429 by name and address, and in silence by account', async () => {
    const ann = await account(PASSWORD);
    for (let n = 0; n < 10; n++) expect((await ask(ann.username)).status).toBe(202);
    const refused = await ask(ann.username);
    expect([refused.status, refused.body.detail]).toEqual([
      429,
      'Too many requests for a new password. Try again later.',
    ]);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    // Another name of the same account does not tell that it is one.
    expect((await ask(ann.email)).status).toBe(202);
    await mails.send();
    const written = await sql('select 1 from account_mail where user_id = ?', [ann.id]);
    expect(written).toHaveLength(3);
    // Failed log-ins are counted apart.
    expect((await logIn(ann.username)).status).toBe(200);
  });

  test('a link ends when the account gets a password by other means, and others are no links', async () => {
    const ann = await account(PASSWORD);
    const link = await askedLink(ann, ann.username);
    await admin.patch(`/users/${ann.id}`, { password: OTHER });
    expect((await choose(link)).status).toBe(410);
    for (const token of ['x', 'a.b.c', tokenOf(link).slice(0, -2)]) {
      const reply = await app.anonymous.post('/auth/password', { token, password: PASSWORD });
      expect([reply.status, reply.body.code]).toEqual([404, 'not_found']);
    }
    const access = (await logIn(ann.username, OTHER)).body.access_token;
    const foreign = await app.anonymous.post('/auth/password', { token: access, password: PASSWORD });
    expect(foreign.status).toBe(404);
  });

  test('two who use one link at once: one password is set', async () => {
    const ann = await account(PASSWORD);
    const link = await askedLink(ann, ann.username);
    const replies = await Promise.all([choose(link, `${OTHER} 1`), choose(link, `${OTHER} 2`)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 410]);
    const refused = replies.find(({ status }) => status === 410);
    expect(refused?.body).toMatchObject({ code: 'link_void', detail: 'The link has been used.' });
  });

  test('one request that cannot be answered does not hold up the others', async () => {
    const [first, second] = [await account(PASSWORD), await account(PASSWORD)];
    await ask(first.username);
    await ask(second.username);
    const failures: unknown[] = [];
    await sql(`alter table account_mail add constraint broken check (user_id <> '${first.id}')`);
    await prepareMessages({ ...mails.notifications.expand, failed: (error) => void failures.push(error) });
    await sql('alter table account_mail drop constraint broken');
    expect(failures).toHaveLength(1);
    await mails.send();
    expect(smtp.mails.map(({ to }) => to[0]).sort()).toEqual([first.email, second.email].sort());
  });
});

test('every step is in the audit log, and no link is in it, nor in logs', async () => {
  const one = await account(null);
  const link = await invitedLink(one);
  await choose(link);
  const reset = await askedLink(one, one.username);
  await choose(reset, OTHER);
  const { body } = await admin.get(`/audit?object_id=${one.id}`);
  const actions = body.map(({ action }: { action: string }) => action);
  expect(actions.filter((name: string) => name !== 'createUser').sort()).toEqual([
    'choosePassword',
    'choosePassword',
    'sendInvitation',
    'sendPasswordLink',
  ]);
  const all = JSON.stringify((await admin.get('/audit?limit=200')).body);
  for (const address of [link, reset]) {
    expect(all).not.toContain(tokenOf(address));
    expect(logged.join('')).not.toContain(tokenOf(address));
  }
  expect(logged.join('')).toContain('/auth/password');
  const own = body.filter(({ action }: { action: string }) => action === 'choosePassword');
  expect(own.map(({ details }: any) => details.by).sort()).toEqual(['invitation', 'password']);
});
