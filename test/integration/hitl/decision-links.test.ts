import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NewHumanTask } from '../../../contracts/activities.ts';
import { createDecisionLink, type DecisionLinkDeps } from '../../../domain/hitl/decision-links.ts';
import { findTask } from '../../../domain/hitl/human-task.ts';
import { loggedPath } from '../../../api/middleware/request-id.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
let ann: TestUser;
let asAnn: Client;
let asBob: Client;
let asAdmin: Client;
let runId: string;
let links: DecisionLinkDeps;

beforeAll(async () => {
  app = await startTestApp({ env: { DECISION_LINKS: 'true' } });
  const owner = await app.createUser({ username: 'olga' });
  ann = await app.createUser({ username: 'ann', roles: ['approver'] });
  const bob = await app.createUser({ username: 'bob', roles: ['approver'] });
  [asAnn, asBob, asAdmin] = await Promise.all([app.as(ann), app.as(bob), app.as('admin')]);
  runId = await insertRun(app.orm, { owner: owner.id });
  links = { keys: app.app.deps.keys, baseUrl: app.env.BASE_URL, allowed: true, hours: 24 };
});
afterAll(() => app.close());

async function linkOf(given: Partial<NewHumanTask> = {}): Promise<{ id: string; url: string }> {
  const id = await insertTask(app.orm, runId, {
    candidates: { users: ['ann', 'bob'], roles: [], groups: [] },
    decision_links: true,
    ...given,
  });
  const em = app.orm.em.fork();
  const task = await findTask(em, id);
  if (task === null) throw new Error('no task');
  return { id, url: await createDecisionLink(em, links, task, ann.id) };
}

const decide = (url: string, fields: Record<string, string>) =>
  fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
const statusOf = async (id: string): Promise<string> => (await asAdmin.get(`/hitl/tasks/${id}`)).body.status;

test('looking changes nothing, deciding works once, and the audit says that it was by a link', async () => {
  const { id, url } = await linkOf({ title: 'Pay <script>' });
  for (let i = 0; i < 3; i++) {
    const shown = await fetch(url);
    expect(shown.status).toBe(200);
    expect(shown.headers.get('content-security-policy')).toContain(`default-src 'none'`);
    expect(shown.headers.get('cache-control')).toBe('no-store');
    const page = await shown.text();
    expect(page).toContain('Pay &lt;script&gt;');
    expect(page).not.toContain('<script');
    expect(page).toContain('You decide as <b>ann</b>.');
    expect(page).toContain('value="approve">Approve</button>');
  }
  expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  expect(await statusOf(id)).toBe('open');
  const decided = await decide(url, { decision: 'approve' });
  expect([decided.status, await decided.text()]).toEqual([200, expect.stringContaining('<b>Approve</b>')]);
  expect((await asAnn.get(`/hitl/tasks/${id}`)).body.decision).toMatchObject({
    decision: 'approve',
    decided_by: ann.id,
  });
  const audit = (await asAnn.get(`/hitl/tasks/${id}/audit`)).body;
  expect(audit.at(-1)).toMatchObject({ action: 'decided', via: 'link', actor: { id: ann.id } });
  expect((await decide(url, { decision: 'reject' })).status).toBe(410);
  const entries = (await (await app.as('admin')).get('/audit?action=decideByLink')).body;
  expect(entries).toMatchObject([
    { actor: { id: ann.id }, object: { type: 'human_task' }, changes: { decision: { new: 'approve' } } },
  ]);
  expect((await fetch(url)).status).toBe(410);
});

test('of two clicks at the same moment one decides', async () => {
  const { url } = await linkOf();
  const answers = await Promise.all([1, 2, 3].map(() => decide(url, { decision: 'approve' })));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 410, 410]);
});

test('a form is filled in without a script, and what is wrong is shown beside it', async () => {
  const form_schema = {
    type: 'object',
    required: ['amount'],
    properties: { amount: { type: 'integer', title: 'Amount', minimum: 1 }, urgent: { type: 'boolean' } },
  };
  const { id, url } = await linkOf({ form_schema });
  const wrong = await decide(url, { decision: 'approve', 'field.amount': '0' });
  expect(wrong.status).toBe(422);
  expect(await wrong.text()).toContain('Amount must be at least 1');
  expect((await decide(url, { decision: 'approve', 'field.amount': '7', 'field.urgent': 'on' })).status).toBe(
    200,
  );
  const { decision } = (await asAnn.get(`/hitl/tasks/${id}`)).body;
  expect(decision.payload).toEqual({ amount: 7, urgent: true });
});

