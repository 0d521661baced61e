/** Mails about accounts, from the request to the log-in, sent by a worker through a real mail server. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { linkTo, smtpSettings, tokenOf } from '../../support/account-mails.ts';
import { startMailServer, type MailServer } from '../../support/mail-server.ts';
import { startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';

const EMAIL = 'ann@example.com';
const FIRST = 'correct horse battery';
const SECOND = 'staple battery horse correct';

let smtp: MailServer;
let platform: TestPlatform;

beforeAll(async () => {
  smtp = await startMailServer();
  platform = await startTestPlatform({ env: smtpSettings(smtp) });
});
afterAll(async () => {
  await platform?.close();
  await smtp?.close();
});

/** Follows the link of the mail that comes to a person who has got `known` mails with links. */
async function choosePassword(known: number, password: string): Promise<void> {
  await until(
    async () => mailsWithLink(),
    (count) => count > known,
  );
  const token = tokenOf(linkTo(smtp.mails, EMAIL));
  expect((await platform.anonymous.post('/auth/password', { token, password })).status).toBe(204);
}

const mailsWithLink = (): number =>
  smtp.mails.filter(({ source }) => source.includes('/console/password')).length;
const logIn = async (password: string): Promise<number> =>
  (await platform.anonymous.post('/auth/token', { username: 'ann', password })).status;

test('an invited person gets a mail, chooses a password and logs in; so does one who forgot it', async () => {
  const admin = await platform.as('admin');
  const created = await admin.post('/users', {
    username: 'ann',
    email: EMAIL,
    roles: ['builder'],
    password: null,
  });
  expect(created.status).toBe(201);
  const invited = await admin.post(`/users/${created.body.id}/invitation`, {});
  expect([invited.status, invited.body.mailed_to]).toEqual([200, EMAIL]);
  await choosePassword(0, FIRST);
  expect([await logIn(SECOND), await logIn(FIRST)]).toEqual([401, 200]);

  expect((await platform.anonymous.post('/auth/password-requests', { name: EMAIL })).status).toBe(202);
  await choosePassword(1, SECOND);
  expect([await logIn(FIRST), await logIn(SECOND)]).toEqual([401, 200]);
});
