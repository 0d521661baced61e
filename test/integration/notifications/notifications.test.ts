import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import type { NewHumanTask } from '../../../contracts/activities.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { STANDARD_RETRY } from '../../../domain/delivery/retry.ts';
import { createMailer } from '../../../adapters/notify/smtp.ts';
import { createAccessToken } from '../../../domain/auth/access-tokens.ts';
import { deliverNotifications } from '../../../domain/notifications/deliver.ts';
import { expandNotices, noticeExpiring } from '../../../domain/notifications/expand.ts';
import { countUndecidable } from '../../../domain/notifications/undecidable.ts';
import { SHARDS } from '../../../domain/notifications/shards.ts';
import { appendEvents, serviceEvent } from '../../../domain/runs/events.ts';
import { createNotifications, type Notifications } from '../../../worker/notifications.ts';
import { createClient, startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { startServer, type TestServer } from '../../support/http-server.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { headerOf, partOf, startMailServer, type MailServer } from '../../support/mail-server.ts';

let app: TestApp;
let smtp: MailServer;
let chat: TestServer;
let chatAnswer = 200;
let notifications: Notifications;
let owner: TestUser;
let ann: TestUser;
let bob: TestUser;
let asAnn: Client;
let asBob: Client;
let asAdmin: Client;
let runId: string;
const annMail = 'ann@example.com';

beforeAll(async () => {
  smtp = await startMailServer();
  chat = await startServer((_request, response) => void response.writeHead(chatAnswer).end('ok'));
  app = await startTestApp({
    env: {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(smtp.port),
      SMTP_TLS: 'none',
      SMTP_FROM: 'Cadenza <cadenza@example.com>',
      DECISION_LINKS: 'true',
      EGRESS_ALLOW: '127.0.0.1',
    },
  });
  notifications = start(app.env);
  owner = await app.createUser({ username: 'olga', roles: ['builder'] });
  ann = await app.createUser({ username: 'ann', roles: ['approver'], groups: ['finance'] });
  bob = await app.createUser({ username: 'bob', roles: ['approver'], groups: ['finance'] });
  [asAnn, asBob, asAdmin] = await Promise.all([app.as(ann), app.as(bob), app.as('admin')]);
  runId = await insertRun(app.orm, { owner: owner.id });
});
beforeEach(async () => {
  await sql('delete from notice');
  await sql('delete from notification_delivery');
  smtp.mails.length = 0;
  smtp.attempts = 0;
  smtp.refusals.length = 0;
  chat.seen.length = 0;
  chatAnswer = 200;
});
afterAll(async () => {
  notifications.deliver.mailer?.close();
  app.app.deps.mailer.mailer?.close();
  await app.close();
  await Promise.all([smtp.close(), chat.close()]);
});

function start(env: TestApp['env']): Notifications {
  const { encryption, keys, sender } = app.app.deps;
  const retry = { ...STANDARD_RETRY, firstMs: 1, steadyMs: 1 };
  return createNotifications({ orm: app.orm, env, encryption, keys, sender, retry });
}

const sql = <T = object>(text: string, values: unknown[] = []): Promise<T[]> =>
  app.orm.em.fork().execute<T[]>(text, values);
const forAnn: Partial<NewHumanTask> = { candidates: { users: ['ann'], roles: [], groups: [] } };

/** What happens in the run's log, as activities write it. */
async function happens(
  task: string,
  type: string,
  data: Record<string, unknown> = {},
  run = runId,
): Promise<void> {
  const event = serviceEvent({ key: uuidv7(), type, message: '', data: { hitl_task_id: task, ...data } });
  await app.orm.em
    .fork()
    .transactional((em) => appendEvents(em, run, { events: [event], projection: null, acks: [] }));
}

async function ask(given: Partial<NewHumanTask> = forAnn): Promise<string> {
  const run = given.run_id ?? runId;
  const id = await insertTask(app.orm, run, given);
  await happens(id, EVENT.hitlCreated, {}, run);
  return id;
}

async function expand(): Promise<void> {
  await expandNotices(notifications.expand);
}

/** Tells everybody, and sends what is due. */
async function send({ deliver }: Pick<Notifications, 'deliver'> = notifications): Promise<void> {
  await expand();
  for (let shard = 0; shard < SHARDS; shard++)
    await deliverNotifications(deliver, shard, {
      max: 20,
      signal: new AbortController().signal,
      heartbeat: () => {},
    });
}

const dueNow = (): Promise<unknown> =>
  sql(`update notification_delivery set due_at = clock_timestamp() where status = 'pending'`);
const deliveries = (task: string) =>
  sql<{ status: string; attempts: number; error: string | null }>(
    'select status, attempts, error from notification_delivery where task_id = ? order by id',
    [task],
  );

describe('people are told', () => {
  test('once of each change, by a mail in two forms that names no secret, and in their list', async () => {
    const id = await ask({ ...forAnn, title: 'Pay <b>10 €</b>', description: 'From the shop & co' });
    await send();
    await send();
    expect(smtp.mails).toHaveLength(1);
    const [mail] = smtp.mails;
    expect(mail?.to).toEqual([annMail]);
    expect(mail?.from).toBe('cadenza@example.com');
    expect(partOf(mail, 'text/plain')).toContain('Pay <b>10 €</b>');
    expect(partOf(mail, 'text/html')).toContain('Pay &lt;b&gt;10 €&lt;/b&gt;');
    expect(partOf(mail, 'text/html')).toContain('From the shop &amp; co');
    expect(partOf(mail, 'text/plain')).toContain(`${app.url}/console/inbox?task=${id}`);
    expect(headerOf(mail, 'Auto-Submitted')).toBe('auto-generated');
    const listed = await asAnn.get('/notifications?unread=true');
    expect(listed.body).toMatchObject([{ kind: 'candidate', task: { id, status: 'open' }, read_at: null }]);
    expect((await asBob.get('/notifications')).body).toEqual([]);
    expect((await app.anonymous.get('/notifications')).status).toBe(401);
  });

  test('the assignee as assigned, members of a group as candidates, never whoever caused it', async () => {
    const id = await ask({
      assignee: 'bob',
      candidates: { users: [], roles: [], groups: ['finance'] },
    });
    await expand();
    const kinds = await sql('select user_id, kind from notification where task_id = ? order by kind', [id]);
    expect(kinds).toEqual([
      { user_id: bob.id, kind: 'assigned' },
      { user_id: ann.id, kind: 'candidate' },
    ]);
    const delegated = await asBob.post(`/hitl/tasks/${id}/delegate`, { to: 'ann' });
    expect(delegated.status).toBe(200);
    await expand();
    const [latest] = (await asAnn.get('/notifications')).body;
    expect(latest).toMatchObject({ kind: 'assigned', actor: { id: bob.id }, task: { id } });
  });

  test('the approvers of a team that is a candidate, whatever their role on the platform', async () => {
    const lead = await app.createUser({ username: 'lead', roles: ['viewer'] });
    const tina = await app.createUser({ username: 'tina', roles: ['viewer'] });
    const vic = await app.createUser({ username: 'vic', roles: ['viewer'] });
    const team = (await asAdmin.post('/teams', { name: 'auditors', admin: lead.id })).body;
    await asAdmin.put(`/teams/${team.id}/members/${tina.id}`, { role: 'approver' });
    await asAdmin.put(`/teams/${team.id}/members/${vic.id}`, { role: 'viewer' });
    const id = await ask({ candidates: { users: [], roles: [], groups: [], teams: ['auditors'] } });
    await send();
    const receivers = smtp.mails.flatMap(({ to }) => to).toSorted();
    expect(receivers).toEqual(['lead@example.com', 'tina@example.com']);
    expect((await (await app.as(tina)).post(`/hitl/tasks/${id}/claim`)).status).toBe(200);
  });

  test('of reminders only those who can still decide', async () => {
    const id = await ask({ candidates: { users: ['ann', 'bob'], roles: [], groups: [] } });
    await expand();
    expect((await asAnn.post(`/hitl/tasks/${id}/claim`)).status).toBe(200);
    await happens(id, EVENT.hitlReminder);
    await expand();
    const told = await sql(`select user_id from notification where task_id = ? and kind = 'reminder'`, [id]);
    expect(told).toEqual([{ user_id: ann.id }]);
  });

  test('of an escalation those whom it adds, and of the end once before it', async () => {
    const expires = new Date(Date.now() + 3_600_000).toISOString();
    const id = await ask({ ...forAnn, expires_at: expires });
    await expand();
    await happens(id, EVENT.hitlEscalated, { level: 1, to: { users: ['bob'], roles: [], groups: [] } });
    await sql(
      `update hitl_task set candidate_keys = candidate_keys || ('id:' || ?), warn_at = now() where id = ?`,
      [bob.id, id],
    );
    for (let i = 0; i < 2; i++) {
      await app.orm.em.fork().transactional((em) => noticeExpiring(em));
      await expand();
    }
    const told = await sql('select user_id, kind from notification where task_id = ? order by id', [id]);
    expect(told).toEqual([
      { user_id: ann.id, kind: 'candidate' },
      { user_id: bob.id, kind: 'escalation' },
      { user_id: ann.id, kind: 'expiring' },
      { user_id: bob.id, kind: 'expiring' },
    ]);
  });

  test('whom a comment mentions, if they see the task', async () => {
    const id = await ask();
    const comment = 'See @ann, @Olga, @bob and mail@ann.example; @nobody';
    expect((await asAdmin.post(`/hitl/tasks/${id}/comments`, { comment })).status).toBe(201);
    await send();
    const told = await sql(
      `select u.username from notification n join user_account u on u.id = n.user_id
        where n.task_id = ? and n.kind = 'mentioned' order by 1`,
      [id],
    );
    expect(told).toEqual([{ username: 'ann' }, { username: 'olga' }]);
    const [latest] = (await asAnn.get('/notifications?kind=mentioned')).body;
    expect(latest).toMatchObject({ kind: 'mentioned', comment });
  });

  test('a group of any size, a page at a time, up to the limit', async () => {
    await sql(
      `insert into user_account (id, username, email, password_hash, roles, groups)
       select gen_random_uuid(), 'crowd' || i, 'crowd' || i || '@example.com', '', '{approver}', '{crowd}'
         from generate_series(1, 450) i`,
    );
    const id = await ask({ candidates: { users: [], roles: [], groups: ['crowd'] } });
    await expandNotices({ ...notifications.expand, hasMail: false, maxRecipients: 420 });
    expect(await sql('select count(*)::int as told from notification where task_id = ?', [id])).toEqual([
      { told: 420 },
    ]);
    expect(await sql('select 1 from notice')).toEqual([]);
    await sql(`update user_account set groups = '{}' where 'crowd' = any(groups)`);
  });

  test('of one change even if those of another cannot be told', async () => {
    const broken = await ask();
    await sql(`update notice set data = '{"by": "no id"}' where task_id = ?`, [broken]);
    const id = await ask();
    const failures: unknown[] = [];
    await expandNotices({ ...notifications.expand, failed: (error) => void failures.push(error) });
    expect(failures).toHaveLength(1);
    expect(await sql('select 1 from notification where task_id = ?', [id])).toHaveLength(1);
  });

  describe("and the run's log says that too few people may decide", () => {
    const NOBODY = { users: [], roles: [], groups: [] };
    const quorum = { approvals: 3, rejections: 1, exclude_initiator: false };

    /** What the log and the meter say of a new task; the figure for monitoring looks at fewer people. */
    async function saidOf(given: Partial<NewHumanTask>, times = 1, isCounted = true): Promise<object[]> {
      let count = 0;
      const id = await ask(given);
      const deps = { ...notifications.expand, undecidable: () => void count++ };
      await sql(`update hitl_task set status = 'cancelled' where id <> ? and status = 'open'`, [id]);
      for (let round = 0; round < times; round++) await expandNotices(deps);
      const said = await sql<{ message: string }>(
        `select type, level, task, message, data from run_event
          where run_id = ? and key = ?`,
        [runId, `hitl:${id}:undecidable`],
      );
      expect(said).toHaveLength(count);
      expect(await countUndecidable(app.orm.em.fork())).toBe(isCounted ? count : 0);
      return said.map((event) => ({ ...event, id }));
    }

    test('of a group without members, once, and again of another task', async () => {
      const candidates = { ...NOBODY, groups: ['financ'] };
      const [event] = await saidOf({ candidates }, 2);
      expect(event).toMatchObject({
        type: EVENT.runWarning,
        level: 'warn',
        task: '/do/1/review',
        message: 'review: nobody but admins may decide it now',
        data: { hitl_task_id: expect.any(String), needed: 1 },
      });
      expect(await saidOf({ candidates })).toHaveLength(1);
      const logs = (await (await app.as(owner)).get(`/runs/${runId}/logs?level=warn`)).body;
      expect(logs.filter(({ type }: { type: string }) => type === EVENT.runWarning)).toHaveLength(2);
    });

    test.each<[string, Partial<NewHumanTask>]>([
      ['an unknown assignee', { assignee: 'nosuchuser', candidates: NOBODY }],
      ['an unknown team', { candidates: { ...NOBODY, teams: ['nope'] } }],
      ['more than the candidates', { candidates: { ...NOBODY, users: ['ann', 'bob'] }, quorum }],
      [
        'an excluded candidate',
        {
          candidates: { ...NOBODY, users: ['ann'] },
          quorum: { ...quorum, approvals: 1, exclude: { users: ['ann'], groups: [] } },
        },
      ],
      [
        'an initiator',
        {
          candidates: { ...NOBODY, users: ['olga'] },
          quorum: { ...quorum, approvals: 1, exclude_initiator: true },
        },
      ],
    ])('who needs %s', async (_case, given) => {
      expect(await saidOf(given)).toHaveLength(1);
    });

    test('who asks a viewer, but not if the deputy of the viewer may decide', async () => {
      const viewer = await app.createUser({ username: 'vera', roles: ['viewer'] });
      const given = { assignee: 'vera', candidates: NOBODY };
      expect(await saidOf(given)).toHaveLength(1);
      await sql(
        `insert into absence (id, user_id, deputy_id, from_at, until_at, created_by)
         values (gen_random_uuid(), ?, ?, now() - interval '1 hour', now() + interval '1 hour', ?)`,
        [viewer.id, bob.id, viewer.id],
      );
      expect(await saidOf(given)).toEqual([]);
    });

    test('not of the others', async () => {
      expect(await saidOf({ candidates: NOBODY })).toEqual([]);
      expect(await saidOf({ candidates: { ...NOBODY, groups: ['financ'], users: ['ann'] } })).toEqual([]);
      const two = { ...quorum, approvals: 2 };
      expect(await saidOf({ candidates: { ...NOBODY, groups: ['finance'] }, quorum: two })).toEqual([]);
    });

    test('which the figure of open tasks says until people come, and after they have left', async () => {
      await sql(`update hitl_task set status = 'cancelled' where status = 'open'`);
      const count = (bounds?: { tasks: number; words: number; people: number }) =>
        countUndecidable(app.orm.em.fork(), bounds);
      for (const group of ['tax', 'tax', 'law']) await ask({ candidates: { ...NOBODY, groups: [group] } });
      await ask({ candidates: { ...NOBODY, users: ['ann'] } });
      expect(await count()).toBe(3);
      expect(await count({ tasks: 1, words: 10, people: 10 })).toBe(1);
      expect(await count({ tasks: 10, words: 1, people: 10 })).toBeLessThan(3);
      await sql(`update user_account set groups = groups || '{tax}' where id = ?`, [bob.id]);
      expect(await count()).toBe(1);
      await sql(`update user_account set status = 'disabled' where id = ?`, [ann.id]);
      expect(await count()).toBe(2);
      const scraped = await asAdmin.get('/metrics');
      expect(scraped.body).toContain('cadenza_human_tasks_undecidable_now 2\n');
      await sql(`update user_account set status = 'active' where id = ?`, [ann.id]);
      await sql(`update user_account set groups = array_remove(groups, 'tax') where id = ?`, [bob.id]);
    });

    test('of a crowd only as far as it is read', async () => {
      await sql(
        `insert into user_account (id, username, email, password_hash, roles, groups)
         select gen_random_uuid(), 'guest' || i, 'guest' || i || '@example.com', '', '{viewer}', '{guests}'
           from generate_series(1, 250) i`,
      );
      const given = { candidates: { ...NOBODY, groups: ['guests'] } };
      expect(await saidOf(given, 1, false)).toHaveLength(1);
      await ask(given);
      let count = 0;
      const undecidable = (): void => void count++;
      await expandNotices({ ...notifications.expand, maxRecipients: 200, undecidable });
      expect(count).toBe(0);
      await sql(`update user_account set groups = '{}' where 'guests' = any(groups)`);
    });
  });

  test('nobody of a task that was decided before', async () => {
    const id = await ask();
    await expand();
    expect((await asAnn.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' })).status).toBe(200);
    await send();
    expect(smtp.mails).toEqual([]);
    expect(await deliveries(id)).toMatchObject([{ status: 'dropped' }]);
  });

  test('nobody who was disabled, or has read it', async () => {
    const disabled = await ask();
    await expand();
    await sql(`update user_account set status = 'disabled' where id = ?`, [ann.id]);
    await send();
    await sql(`update user_account set status = 'active' where id = ?`, [ann.id]);
    const read = await ask();
    await expand();
    const [{ id }] = (await asAnn.get('/notifications?limit=1')).body;
    expect((await asAnn.post('/notifications/read', { ids: [id] })).status).toBe(200);
    await send();
    expect(smtp.mails).toEqual([]);
    expect(await deliveries(disabled)).toMatchObject([{ status: 'dropped' }]);
    expect(await deliveries(read)).toMatchObject([{ status: 'dropped' }]);
  });
});

describe('deputies', () => {
  const until = (): string => new Date(Date.now() + 86_400_000).toISOString();
  const away = async (): Promise<string> => {
    const made = await asAnn.post('/absences', { deputy: 'bob', until: until() });
    expect(made.status).toBe(201);
    return made.body.id;
  };
  const forBoth: Partial<NewHumanTask> = { candidates: { users: ['ann', 'bob'], roles: [], groups: [] } };
  const quorum = { approvals: 2, rejections: 1, exclude_initiator: false };
  const receivers = (): string[] => smtp.mails.flatMap(({ to }) => to).toSorted();

  test('get the mails of absent people, which say in whose place', async () => {
    const id = await away();
    await ask();
    await send();
    expect(receivers()).toEqual(['bob@example.com']);
    expect(partOf(smtp.mails[0], 'text/plain')).toContain('In place of: ann');
    await asAnn.delete(`/absences/${id}`);
  });

  test('who may not decide in their place leave the mails to the absent people', async () => {
    const id = await away();
    await ask({ ...forAnn, quorum: { ...quorum, exclude: { users: ['bob'], groups: [] } } });
    await send();
    expect(receivers()).toEqual([annMail]);
    smtp.mails.length = 0;
    await ask({ ...forBoth, quorum });
    await send();
    expect(receivers()).toEqual([annMail, 'bob@example.com']);
    await asAnn.delete(`/absences/${id}`);
  });

  test('vote, and then nobody reminds the absent person', async () => {
    const id = await away();
    const task = await ask({ ...forAnn, quorum });
    await expand();
    expect((await asBob.post(`/hitl/tasks/${task}/decision`, { decision: 'approve' })).status).toBe(200);
    await asAnn.delete(`/absences/${id}`);
    await sql('delete from notification_delivery');
    await happens(task, EVENT.hitlReminder);
    await send();
    const reminded = await sql(`select 1 from notification where task_id = ? and kind = 'reminder'`, [task]);
    expect(reminded).toEqual([]);
  });
});

describe('texts of the operator', () => {
  test('replace those parts of a mail for which NOTIFY_TEMPLATES has a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cadenza-templates-'));
    writeFileSync(join(folder, 'candidate.subject.txt'), 'ACME: {{title}}\n');
    writeFileSync(join(folder, 'candidate.html'), '<p>Hello {{recipient}}: {{title}}</p>\n{{comment}}\n');
    const own = start({ ...app.env, NOTIFY_TEMPLATES: folder });
    try {
      await ask({ ...forAnn, title: 'Pay <b>' });
      await send(own);
    } finally {
      own.deliver.mailer?.close();
      rmSync(folder, { recursive: true });
    }
    expect(headerOf(smtp.mails[0], 'Subject')).toBe('ACME: Pay <b>');
    expect(partOf(smtp.mails[0], 'text/html')).toContain('<p>Hello ann: Pay &lt;b&gt;</p>');
    expect(partOf(smtp.mails[0], 'text/plain')).toContain(`${app.url}/console/inbox?task=`);
  });
});