test('the link ends when another claims the task, it is delegated, or its candidates change', async () => {
  const claimed = await linkOf();
  await asBob.post(`/hitl/tasks/${claimed.id}/claim`);
  await asBob.post(`/hitl/tasks/${claimed.id}/release`);
  const delegated = await linkOf();
  await asAnn.post(`/hitl/tasks/${delegated.id}/delegate`, { to: 'bob' });
  const escalated = await linkOf();
  await app.orm.em
    .fork()
    .execute(`update hitl_task set candidate_keys = candidate_keys || 'group:x'::text where id = ?`, [
      escalated.id,
    ]);
  for (const { id, url } of [claimed, delegated, escalated]) {
    expect((await fetch(url)).status).toBe(410);
    expect((await decide(url, { decision: 'approve' })).status).toBe(410);
    expect(await statusOf(id)).toBe('open');
  }
  const own = await linkOf();
  await asAnn.post(`/hitl/tasks/${own.id}/claim`);
  expect((await decide(own.url, { decision: 'approve' })).status).toBe(200);
});

test('the link ends for good when its person is disabled', async () => {
  const { url } = await linkOf();
  await asAdmin.patch(`/users/${ann.id}`, { status: 'disabled' });
  expect((await fetch(url)).status).toBe(410);
  await asAdmin.patch(`/users/${ann.id}`, { status: 'active' });
  expect((await decide(url, { decision: 'approve' })).status).toBe(410);
  asAnn = await app.as(ann);
});

test('it needs the author and the operator, and knows no quorum', async () => {
  const { url } = await linkOf({ decision_links: false });
  expect((await decide(url, { decision: 'approve' })).status).toBe(410);
  const quorum = { approvals: 1, rejections: 1, exclude_initiator: true };
  const voted = await linkOf({ quorum });
  expect((await decide(voted.url, { decision: 'approve' })).status).toBe(410);
  const closed = await startTestApp({ databaseUrl: app.databaseUrl, env: { BASE_URL: app.env.BASE_URL } });
  const open = await linkOf();
  const path = new URL(open.url).pathname;
  expect((await fetch(`${closed.url}${path}`)).status).toBe(410);
  await closed.close();
});

test('the link is over after its time, by its token and by its row', async () => {
  const byRow = await linkOf();
  expect((await fetch(byRow.url)).status).toBe(200);
  await app.orm.em
    .fork()
    .execute(`update decision_link set expires_at = now() - interval '1 second' where task_id = ?`, [
      byRow.id,
    ]);
  links.hours = -1;
  const byToken = await linkOf();
  links.hours = 24;
  await app.orm.em
    .fork()
    .execute(`update decision_link set expires_at = now() + interval '1 hour' where task_id = ?`, [
      byToken.id,
    ]);
  for (const { id, url } of [byRow, byToken]) {
    expect((await fetch(url)).status).toBe(410);
    expect((await decide(url, { decision: 'approve' })).status).toBe(410);
    expect(await statusOf(id)).toBe('open');
  }
  expect(await (await fetch(byToken.url)).text()).toContain('The link has expired.');
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const ofTask = await linkOf({ expires_at: soon });
  const claims = JSON.parse(
    Buffer.from(new URL(ofTask.url).pathname.split('.')[1] ?? '', 'base64url').toString(),
  );
  expect(claims.exp).toBe(Math.floor(Date.parse(soon) / 1_000));
});

test('a forged or foreign token is not found, and no log has a token', async () => {
  const { url } = await linkOf();
  expect((await fetch(`${url.slice(0, -4)}AAAA`)).status).toBe(404);
  expect((await fetch(`${app.url}/decide/${ann.token}`)).status).toBe(404);
  expect(loggedPath(new URL(url).pathname)).toBe('/decide/[redacted]');
  expect(loggedPath('/api/v1/notifications/unsubscribe/abc')).toBe(
    '/api/v1/notifications/unsubscribe/[redacted]',
  );
});
