/** Rows with a time of their own, apart from runs. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { removeOldRows } from '../../../domain/retention/old-rows.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';

const EVENT_DAYS = 30;

let app: TestApp;
let owner: string;
let task: string;
const sql = <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  app.orm.em.fork().execute<Row[]>(text, values);

beforeAll(async () => {
  app = await startTestApp();
  owner = (await app.user('builder')).id;
  task = await insertTask(app.orm, await insertRun(app.orm, { owner }));
});
afterAll(() => app.close());

const target = async (active: boolean): Promise<string> => {
  const id = uuidv7();
  await sql(
    `insert into delivery_target (id, kind, owner_id, url, active)
     values (?, 'webhook', ?, 'https://a.test', ?)`,
    [id, owner, active],
  );
  return id;
};
let ord = 0;
const delivery = (targetId: string, status: string, age: number) =>
  sql(
    `insert into delivery (id, target_id, ord, message_id, type, content_type, body, status, expires_at,
                           created_at)
     values (?, ?, ?, 'm', 't', 'text/plain', ?, ?, now(), now() - ? * interval '1 day')`,
    [uuidv7(), targetId, ++ord, `${status} ${age}`, status, age],
  );
const event = (age: number) =>
  sql(
    `insert into inbound_event (id, owner_id, source, event_id, type, event, received_at)
     values (?, ?, 'urn:test', ?, 't', '{}', now() - ? * interval '1 day')`,
    [uuidv7(), owner, `of ${age} days`, age],
  );
const notification = (status: string, age: number) =>
  sql(
    `insert into notification_delivery (id, user_id, notice_id, kind, task_id, shard, status, due_at,
                                        expires_at, created_at)
     values (?, ?, ?, 'assigned', ?, 0, ?, now(), now(), now() - ? * interval '1 day')`,
    [uuidv7(), owner, ++ord, task, status, age],
  );
const link = (expired: number) =>
  sql(
    `insert into decision_link (id, task_id, user_id, expires_at)
     values (?, ?, ?, now() - ? * interval '1 day')`,
    [uuidv7(), task, owner, expired],
  );
const accountLink = (expired: number) =>
  sql(
    `insert into account_link (id, user_id, purpose, expires_at, used_at)
     values (?, ?, 'password', now() - ? * interval '1 day', now())`,
    [uuidv7(), owner, expired],
  );
const mail = (status: string, age: number) =>
  sql(
    `insert into account_mail (id, user_id, kind, shard, status, expires_at, created_at)
     values (?, ?, 'no_password', 0, ?, now(), now() - ? * interval '1 day')`,
    [uuidv7(), owner, status, age],
  );
/** Its former secret ended so many seconds ago. */
const rotated = (targetId: string, ended: number) =>
  sql(
    `insert into webhook (id, secret_encrypted, former_secret_encrypted, former_secret_until)
     values (?, 'present', 'former', now() - ? * interval '1 second')`,
    [targetId, ended],
  );
const hour = (age: number) =>
  sql(
    `insert into run_hour (owner_id, workflow_id, hour, started)
     values (?, ?, date_trunc('hour', now()) - ? * interval '1 day', 1)`,
    [owner, uuidv7(), age],
  );

test('each kind goes after its time, and what is still wanted stays', async () => {
  const [active, inactive] = [await target(true), await target(false)];
  for (const age of [29, 31]) {
    await delivery(active, 'delivered', age);
    await delivery(active, 'pending', age);
    await delivery(inactive, 'pending', age);
    await event(age);
    await notification('sent', age);
    await notification('pending', age);
  }
  for (const expired of [6, 8]) await link(expired);
  for (const age of [399, 401]) await hour(age);
  await rotated(active, 1);
  await rotated(inactive, -3_600);
  for (const expired of [6, 8]) await accountLink(expired);
  for (const age of [29, 31]) for (const status of ['sent', 'pending']) await mail(status, age);
  const none = {
    deliveries: 0,
    events: 0,
    notifications: 0,
    mails: 0,
    accountLinks: 0,
    links: 0,
    hours: 0,
    formerSecrets: 0,
  };
  expect(await removeOldRows(app.orm.em.fork(), EVENT_DAYS)).toEqual({
    deliveries: 2,
    events: 1,
    notifications: 1,
    mails: 1,
    accountLinks: 1,
    links: 1,
    hours: 1,
    formerSecrets: 1,
  });
  expect(await removeOldRows(app.orm.em.fork(), EVENT_DAYS)).toEqual(none);
  expect(
    await sql(
      `select secret_encrypted as secret, former_secret_encrypted as former from webhook order by id`,
    ),
  ).toEqual([
    { secret: 'present', former: null },
    { secret: 'present', former: 'former' },
  ]);
  const bodies = await sql<{ body: string; active: boolean }>(
    'select d.body, t.active from delivery d join delivery_target t on t.id = d.target_id order by d.ord',
  );
  expect(bodies).toEqual([
    { body: 'delivered 29', active: true },
    { body: 'pending 29', active: true },
    { body: 'pending 29', active: false },
    { body: 'pending 31', active: true },
  ]);
  const left = await sql(
    "select status, created_at > now() - 30 * interval '1 day' as young from notification_delivery",
  );
  expect(left).toHaveLength(3);
  expect(left).toContainEqual({ status: 'pending', young: false });
});