describe('the mail server', () => {
  test('gets nothing any more of a mail that was given up', async () => {
    const held: (() => void)[] = [];
    const slow = await startMailServer({ onRcptTo: (_to, _session, done) => void held.push(() => done()) });
    const mailer = createMailer({ ...app.env, SMTP_PORT: slow.port }, 300);
    const mail = { to: annMail, subject: 'Slow', text: 'Slow', html: '<p>Slow</p>', messageId: '<a@b>' };
    // More than there are connections, so that one of them waits for its turn.
    const outcomes = await Promise.all(Array.from({ length: 5 }, async () => mailer?.send(mail)));
    expect(outcomes.map((outcome) => outcome?.sent)).toEqual([false, false, false, false, false]);
    while (held.length > 0) held.pop()?.();
    await mailer?.send(mail);
    while (held.length > 0) held.pop()?.();
    mailer?.close();
    await slow.close();
    expect(slow.mails).toEqual([]);
  });

  test('that is unavailable for a day loses old mails, and new ones do not prolong them', async () => {
    const old = await ask();
    await expand();
    const young = await ask();
    await expand();
    await sql(`update notification_delivery set expires_at = now() where task_id = ?`, [old]);
    smtp.refusals.push(...Array.from({ length: 40 }, () => 451));
    await send();
    expect(await deliveries(old)).toMatchObject([{ status: 'failed', attempts: 1 }]);
    expect(await deliveries(young)).toMatchObject([{ status: 'pending' }]);
  });

  test('is asked again after a 4xx and after a cut connection, with the same Message-ID', async () => {
    const id = await ask();
    smtp.refusals.push(451, 'cut');
    await send();
    for (let i = 0; i < 2; i++) {
      await dueNow();
      await send();
    }
    expect(smtp.attempts).toBe(3);
    expect(smtp.mails).toHaveLength(1);
    const [row] = await sql<{ id: string }>('select id from notification_delivery where task_id = ?', [id]);
    expect(headerOf(smtp.mails[0], 'Message-ID')).toBe(`<${row?.id}@127.0.0.1>`);
    expect(await deliveries(id)).toMatchObject([{ status: 'sent', attempts: 3 }]);
  });

  test('is not asked again after a 5xx', async () => {
    const id = await ask();
    smtp.refusals.push(550);
    await send();
    await dueNow();
    await send();
    expect(smtp.attempts).toBe(1);
    expect(await deliveries(id)).toMatchObject([{ status: 'failed', attempts: 1 }]);
  });

  test('gets no header from a title, whatever it contains', async () => {
    await ask({ ...forAnn, title: 'Hello\r\nBcc: all@example.com\r\n\r\nBody' });
    await send();
    expect(smtp.mails[0]?.to).toEqual([annMail]);
    expect(headerOf(smtp.mails[0], 'Bcc')).toBeUndefined();
    expect(headerOf(smtp.mails[0], 'Subject')).toContain('Hello Bcc: all@example.com Body');
  });

  test('takes a test mail of an admin, who learns what went wrong', async () => {
    expect((await asAnn.post('/notifications/test-mail')).status).toBe(403);
    expect((await asAdmin.post('/notifications/test-mail')).body).toMatchObject({ sent: true, error: null });
    smtp.refusals.push(552);
    const refused = (await asAdmin.post('/notifications/test-mail')).body;
    expect(refused).toMatchObject({ sent: false, error: expect.stringContaining('refused by the test') });
  });
});

