import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import type { NewHumanTask } from '../../../contracts/activities.ts';
import { startTestApp } from '../../support/app.ts';
import type { Client, TestApp, TestUser } from '../../support/app.ts';
import { aMomentAgo, inOneHour, insertRun, insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
let owner: TestUser;
let ann: TestUser;
let bob: TestUser;
let asOwner: Client;
let asAnn: Client;
let asBob: Client;
let asAdmin: Client;
let asOther: Client;
let asViewer: Client;
let runId: string;

beforeAll(async () => {
  app = await startTestApp();
  owner = await app.createUser({ username: 'olga', roles: ['builder'] });
  ann = await app.createUser({ username: 'Ann', roles: ['approver'], groups: ['finance'] });
  bob = await app.createUser({ username: 'bob', roles: ['approver'] });
  asOwner = await app.as(owner);
  asAnn = await app.as(ann);
  asBob = await app.as(bob);
  asAdmin = await app.as('admin');
  asOther = await app.as(await app.createUser({ username: 'otto', roles: ['builder'] }));
  asViewer = await app.as('viewer');
  runId = await insertRun(app.orm, { owner: owner.id });
});
afterAll(() => app.close());

const task = (given: Partial<NewHumanTask> = {}, run = runId): Promise<string> => insertTask(app.orm, run, given);
const forAnn = { candidates: { users: ['ann'], roles: [], groups: [] } };
const forBoth = { candidates: { users: ['ann', 'bob'], roles: [], groups: [] } };
const rows = <T>(sql: string, values: unknown[]): Promise<T[]> => app.orm.em.fork().execute<T[]>(sql, values);
const events = (id: string) =>
  rows<{ seq: number; type: string; data: Record<string, unknown> }>(`select seq, type, data from run_event where data->>'hitl_task_id' = ? order by seq`, [id]);
const audit = (id: string) =>
  rows<{ action: string; actor_name: string | null; via: string; as_admin: boolean; data: Record<string, unknown> }>(
    `select action, actor_name, via, as_admin, data from hitl_audit where task_id = ? order by id`,
    [id],
  );

describe('reading tasks', () => {
  test('needs a token', async () => {
    expect((await app.anonymous.get('/hitl/tasks')).status).toBe(401);
    expect((await app.anonymous.get(`/hitl/tasks/${uuidv7()}`)).status).toBe(401);
  });

  test('shows a task to candidates, assignee, owner of the run and admins, and to nobody else', async () => {
    const id = await task({ candidates: { users: ['ANN'], roles: [], groups: [] }, assignee: bob.id });
    for (const who of [asAnn, asBob, asOwner, asAdmin]) expect((await who.get(`/hitl/tasks/${id}`)).status).toBe(200);
    for (const who of [asOther, asViewer]) expect((await who.get(`/hitl/tasks/${id}`)).body.code).toBe('not_found');
    expect((await asAnn.get(`/hitl/tasks/${uuidv7()}`)).status).toBe(404);
    expect((await asAnn.get('/hitl/tasks/nonsense')).status).toBe(404);
  });

  test('gives the whole record', async () => {
    const due = inOneHour();
    const id = await task({ ...forAnn, due_at: due, expires_at: due, quorum: { approvals: 2, rejections: 1, exclude_initiator: false } });
    const { body } = await asAnn.get(`/api/v1/hitl/tasks/${id}`);
    expect(body).toEqual({
      id, run_id: runId, workflow_id: null, workflow_name: 'purchase', task: '/do/1/review', title: 'Approve the purchase', description: null,
      subject: { amount: 10 }, form_schema: null, status: 'open', priority: 50, assignee: null, candidates: forAnn.candidates,
      decisions: [{ id: 'approve', label: 'Approve', requires_comment: false }, { id: 'reject', label: 'Reject', requires_comment: false }],
      claimed_by: null, claimed_at: null, due_at: due, expires_at: due, escalation_level: 0,
      quorum: { approvals: 2, rejections: 1, exclude_initiator: false }, tally: { approve: 0, reject: 0 }, comments: [], decision: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/), updated_at: expect.any(String),
    });
  });

  test('falls to the owner of the run where nobody is named', async () => {
    const id = await task({ candidates: { users: [], roles: [], groups: [] } });
    expect((await asOwner.get(`/hitl/tasks/${id}`)).body.assignee).toBe(owner.id);
    expect((await asOwner.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' })).status).toBe(200);
  });

  test('lists what is for the caller by user, role and group, undecided, by priority, then age, page by page', async () => {
    const reader = await app.createUser({ username: 'rita', roles: ['approver'], groups: ['legal', 'strange "group"\\'] });
    const asReader = await app.as(reader);
    const run = await insertRun(app.orm, { owner: owner.id });
    const none = { users: [], roles: [], groups: [] };
    const low = await task({ candidates: { ...none, groups: ['legal'] }, priority: 10 }, run);
    const old = await task({ candidates: { ...none, users: [reader.id] }, title: 'Half 50% done' }, run);
    const young = await task({ candidates: none, assignee: 'Rita', due_at: aMomentAgo() }, run);
    const high = await task({ candidates: { ...none, groups: ['strange "group"\\'] }, priority: 90 }, run);
    const role = await task({ candidates: { ...none, roles: ['approver'] }, priority: 0 }, run);
    await task({ candidates: { ...none, roles: ['builder'] } }, run);
    await task({ candidates: { ...none, users: ['rit'] } }, run);
    const done = await task({ candidates: none, assignee: 'rita' }, run);
    expect((await asReader.post(`/hitl/tasks/${done}/decision`, { decision: 'reject' })).status).toBe(200);

    const list = async (query: string): Promise<string[]> => (await asReader.get(`/hitl/tasks?run_id=${run}&${query}`)).body.map((entry: { id: string }) => entry.id);
    expect(await list('')).toEqual([high, old, young, low, role]);
    expect(await list('status=decided')).toEqual([done]);
    expect(await list('status=decided,open')).toEqual([high, old, young, done, low, role]);
    expect(await list('status=open,claimed')).toEqual([high, old, young, low, role]);
    expect(await list('priority=10')).toEqual([low]);
    expect(await list('overdue=true')).toEqual([young]);
    expect(await list('overdue=false')).toEqual([high, old, low, role]);
    expect(await list('q=50%25+DONE')).toEqual([old]);
    expect(await list('q=_')).toEqual([]);
    expect(await list(`workflow_id=${uuidv7()}`)).toEqual([]);

    const seen: string[] = [];
    let path: string | undefined = `/hitl/tasks?run_id=${run}&limit=2`;
    while (path) {
      const page = await asReader.get(path);
      expect(page.body.length).toBeLessThanOrEqual(2);
      seen.push(...page.body.map((entry: { id: string }) => entry.id));
      const next: RegExpExecArray | null = /^<([^>]+)>; rel="next"$/.exec(page.headers.get('link') ?? '');
      path = next?.[1]?.slice(app.url.length);
    }
    expect(seen).toEqual([high, old, young, low, role]);
  });

  test('scope=all is for admins', async () => {
    const run = await insertRun(app.orm, { owner: owner.id });
    const id = await task(forAnn, run);
    expect((await asAdmin.get(`/hitl/tasks?run_id=${run}`)).body).toEqual([]);
    expect((await asAdmin.get(`/hitl/tasks?run_id=${run}&scope=all`)).body).toMatchObject([{ id }]);
    expect((await asAnn.get(`/hitl/tasks?run_id=${run}&scope=all`)).status).toBe(403);
  });

  test('refuses queries that it does not know', async () => {
    for (const query of ['colour=red', 'status=done', 'priority=101', 'overdue=maybe', 'run_id=1', 'cursor=x', 'limit=0']) {
      expect((await asAnn.get(`/hitl/tasks?${query}`)).status).toBe(400);
    }
  });
});

describe('deciding', () => {
  test('answers with task and decision, and leaves decision, audit row, event and signal', async () => {
    const id = await task(forAnn);
    const reply = await asAnn.post(`/hitl/tasks/${id}/decision`, { decision: 'approve', payload: { note: 'ok' }, comment: 'fine' });
    expect(reply.status).toBe(200);
    const { decision } = reply.body;
    expect(decision).toMatchObject({ decision: 'approve', payload: { note: 'ok' }, comment: 'fine', decided_by: ann.id, delivered: false });
    expect(reply.body.task).toMatchObject({ id, status: 'decided', decision });
    expect((await asAnn.get(`/hitl/tasks/${id}`)).body).toEqual(reply.body.task);
    expect(await audit(id)).toMatchObject([{ action: 'created', actor_name: null, via: 'workflow' }, { action: 'decided', actor_name: 'Ann', via: 'api', as_admin: false }]);
    expect(await events(id)).toMatchObject([{ type: 'io.cadenza.hitl.task-decided.v1', data: { decision_id: decision.id, decision: 'approve', by: ann.id } }]);
    const [signal] = await rows<{ kind: string; payload: unknown }>(`select kind, payload from run_signal where id = ?`, [decision.id]);
    expect(signal).toEqual({
      kind: 'hitl.decision',
      payload: {
        task_id: id, decision_id: decision.id, decision: 'approve', payload: { note: 'ok' }, comment: 'fine', decided_by: ann.id, decided_at: decision.decided_at,
      },
    });
  });

  test('refuses in order: token, role, visibility, candidate, body, state, content', async () => {
    const id = await task(forAnn);
    const path = `/hitl/tasks/${id}/decision`;
    const good = { decision: 'approve' };
    expect((await app.anonymous.post(path, good)).status).toBe(401);
    expect((await asViewer.post(path, good)).status).toBe(403);
    expect((await asOther.post(path, good)).status).toBe(404);
    expect((await asAnn.post(`/hitl/tasks/${uuidv7()}/decision`, good)).status).toBe(404);
    expect((await asOwner.post(path, good)).body).toMatchObject({ status: 403, code: 'not_a_candidate' });
    expect((await asAnn.request('POST', path, { body: '{"decision":', headers: { 'content-type': 'application/json' } })).status).toBe(400);
    const wrong = await asAnn.post(path, { decision: 'maybe', more: 1 });
    expect(wrong.body).toMatchObject({ status: 422, errors: [{ pointer: '/more', code: 'unknown_field' }] });
    expect((await asAnn.post(path, { decision: 'maybe' })).body).toMatchObject({ status: 422, errors: [{ pointer: '/decision', code: 'unknown_decision' }] });
    expect((await asAnn.post(path, {})).body).toMatchObject({ status: 422, errors: [{ pointer: '/decision', code: 'required' }] });
    expect((await asAnn.get(`/hitl/tasks/${id}`)).body.status).toBe('open');
    const first = await asAnn.post(path, good);
    expect(first.status).toBe(200);
    // The state is told before what is wrong with the content.
    expect((await asAnn.post(path, { decision: 'maybe', more: 1 })).body).toMatchObject({ status: 409, code: 'already_decided', decision: first.body.decision });
    expect((await asAnn.request('POST', path, { body: '{"decision":', headers: { 'content-type': 'application/json' } })).status).toBe(400);
    expect((await asOwner.post(path, good)).status).toBe(403);
  });

  test('checks the form for every decision but reject, with pointers', async () => {
    const form_schema = {
      type: 'object',
      required: ['amount'],
      properties: { amount: { type: 'integer', minimum: 1 }, 'a/b': { type: 'array', items: { type: 'string' } } },
      additionalProperties: false,
    };
    const id = await task({ ...forAnn, form_schema });
    const path = `/hitl/tasks/${id}/decision`;
    const pointers = async (payload?: unknown) =>
      (await asAnn.post(path, { decision: 'approve', payload })).body.errors.map((error: { pointer: string }) => error.pointer);
    expect(await pointers()).toEqual(['/payload']);
    expect(await pointers({ amount: 0 })).toEqual(['/payload/amount']);
    expect(await pointers({ amount: 1, 'a/b': ['x', 2] })).toEqual(['/payload/a~1b/1']);
    expect(await pointers([])).toEqual(['/payload']);
    expect(await pointers({ amount: 1, 'no such ü': 1 })).toEqual(['/payload/no such ü']);
    expect((await asAnn.post(path, { decision: 'approve', payload: { amount: 3 } })).body.decision.payload).toEqual({ amount: 3 });
    const other = await task({ ...forAnn, form_schema });
    expect((await asAnn.post(`/hitl/tasks/${other}/decision`, { decision: 'reject' })).body.decision).toMatchObject({ decision: 'reject', payload: null });
  });

  test('asks for a comment where one is required', async () => {
    const decisions = [{ id: 'approve', label: 'Approve', requires_comment: false }, { id: 'reject', label: 'Reject', requires_comment: true }];
    const path = `/hitl/tasks/${await task({ ...forAnn, decisions })}/decision`;
    expect((await asAnn.post(path, { decision: 'reject', comment: ' ' })).body).toMatchObject({ status: 422, errors: [{ pointer: '/comment', code: 'required' }] });
    expect((await asAnn.post(path, { decision: 'reject', comment: 'too dear' })).status).toBe(200);
  });

  test('replays the same answer for the same Idempotency-Key', async () => {
    const path = `/hitl/tasks/${await task(forAnn)}/decision`;
    const headers = { 'idempotency-key': 'once' };
    const first = await asAnn.post(path, { decision: 'approve' }, { headers });
    const again = await asAnn.post(path, { decision: 'approve' }, { headers });
    expect(again.status).toBe(200);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect((await asAnn.post(path, { decision: 'reject' }, { headers })).status).toBe(422);
    expect((await asAnn.post(path, { decision: 'approve' })).status).toBe(409);
  });

  test('lets admins decide any task, recorded as theirs', async () => {
    const id = await task(forAnn);
    expect((await asAdmin.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' })).status).toBe(200);
    expect((await audit(id)).at(-1)).toMatchObject({ action: 'decided', as_admin: true });
    const own = await task({ candidates: { users: [], roles: ['admin'], groups: [] } });
    await asAdmin.post(`/hitl/tasks/${own}/decision`, { decision: 'approve' });
    expect((await audit(own)).at(-1)).toMatchObject({ as_admin: false });
  });

  test('knows a cumulative role, a group, and a user by id or by name that came later', async () => {
    const users = async (given: NewHumanTask['candidates'], who: Client) =>
      (await who.post(`/hitl/tasks/${await task({ candidates: given })}/decision`, { decision: 'approve' })).status;
    expect(await users({ users: [], roles: ['approver'], groups: [] }, asOther)).toBe(200);
    expect(await users({ users: [], roles: ['builder'], groups: [] }, asAnn)).toBe(404);
    expect(await users({ users: [], roles: [], groups: ['finance'] }, asAnn)).toBe(200);
    expect(await users({ users: [], roles: [], groups: ['finance'] }, asBob)).toBe(404);
    expect(await users({ users: [bob.id], roles: [], groups: [] }, asBob)).toBe(200);
    const early = await task({ candidates: { users: ['Newcomer'], roles: [], groups: [] } });
    const newcomer = await app.as(await app.createUser({ username: 'newcomer', roles: ['approver'] }));
    expect((await newcomer.post(`/hitl/tasks/${early}/decision`, { decision: 'approve' })).status).toBe(200);
  });

  test('past the expiry by the database clock: 409, and the task is expired, once', async () => {
    const id = await task({ ...forAnn, expires_at: aMomentAgo() });
    const late = await asAnn.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' });
    expect(late.body).toMatchObject({ status: 409, code: 'task_expired', decision: null });
    expect((await asAnn.get(`/hitl/tasks/${id}`)).body.status).toBe('expired');
    expect((await asAnn.post(`/hitl/tasks/${id}/claim`)).body.code).toBe('task_expired');
    expect((await events(id)).map((event) => event.type)).toEqual(['io.cadenza.hitl.task-expired.v1']);
    expect((await audit(id)).map((row) => row.action)).toEqual(['created', 'expired']);
  });

  test('a finished run takes no decisions', async () => {
    const run = await insertRun(app.orm, { owner: owner.id });
    const id = await task(forAnn, run);
    await app.orm.em.fork().execute(`update run set status = 'cancelled' where id = ?`, [run]);
    expect((await asAnn.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' })).body).toMatchObject({ status: 409, code: 'run_finished' });
    expect((await asAnn.post(`/hitl/tasks/${id}/comments`, { comment: 'late' })).status).toBe(409);
  });
});

describe('quorum', () => {
  const quorum = { approvals: 2, rejections: 1, exclude_initiator: true };
  const candidates = { users: ['ann', 'bob', 'olga'], roles: [], groups: [] };

  test('collects votes, then decides with all of them', async () => {
    const id = await task({ candidates, quorum });
    const path = `/hitl/tasks/${id}/decision`;
    const vote = await asAnn.post(path, { decision: 'approve', comment: 'yes' });
    expect(vote.body).toMatchObject({ task: { status: 'open', tally: { approve: 1, reject: 0 }, decision: null }, decision: { decision: 'approve', delivered: null } });
    expect((await asAnn.post(path, { decision: 'reject' })).body).toMatchObject({ status: 409, code: 'already_voted', decision: null });
    expect((await asAnn.post(`/hitl/tasks/${id}/claim`)).body).toMatchObject({ status: 409, code: 'quorum_not_claimable' });
    const deciding = await asBob.post(path, { decision: 'approve' });
    expect(deciding.body).toMatchObject({ task: { status: 'decided', tally: { approve: 2, reject: 0 } }, decision: { decided_by: bob.id, delivered: false } });
    const [signal] = await rows<{ payload: { votes: unknown[] } }>(`select payload from run_signal where id = ?`, [deciding.body.decision.id]);
    expect(signal?.payload.votes).toMatchObject([{ decision: 'approve', comment: 'yes', decided_by: ann.id }, { decision: 'approve', decided_by: bob.id }]);
    expect((await events(id)).map((event) => event.type)).toEqual(['io.cadenza.hitl.vote-cast.v1', 'io.cadenza.hitl.task-decided.v1']);
  });

  test('the first rejection decides', async () => {
    const path = `/hitl/tasks/${await task({ candidates, quorum })}/decision`;
    await asAnn.post(path, { decision: 'approve' });
    expect((await asBob.post(path, { decision: 'reject' })).body.decision).toMatchObject({ decision: 'reject', delivered: false });
  });

  test('excludes the owner of the root run, even as an admin', async () => {
    const boss = await app.createUser({ username: 'boss', roles: ['admin'] });
    const root = await insertRun(app.orm, { owner: boss.id });
    const child = await insertRun(app.orm, { owner: owner.id, root });
    const id = await task({ candidates: { users: ['ann', 'boss'], roles: [], groups: [] }, quorum: { ...quorum, approvals: 1 } }, child);
    const path = `/hitl/tasks/${id}/decision`;
    expect((await (await app.as(boss)).post(path, { decision: 'approve' })).body).toMatchObject({ status: 403, code: 'initiator_excluded' });
    expect((await asAnn.post(`/hitl/tasks/${id}/delegate`, { to: 'boss' })).body).toMatchObject({ status: 422, errors: [{ pointer: '/to', code: 'initiator_excluded' }] });
    expect((await asAnn.post(path, { decision: 'approve' })).status).toBe(200);
  });
});

describe('claim, release, delegate, comment', () => {
  test('a claim keeps others out until it is released', async () => {
    const id = await task(forBoth);
    const at = (action: string) => `/hitl/tasks/${id}/${action}`;
    expect((await asAnn.post(at('release'))).body).toMatchObject({ status: 409, code: 'not_claimed' });
    const claimed = await asAnn.post(at('claim'));
    expect(claimed.body).toMatchObject({ status: 'claimed', claimed_by: ann.id, claimed_at: expect.any(String) });
    expect((await asAnn.post(at('claim'), {})).body).toEqual(claimed.body);
    expect((await asBob.post(at('claim'))).body).toMatchObject({ status: 409, code: 'claimed_by_another', claimed_by: ann.id, decision: null });
    expect((await asBob.post(at('decision'), { decision: 'approve' })).body.code).toBe('claimed_by_another');
    expect((await asBob.post(at('release'))).body.code).toBe('claimed_by_another');
    expect((await asAdmin.post(at('release'))).body).toMatchObject({ status: 'open', claimed_by: null, claimed_at: null });
    expect((await asBob.post(at('decision'), { decision: 'approve' })).status).toBe(200);
    expect((await audit(id)).map((row) => [row.action, row.as_admin])).toEqual([['created', false], ['claimed', false], ['released', true], ['decided', false]]);
    expect((await events(id)).map((event) => event.type.split('.').at(-2))).toEqual(['task-claimed', 'task-released', 'task-decided']);
  });

  test('a delegated task is the other one’s', async () => {
    const id = await task({ candidates: { users: [], roles: [], groups: [] }, assignee: 'ann' });
    const at = (action: string) => `/hitl/tasks/${id}/${action}`;
    expect((await asBob.post(at('decision'), { decision: 'approve' })).status).toBe(404);
    await asAnn.post(at('claim'));
    const delegated = await asAnn.post(at('delegate'), { to: 'bob' });
    expect(delegated.body).toMatchObject({ status: 'claimed', assignee: 'bob', claimed_by: bob.id });
    expect((await asAnn.post(at('decision'), { decision: 'approve' })).status).toBe(404);
    expect((await asBob.post(at('decision'), { decision: 'approve' })).status).toBe(200);
    expect((await audit(id)).at(-2)).toMatchObject({ action: 'delegated', actor_name: 'Ann', data: { to: bob.id, from: ann.id } });
  });

  test('delegating: whom to, and by whom', async () => {
    const id = await task({ ...forBoth, assignee: 'ann' });
    const path = `/hitl/tasks/${id}/delegate`;
    const code = async (who: Client, to: unknown) => {
      const { body } = await who.post(path, { to });
      return body.errors?.[0].code ?? body.code ?? body.assignee;
    };
    const viewer = await app.user('viewer');
    expect(await code(asAnn, 'nobody-of-that-name')).toBe('unknown_user');
    expect(await code(asAnn, viewer.username)).toBe('cannot_decide');
    expect(await code(asAnn, ann.id)).toBe('same_person');
    expect(await code(asAnn, '')).toBe('too_short');
    expect(await code(asBob, 'otto')).toBe('not_the_assignee');
    expect((await asOther.post(path, { to: 'bob' })).status).toBe(404);
    expect((await asOwner.post(path, { to: 'bob' })).status).toBe(403);
    expect(await code(asAdmin, 'otto')).toBe('otto');
    expect((await audit(id)).at(-1)).toMatchObject({ action: 'delegated', as_admin: true });
  });

  test('what somebody leaves behind goes to their successor', async () => {
    const gone = await app.createUser({ username: 'gone', roles: ['builder'] });
    const successor = await app.createUser({ username: 'successor', roles: ['builder'] });
    const asSuccessor = await app.as(successor);
    const run = await insertRun(app.orm, { owner: gone.id });
    const theirs = await task({ candidates: { users: [], roles: [], groups: [] } }, run);
    const held = await task({ candidates: { users: ['gone', 'ann'], roles: [], groups: [] } });
    await (await app.as(gone)).post(`/hitl/tasks/${held}/claim`);
    const done = await task({ assignee: 'gone' }, run);
    await (await app.as(gone)).post(`/hitl/tasks/${done}/decision`, { decision: 'reject' });
    const reply = await asAdmin.post(`/users/${gone.id}/transfer`, { to: successor.id });
    expect(reply.body).toMatchObject({ runs: 1, human_tasks: 2 });
    expect((await asAnn.get(`/hitl/tasks/${held}`)).body).toMatchObject({ status: 'claimed', claimed_by: successor.id, assignee: null });
    expect((await asSuccessor.get(`/hitl/tasks/${theirs}`)).body).toMatchObject({ assignee: successor.id });
    expect((await asSuccessor.get(`/hitl/tasks/${done}`)).body).toMatchObject({ assignee: 'gone', status: 'decided' });
    for (const id of [theirs, held]) expect((await asSuccessor.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' })).status).toBe(200);
    expect((await audit(held)).map((row) => row.action)).toEqual(['created', 'claimed', 'delegated', 'decided']);
  });

  test('comments by all who see the task', async () => {
    const id = await task(forAnn);
    const path = `/hitl/tasks/${id}/comments`;
    expect((await app.anonymous.post(path, { comment: 'x' })).status).toBe(401);
    expect((await asOther.post(path, { comment: 'x' })).status).toBe(404);
    expect((await asAnn.post(path, { comment: '' })).body).toMatchObject({ status: 422, errors: [{ pointer: '/comment' }] });
    const said = await asAnn.post(path, { comment: 'Who ordered this?' });
    expect(said.status).toBe(201);
    expect(said.body).toMatchObject({ comment: 'Who ordered this?', created_by: ann.id });
    const answer = await asOwner.post(path, { comment: 'I did.' });
    expect((await asAnn.get(`/hitl/tasks/${id}`)).body.comments).toEqual([said.body, answer.body]);
    expect((await audit(id)).map((row) => row.action)).toEqual(['created', 'commented', 'commented']);
  });
});

describe('several decisions at once', () => {
  test('one result each', async () => {
    const [one, two, hidden] = [await task(forAnn), await task({ ...forAnn, form_schema: { type: 'object', required: ['x'] } }), await task({ candidates: { users: ['bob'], roles: [], groups: [] } })];
    const decisions = [
      { task_id: one, decision: 'approve' },
      { task_id: one, decision: 'reject' },
      { task_id: two, decision: 'approve', payload: {} },
      { task_id: hidden, decision: 'approve' },
    ];
    const reply = await asAnn.post('/hitl/decisions', { decisions });
    expect(reply.status).toBe(200);
    expect(reply.body.results).toMatchObject([
      { task_id: one, status: 200, task: { status: 'decided' }, decision: { decision: 'approve', delivered: false } },
      { task_id: one, status: 409, problem: { status: 409, code: 'already_decided', decision: { decision: 'approve' } } },
      { task_id: two, status: 422, problem: { errors: [{ pointer: '/payload' }] } },
      { task_id: hidden, status: 404, problem: { code: 'not_found' } },
    ]);
    expect((await audit(one)).at(-1)).toMatchObject({ via: 'batch' });
    expect((await app.anonymous.post('/hitl/decisions', { decisions })).status).toBe(401);
    expect((await asViewer.post('/hitl/decisions', { decisions })).status).toBe(403);
    expect((await asAnn.post('/hitl/decisions', { decisions: [] })).status).toBe(422);
    expect((await asAnn.post('/hitl/decisions', { decisions: [{ task_id: 'x', decision: 'approve', more: 1 }] })).status).toBe(422);
  });

  test('a batch that was cut off half-way can be sent again with its Idempotency-Key', async () => {
    const [one, two] = [await task(forAnn), await task(forAnn)];
    const headers = { 'idempotency-key': 'batch' };
    const decisions = [{ task_id: one, decision: 'approve' }, { task_id: two, decision: 'reject' }];
    const first = await asAnn.post('/hitl/decisions', { decisions }, { headers });
    expect(first.body.results.map((result: { status: number }) => result.status)).toEqual([200, 200]);
    // As a crash before the end would leave it: the second task was not reached, the whole answer not stored.
    const fresh = await task(forAnn);
    await rows(`delete from idempotency_record where key = 'batch' and path in ('/hitl/decisions', '/hitl/decisions#1')`, []);
    const again = await asAnn.post('/hitl/decisions', { decisions: [decisions[0], { task_id: fresh, decision: 'reject' }] }, { headers });
    expect(again.body.results).toMatchObject([first.body.results[0], { task_id: fresh, status: 200 }]);
    expect((await audit(one)).map((row) => row.action)).toEqual(['created', 'decided']);
  });
});
