/** Decision links are in mails only: whoever has one decides without a log-in (docs/notifications.md). */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { EVENT } from '../../../contracts/run-events.ts';
import { humanTask } from '../../support/definitions.ts';
import { startServer, type TestServer } from '../../support/http-server.ts';
import { partOf, startMailServer, type MailServer } from '../../support/mail-server.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;
let smtp: MailServer;
let hooks: TestServer;

beforeAll(async () => {
  smtp = await startMailServer();
  hooks = await startServer((_request, response) => void response.writeHead(200).end());
  platform = await startTestPlatform({
    env: {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(smtp.port),
      SMTP_TLS: 'none',
      SMTP_FROM: 'cadenza@example.com',
      DECISION_LINKS: 'true',
    },
  });
});
afterAll(async () => {
  await platform.close();
  await Promise.all([smtp.close(), hooks.close()]);
});

test('no event, webhook, log, record or audit entry has the link', async () => {
  const builder = await platform.as('builder');
  const approver = await platform.user('approver');
  const hook = await builder.post('/webhooks', { url: `${hooks.url}/hook`, types: ['*'] });
  expect(hook.status).toBe(201);
  const run = await startRun(builder, {
    do: [{ review: humanTask('Go?', { candidates: { users: [approver.username] }, decision_links: true }) }],
  });
  await until(
    async () => smtp.mails.length,
    (count) => count > 0,
  );
  const [link = '', token = ''] =
    /http\S+\/decide\/([\w.-]+)/.exec(partOf(smtp.mails[0], 'text/plain')) ?? [];
  expect(token).not.toBe('');
  const decided = await fetch(`${platform.url}${new URL(link).pathname}`, {
    method: 'POST',
    body: new URLSearchParams({ decision: 'approve' }),
  });
  expect(decided.status).toBe(200);
  expect(await endOf(builder, run)).toMatchObject({ status: 'completed' });
  await until(
    async () => hooks.seen.map(({ body }) => body).join(),
    (all) => all.includes(EVENT.runCompleted),
  );

  const [task] = (await (await platform.as(approver)).get(`/hitl/tasks?run_id=${run['id']}&status=decided`))
    .body;
  const seen = {
    hooks: hooks.seen.map(({ body }) => body),
    run: (await builder.get(`/runs/${run['id']}`)).body,
    task: (await (await platform.as(approver)).get(`/hitl/tasks/${task.id}`)).body,
    history: (await (await platform.as(approver)).get(`/hitl/tasks/${task.id}/audit`)).body,
    notifications: (await (await platform.as(approver)).get('/notifications')).body,
    audit: (await (await platform.as('admin')).get('/audit?limit=200')).body,
    events: await platform.orm.em.fork().execute('select * from run_event'),
    deliveries: await platform.orm.em.fork().execute('select * from delivery'),
  };
  expect(JSON.stringify(seen.events)).toContain(task.id);
  expect(JSON.stringify(seen.audit)).toContain('decideByLink');
  for (const [place, value] of Object.entries(seen)) {
    const text = JSON.stringify(value);
    // The signature alone would be of no use, but nothing of the token has a reason to be there.
    const found = [token, ...token.split('.').slice(1), '/decide/'].filter((part) => text.includes(part));
    expect([place, found]).toEqual([place, []]);
  }
});