describe('people choose', () => {
  test('the kinds of mails, and one click in a mail turns them off', async () => {
    expect((await asAnn.put('/notifications/settings', { mail: { reminder: false } })).status).toBe(200);
    const id = await ask();
    await happens(id, EVENT.hitlReminder);
    await send();
    expect(smtp.mails).toHaveLength(1);
    const link = /<(.*)>/.exec(headerOf(smtp.mails[0], 'List-Unsubscribe') ?? '')?.[1] ?? '';
    expect(headerOf(smtp.mails[0], 'List-Unsubscribe-Post')).toBe('List-Unsubscribe=One-Click');
    const shown = await fetch(link);
    expect(shown.headers.get('content-security-policy')).toContain(`default-src 'none'`);
    expect((await asAnn.get('/notifications/settings')).body.mail).toEqual({ reminder: false });
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
    expect((await fetch(link, { method: 'POST', body })).status).toBe(200);
    expect((await asAnn.get('/notifications/settings')).body.mail).toEqual({
      reminder: false,
      candidate: false,
    });
    await ask();
    await send();
    expect(smtp.mails).toHaveLength(1);
    await asAnn.put('/notifications/settings', {});
  });

  test('a digest: one mail of everything that is due together', async () => {
    await asAnn.put('/notifications/settings', { digest: 'daily' });
    const first = await ask({ ...forAnn, title: 'First', decision_links: true });
    await ask({ ...forAnn, title: 'Second <i>' });
    await send();
    expect(smtp.mails).toEqual([]);
    await dueNow();
    await send();
    expect(smtp.mails).toHaveLength(1);
    expect(headerOf(smtp.mails[0], 'Subject')).toBe('2 tasks for you');
    expect(partOf(smtp.mails[0], 'text/html')).toContain('Second &lt;i&gt;');
    // Only the task whose author allows it has a link, which decides that one.
    const links = partOf(smtp.mails[0], 'text/html').match(/href="[^"]+\/decide\/[^"]+/g) ?? [];
    expect(links).toHaveLength(1);
    const path = new URL(links[0]?.slice('href="'.length) ?? '').pathname;
    expect(partOf(smtp.mails[0], 'text/plain')).toContain(`Decide without logging in: `);
    const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    expect((await app.anonymous.post(path, 'decision=approve', form)).status).toBe(200);
    expect((await asAnn.get(`/hitl/tasks/${first}`)).body.status).toBe('decided');
    await asAnn.put('/notifications/settings', {});
  });

  test('settings are checked and belong to one person', async () => {
    const wrong = await asAnn.put('/notifications/settings', {
      time_zone: 'Mars/Base',
      mail: { other: true },
    });
    expect(wrong.status).toBe(422);
    const stale = await asAnn.put('/notifications/settings', {}, { headers: { 'if-match': '"another"' } });
    expect(stale.status).toBe(412);
  });
});

describe('chats', () => {
  const create = (client: Client, given: Record<string, unknown> = {}) =>
    client.post('/notifications/channels', {
      name: 'My chat',
      format: 'slack',
      url: `${chat.url}/secret-part`,
      ...given,
    });

  test.each([
    ['slack', (body: any) => body.blocks[0].text.text],
    ['mattermost', (body: any) => body.text],
    ['teams', (body: any) => body.attachments[0].content.body[0].inlines[0].text],
  ])('%s gets the tasks of its person in its own form', async (format, textOf) => {
    const made = await create(asAnn, { format });
    expect(made.status).toBe(201);
    expect(JSON.stringify(made.body)).not.toContain('secret-part');
    await ask({ ...forAnn, title: 'Pay the <!channel> @all' });
    await send();
    expect(chat.seen).toHaveLength(1);
    expect(chat.seen[0]?.path).toBe('/secret-part');
    expect(textOf(JSON.parse(chat.seen[0]?.body ?? ''))).toContain('Pay the');
    if (format === 'slack') expect(JSON.parse(chat.seen[0]?.body ?? '').text).toContain('&lt;!channel&gt;');
    if (format === 'mattermost') expect(chat.seen[0]?.body).not.toContain('@all');
    expect((await asAnn.delete(`/notifications/channels/${made.body.id}`)).status).toBe(204);
  });

  test('of a group are set up by admins, and told once', async () => {
    expect((await create(asAnn, { group: 'finance' })).status).toBe(403);
    const made = await create(asAdmin, { group: 'finance' });
    await ask({ assignee: bob.id, candidates: { users: [], roles: [], groups: ['finance'] } });
    await send();
    expect(chat.seen).toHaveLength(1);
    expect(chat.seen[0]?.body).toContain('bob, finance');
    expect((await asAnn.patch(`/notifications/channels/${made.body.id}`, { name: 'x' })).status).toBe(404);
    await asAdmin.delete(`/notifications/channels/${made.body.id}`);
  });

  test('of a group or a workflow are told only while their owner may set them up, and say so', async () => {
    const boss = await app.createUser({ username: 'boss', roles: ['admin'] });
    const made = await create(await app.as(boss), { group: 'finance' });
    expect(made).toMatchObject({ status: 201, body: { silent: null } });
    await sql(`update user_account set roles = '{approver}' where id = ?`, [boss.id]);
    const toGroup = { candidates: { users: [], roles: [], groups: ['finance'] } };
    await ask(toGroup);
    await send();
    expect(chat.seen).toEqual([]);
    expect(await listedChat(made.body.id)).toMatchObject({ active: true, silent: 'owner_not_allowed' });
    const path = `/notifications/channels/${made.body.id}`;
    expect((await asAdmin.patch(path, { owner_id: ann.id })).body.errors).toMatchObject([
      { pointer: '/owner_id', code: 'owner_not_allowed' },
    ]);
    const admin = await app.user('admin');
    expect((await asAdmin.patch(path, { owner_id: admin.id })).body).toMatchObject({
      owner_id: admin.id,
      silent: null,
    });
    await ask(toGroup);
    await send();
    expect(chat.seen).toHaveLength(1);
    await asAdmin.delete(path);
  });

  const listedChat = async (id: string): Promise<any> =>
    (await asAdmin.get('/notifications/channels?limit=200')).body.find(
      (one: { id: string }) => one.id === id,
    );

  test('of a person whose account is disabled say why they are silent, and admins move them', async () => {
    const leaver = await app.createUser({ username: 'leaver', roles: ['approver'] });
    const made = await create(await app.as(leaver));
    const path = `/notifications/channels/${made.body.id}`;
    expect((await (await app.as(leaver)).patch(path, { owner_id: ann.id })).body.code).toBe('role_required');
    await asAdmin.patch(`/users/${leaver.id}`, { status: 'disabled' });
    expect(await listedChat(made.body.id)).toMatchObject({ silent: 'owner_disabled' });
    expect((await asAdmin.post(`${path}/test`)).body.code).toBe('channel_off');
    const viewer = await app.createUser({ username: 'looks-on', roles: ['viewer'] });
    expect((await asAdmin.patch(path, { owner_id: viewer.id })).status).toBe(422);
    expect((await asAdmin.patch(path, { owner_id: leaver.id })).body.silent).toBe('owner_disabled');
    expect((await asAnn.patch(path, { name: 'mine' })).status).toBe(404);
    expect((await asAdmin.patch(path, { owner_id: ann.id })).body).toMatchObject({ silent: null });
    await ask(forAnn);
    await send();
    expect(chat.seen).toHaveLength(1);
    expect((await asAnn.delete(path)).status).toBe(204);
  });

  /** A team of new people, viewers on the platform, with a chat that its admin has set up. */
  async function teamWithChat(name: string) {
    const people = await Promise.all(
      ['lead', 'second', 'builder'].map((role) =>
        app.createUser({ username: `${name}-${role}`, roles: ['viewer'] }),
      ),
    );
    const [lead, second, builder] = people as [TestUser, TestUser, TestUser];
    const team: string = (await asAdmin.post('/teams', { name, admin: lead.id })).body.id;
    const setRole = async (user: TestUser, role: string): Promise<void> => {
      expect((await asAdmin.put(`/teams/${team}/members/${user.id}`, { role })).status).toBeLessThan(300);
    };
    await setRole(builder, 'builder');
    const clients = await Promise.all([lead, second, builder].map((user) => app.as(user)));
    const [asLead, asSecond, asBuilder] = clients as [Client, Client, Client];
    const made = await create(asLead, { team_id: team });
    expect(made).toMatchObject({ status: 201, body: { team_id: team, group: null, workflow_id: null } });
    return { team, lead, second, asLead, asSecond, asBuilder, setRole, chatId: made.body.id as string };
  }

  test('of a team are told once of tasks that name it, and of those of its workflows', async () => {
    const { team, asLead, chatId } = await teamWithChat('ledgers');
    const NOBODY = { users: [], roles: [], groups: [] };
    const ofTeam = await insertRun(app.orm, { owner: owner.id, team });
    await ask({ title: 'By its name', candidates: { ...NOBODY, teams: ['ledgers'] } });
    await ask({ title: 'By its workflow', run_id: ofTeam, candidates: { ...NOBODY, users: ['ann'] } });
    await ask({ title: 'By both', run_id: ofTeam, candidates: { ...NOBODY, teams: [team] } });
    await ask({ title: 'Of neither', candidates: { ...NOBODY, users: ['ann'], groups: ['finance'] } });
    await send();
    const told = await sql(
      `select t.title, count(*)::int as times
         from notification_delivery d join hitl_task t on t.id = d.task_id
        where d.channel_id = ? and d.status = 'sent' group by t.title order by t.title`,
      [chatId],
    );
    const titles = ['By both', 'By its name', 'By its workflow'];
    expect(told).toEqual(titles.map((title) => ({ title, times: 1 })));
    // What is due together is one message.
    expect(chat.seen).toHaveLength(1);
    for (const title of titles) expect(chat.seen[0]?.body).toContain(title);
    // The admin of the team has no role on the platform that chats of their own need.
    expect((await create(asLead)).body.code).toBe('role_required');
  });

  test('of a team are set up and changed by its admins, and told while there is the team', async () => {
    const world = await teamWithChat('keepers');
    const { team, lead, second, asLead, asSecond, asBuilder, setRole, chatId } = world;
    expect((await create(asBuilder, { team_id: team })).body.code).toBe('role_required');
    expect((await create(asBob, { team_id: team })).body.errors).toMatchObject([
      { pointer: '/team_id', code: 'unknown_team' },
    ]);
    const several = await create(asAdmin, { team_id: team, group: 'finance' });
    expect([several.status, JSON.stringify(several.body.errors)]).toEqual([
      422,
      expect.stringContaining('at most one of group, workflow_id and team_id'),
    ]);
    const listed = async (client: Client): Promise<boolean> =>
      (await client.get('/notifications/channels?limit=200')).body.some(
        ({ id }: { id: string }) => id === chatId,
      );
    expect([await listed(asLead), await listed(asSecond), await listed(asBuilder)]).toEqual([
      true,
      false,
      false,
    ]);
    const path = `/notifications/channels/${chatId}`;
    expect((await asBuilder.patch(path, { name: 'x' })).status).toBe(404);
    await setRole(second, 'admin');
    expect(await listed(asSecond)).toBe(true);
    expect((await asSecond.patch(path, { name: 'ours' })).body).toMatchObject({
      name: 'ours',
      owner_id: lead.id,
    });

    const candidates = { users: [], roles: [], groups: [], teams: ['keepers'] };
    await ask({ candidates });
    await expand();
    await setRole(lead, 'builder');
    await asAdmin.patch(`/users/${lead.id}`, { status: 'disabled' });
    await send();
    expect(chat.seen).toHaveLength(1);
    expect((await asSecond.get('/notifications/channels?limit=200')).body).toMatchObject([
      { id: chatId, owner_id: lead.id, silent: null },
    ]);
    // Whoever leaves leaves it to an admin of the team.
    expect((await asSecond.delete(`/teams/${team}/members/${lead.id}`)).status).toBe(204);
    expect((await asSecond.patch(path, { name: 'ours' })).body.owner_id).toBe(second.id);
    await ask({ candidates });
    await send();
    expect(chat.seen).toHaveLength(2);
    expect((await asSecond.delete(`/teams/${team}`)).status).toBe(204);
    expect(await sql('select 1 from notification_channel where id = ?', [chatId])).toEqual([]);
  });

  test('are not set up by tokens that may not read human tasks', async () => {
    const tokenFor = async (scopes: string[]): Promise<Client> => {
      const given = {
        name: 'test',
        scopes,
        expiresAt: new Date(Date.now() + 3_600_000),
        maxDays: 365,
        secondFactorRoles: [],
        limits: app.env,
      };
      const { token } = await createAccessToken(app.orm.em.fork(), ann, given);
      return createClient(app.url, token);
    };
    const settings = await tokenFor(['account:read', 'account:write']);
    expect((await settings.get('/notifications/settings')).status).toBe(200);
    expect((await settings.get('/notifications')).status).toBe(403);
    expect((await create(settings)).body.code).toBe('client_limited');
    const made = await create(await tokenFor(['account:write', 'hitl:read']));
    expect(made.status).toBe(201);
    const patched = await settings.patch(`/notifications/channels/${made.body.id}`, { url: `${chat.url}/x` });
    expect(patched.body.code).toBe('client_limited');
    await asAnn.delete(`/notifications/channels/${made.body.id}`);
  });

  test('that are slow hold back no mails', async () => {
    const made = await create(asAnn);
    const id = await ask();
    await expand();
    const rows = await sql<{ shard: number; mail: boolean }>(
      'select shard, channel_id is null as mail from notification_delivery where task_id = ?',
      [id],
    );
    expect(rows).toHaveLength(2);
    for (const { shard, mail } of rows) expect(shard < SHARDS / 2).toBe(mail);
    await asAnn.delete(`/notifications/channels/${made.body.id}`);
  });

  test('that are gone are turned off, and no error shows the address', async () => {
    const made = await create(asAnn);
    chatAnswer = 410;
    await ask();
    await send();
    const [shown] = (await asAnn.get('/notifications/channels')).body;
    expect(shown).toMatchObject({ id: made.body.id, active: false, last_error: 'answered 410' });
    chatAnswer = 200;
    const on = await asAnn.patch(`/notifications/channels/${made.body.id}`, { active: true });
    expect(on.body).toMatchObject({ active: true, last_error: null });
    const tried = await asAnn.post(`/notifications/channels/${made.body.id}/test`);
    expect(tried.body).toEqual({ sent: true, error: null });
    await asAnn.delete(`/notifications/channels/${made.body.id}`);
  });

  test('are not reached at addresses that the egress rules forbid', async () => {
    expect((await create(asAnn, { url: 'http://169.254.169.254/latest' })).status).toBe(422);
  });
});

describe('the list of notifications', () => {
  test('is read up to one of them, and a stream tells how many are left', async () => {
    await asBob.post('/notifications/read', { up_to: 'ffffffff-ffff-4fff-bfff-ffffffffffff' });
    const controller = new AbortController();
    const stream = await fetch(`${app.url}/notifications/stream`, {
      headers: { authorization: `Bearer ${bob.token}` },
      signal: controller.signal,
    });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    const next = async (): Promise<string> => {
      for (;;) {
        const { value = '' } = (await reader?.read()) ?? {};
        if (!value.startsWith(':')) return value;
      }
    };
    expect(await next()).toContain('{"unread":0}');
    await ask({ candidates: { users: ['bob'], roles: [], groups: [] } });
    await expand();
    expect(await next()).toContain('{"unread":1}');
    const [{ id }] = (await asBob.get('/notifications')).body;
    expect((await asBob.post('/notifications/read', { up_to: id })).body).toEqual({ unread: 0 });
    expect(await next()).toContain('{"unread":0}');
    controller.abort();
    expect((await asAnn.post('/notifications/read', { ids: [id], up_to: id })).status).toBe(422);
  });
});
