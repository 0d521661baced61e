import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import type { NewHumanTask } from '../../../contracts/activities.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
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

const task = (given: Partial<NewHumanTask> = {}, run = runId): Promise<string> =>
  insertTask(app.orm, run, given);
const forAnn = { candidates: { users: ['ann'], roles: [], groups: [] } };
const forBoth = { candidates: { users: ['ann', 'bob'], roles: [], groups: [] } };
const rows = <T>(sql: string, values: unknown[]): Promise<T[]> => app.orm.em.fork().execute<T[]>(sql, values);
const events = (id: string) =>
  rows<{ seq: number; type: string; data: Record<string, unknown> }>(
    `select seq, type, data from run_event where data->>'hitl_task_id' = ? order by seq`,
    [id],
  );
const audit = (id: string) =>
  rows<{
    action: string;
    actor_name: string | null;
    via: string;
    as_admin: boolean;
    data: Record<string, unknown>;
  }>(`select action, actor_name, via, as_admin, data from hitl_audit where task_id = ? order by id`, [id]);

describe('reading tasks', () => {
  test('needs a token', async () => {
    expect((await app.anonymous.get('/hitl/tasks')).status).toBe(401);
    expect((await app.anonymous.get(`/hitl/tasks/${uuidv7()}`)).status).toBe(401);
  });

  test('shows a task to candidates, assignee, run owner and admins, and to nobody else', async () => {
    const id = await task({ candidates: { users: ['ANN'], roles: [], groups: [] }, assignee: bob.id });
    for (const reader of [asAnn, asBob, asOwner, asAdmin])
      expect((await reader.get(`/hitl/tasks/${id}`)).status).toBe(200);
    for (const reader of [asOther, asViewer])
      expect((await reader.get(`/hitl/tasks/${id}`)).body.code).toBe('not_found');
    expect((await asAnn.get(`/hitl/tasks/${uuidv7()}`)).status).toBe(404);
    expect((await asAnn.get('/hitl/tasks/nonsense')).status).toBe(404);
  });

  test('gives the whole record', async () => {
    const due = inOneHour();
    const id = await task({
      ...forAnn,
      due_at: due,
      expires_at: due,
      quorum: { approvals: 2, rejections: 1, exclude_initiator: false },
    });
    const { body } = await asAnn.get(`/api/v1/hitl/tasks/${id}`);
    expect(body).toEqual({
      id,
      run_id: runId,
      workflow_id: null,
      workflow_name: 'purchase',
      team_id: null,
      task: '/do/1/review',
      title: 'Approve the purchase',
      description: null,
      subject: { amount: 10 },
      context: null,
      form_schema: null,
      status: 'open',
      priority: 50,
      assignee: null,
      assignee_name: null,
      candidates: forAnn.candidates,
      decisions: [
        { id: 'approve', label: 'Approve', requires_comment: false },
        { id: 'reject', label: 'Reject', requires_comment: false },
      ],
      claimed_by: null,
      claimed_by_name: null,
      claimed_at: null,
      due_at: due,
      expires_at: due,
      escalation_level: 0,
      quorum: { approvals: 2, rejections: 1, exclude_initiator: false },
      delegate: 'candidates',
      delegations: [],
      tally: { approve: 0, reject: 0 },
      my_vote: null,
      can: ['decide', 'comment'],
      cannot: {
        claim: 'quorum_not_claimable',
        release: 'not_claimed',
        delegate: 'no_other_candidate',
        see_run: 'not_found',
      },
      comments: [],
      decision: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.any(String),
    });
  });

  test('assigns a task to the run owner if nobody is named', async () => {
    const id = await task({ candidates: { users: [], roles: [], groups: [] } });
    expect((await asOwner.get(`/hitl/tasks/${id}`)).body.assignee).toBe(owner.id);
    expect((await asOwner.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' })).status).toBe(200);
  });

  test("lists the open tasks for the caller's name, roles and groups, by priority, then age", async () => {
    const reader = await app.createUser({
      username: 'rita',
      roles: ['approver'],
      groups: ['legal', 'strange "group"\\'],
    });
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

    const list = async (query: string): Promise<string[]> =>
      (await asReader.get(`/hitl/tasks?run_id=${run}&${query}`)).body.map(
        (entry: { id: string }) => entry.id,
      );
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

  test('offers scope=all to admins only', async () => {
    const run = await insertRun(app.orm, { owner: owner.id });
    const id = await task(forAnn, run);
    expect((await asAdmin.get(`/hitl/tasks?run_id=${run}`)).body).toEqual([]);
    expect((await asAdmin.get(`/hitl/tasks?run_id=${run}&scope=all`)).body).toMatchObject([{ id }]);
    expect((await asAnn.get(`/hitl/tasks?run_id=${run}&scope=all`)).status).toBe(403);
  });

  test('lists what the caller can decide; scope=candidate adds own tasks that wait for others', async () => {
    const reader = await app.createUser({ roles: ['approver'] });
    const asReader = await app.as(reader);
    const run = await insertRun(app.orm, { owner: reader.id });
    const candidates = { users: [reader.id, 'bob'], roles: [], groups: [] };
    const quorum = { approvals: 2, rejections: 1, exclude_initiator: false };
    const free = await task({ candidates }, run);
    const claimed = await task({ candidates }, run);
    await asReader.post(`/hitl/tasks/${claimed}/claim`);
    const taken = await task({ candidates }, run);
    await asBob.post(`/hitl/tasks/${taken}/claim`);
    const voted = await task({ candidates, quorum }, run);
    await asReader.post(`/hitl/tasks/${voted}/decision`, { decision: 'approve', comment: 'Yes' });
    const delegated = await task({ candidates }, run);
    await asReader.post(`/hitl/tasks/${delegated}/delegate`, { to: 'bob' });
    const late = await task({ candidates, expires_at: aMomentAgo() }, run);
    const excluded = await task({ candidates, quorum: { ...quorum, exclude_initiator: true } }, run);
    const list = async (query: string): Promise<string[]> =>
      (await asReader.get(`/hitl/tasks?run_id=${run}&${query}`)).body.map(({ id }: { id: string }) => id);
    expect(await list('')).toEqual([free, claimed]);
    expect(await list('status=open,claimed,decided')).toEqual([free, claimed]);
    const all = [free, claimed, taken, voted, delegated, late, excluded];
    expect(await list('scope=candidate')).toEqual(all);
    const { body } = await asReader.get(`/hitl/tasks?run_id=${run}&scope=candidate`);
    const reasons = [
      undefined,
      undefined,
      'claimed_by_another',
      'already_voted',
      'delegated',
      'task_expired',
      'initiator_excluded',
    ];
    expect(body.map(({ cannot }: { cannot: { decide?: string } }) => cannot.decide)).toEqual(reasons);
    expect(body[3].my_vote).toEqual({ decision: 'approve', comment: 'Yes', voted_at: expect.any(String) });
    expect(body.filter(({ my_vote }: { my_vote: unknown }) => my_vote !== null)).toHaveLength(1);
    await app.orm.em.fork().execute(`update user_account set roles = '{viewer}' where id = ?`, [reader.id]);
    expect(await list('')).toEqual([]);
  });

  test('lists a claimed task to its holder, even if the holder is not a candidate', async () => {
    const heir = await app.createUser({ roles: ['approver'] });
    const leaver = await app.createUser({ roles: ['approver'] });
    const held = await task({ candidates: { users: [leaver.id], roles: [], groups: [] } });
    await (await app.as(leaver)).post(`/hitl/tasks/${held}/claim`);
    await asAdmin.post(`/users/${leaver.id}/transfer`, { to: heir.id });
    const { body } = await (await app.as(heir)).get('/hitl/tasks');
    expect(body.filter(({ id }: { id: string }) => id === held)).toMatchObject([{ claimed_by: heir.id }]);
  });

  test('refuses unknown queries', async () => {
    for (const query of [
      'colour=red',
      'status=done',
      'priority=101',
      'overdue=maybe',
      'run_id=1',
      'cursor=x',
      'limit=0',
    ]) {
      expect((await asAnn.get(`/hitl/tasks?${query}`)).status).toBe(400);
    }
  });
});

describe('deciding', () => {
  test('answers with task and decision, and stores decision, audit row, event and signal', async () => {
    const id = await task(forAnn);
    const reply = await asAnn.post(`/hitl/tasks/${id}/decision`, {
      decision: 'approve',
      payload: { note: 'ok' },
      comment: 'fine',
    });
    expect(reply.status).toBe(200);
    const { decision } = reply.body;
    expect(decision).toMatchObject({
      decision: 'approve',
      payload: { note: 'ok' },
      comment: 'fine',
      decided_by: ann.id,
      delivered: false,
    });
    expect(reply.body.task).toMatchObject({ id, status: 'decided', decision });
    expect((await asAnn.get(`/hitl/tasks/${id}`)).body).toEqual(reply.body.task);
    expect(await audit(id)).toMatchObject([
      { action: 'created', actor_name: null, via: 'workflow' },
      { action: 'decided', actor_name: 'Ann', via: 'api', as_admin: false },
    ]);
    expect(await events(id)).toMatchObject([
      {
        type: 'io.cadenza.hitl.task-decided.v1',
        data: { decision_id: decision.id, decision: 'approve', by: ann.id },
      },
    ]);
    const [signal] = await rows<{ kind: string; payload: unknown }>(
      `select kind, payload from run_signal where id = ?`,
      [decision.id],
    );
    expect(signal).toEqual({
      kind: 'hitl.decision',
      payload: {
        task_id: id,
        decision_id: decision.id,
        decision: 'approve',
        payload: { note: 'ok' },
        comment: 'fine',
        decided_by: ann.id,
        decided_at: decision.decided_at,
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
    expect(
      (
        await asAnn.request('POST', path, {
          body: '{"decision":',
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(400);
    const wrong = await asAnn.post(path, { decision: 'maybe', more: 1 });
    expect(wrong.body).toMatchObject({ status: 422, errors: [{ pointer: '/more', code: 'unknown_field' }] });
    expect((await asAnn.post(path, { decision: 'maybe' })).body).toMatchObject({
      status: 422,
      errors: [{ pointer: '/decision', code: 'unknown_decision' }],
    });
    expect((await asAnn.post(path, {})).body).toMatchObject({
      status: 422,
      errors: [{ pointer: '/decision', code: 'required' }],
    });
    expect((await asAnn.get(`/hitl/tasks/${id}`)).body.status).toBe('open');
    const first = await asAnn.post(path, good);
    expect(first.status).toBe(200);
    // A wrong state is reported before wrong content.
    expect((await asAnn.post(path, { decision: 'maybe', more: 1 })).body).toMatchObject({
      status: 409,
      code: 'already_decided',
      decision: first.body.decision,
    });
    expect(
      (
        await asAnn.request('POST', path, {
          body: '{"decision":',
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(400);
    expect((await asOwner.post(path, good)).status).toBe(403);
  });

  test('checks the form for every decision but reject, and points at the mistakes', async () => {
    const form_schema = {
      type: 'object',
      required: ['amount'],
      properties: {
        amount: { type: 'integer', minimum: 1 },
        'a/b': { type: 'array', items: { type: 'string' } },
      },
      additionalProperties: false,
    };
    const id = await task({ ...forAnn, form_schema });
    const path = `/hitl/tasks/${id}/decision`;
    const pointers = async (payload?: unknown) =>
      (await asAnn.post(path, { decision: 'approve', payload })).body.errors.map(
        (error: { pointer: string }) => error.pointer,
      );
    expect(await pointers()).toEqual(['/payload/amount']);
    expect(await pointers({ amount: 0 })).toEqual(['/payload/amount']);
    expect(await pointers({ amount: 1, 'a/b': ['x', 2] })).toEqual(['/payload/a~1b/1']);
    expect(await pointers([])).toEqual(['/payload']);
    expect(await pointers({ amount: 1, 'no such ü': 1 })).toEqual(['/payload/no such ü']);
    expect(
      (await asAnn.post(path, { decision: 'approve', payload: { amount: 3 } })).body.decision.payload,
    ).toEqual({ amount: 3 });
    const other = await task({ ...forAnn, form_schema });
    expect(
      (await asAnn.post(`/hitl/tasks/${other}/decision`, { decision: 'reject' })).body.decision,
    ).toMatchObject({ decision: 'reject', payload: null });
  });

  test('asks for a comment where one is required', async () => {
    const decisions = [
      { id: 'approve', label: 'Approve', requires_comment: false },
      { id: 'reject', label: 'Reject', requires_comment: true },
    ];
    const path = `/hitl/tasks/${await task({ ...forAnn, decisions })}/decision`;
    expect((await asAnn.post(path, { decision: 'reject', comment: ' ' })).body).toMatchObject({
      status: 422,
      errors: [{ pointer: '/comment', code: 'required' }],
    });
    expect((await asAnn.post(path, { decision: 'reject', comment: 'too dear' })).status).toBe(200);
  });

  test('replays the response for the same Idempotency-Key', async () => {
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

  test('lets admins decide any task, and records them', async () => {
    const id = await task(forAnn);
    expect((await asAdmin.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' })).status).toBe(200);
    expect((await audit(id)).at(-1)).toMatchObject({ action: 'decided', as_admin: true });
    const forAdmins = await task({ candidates: { users: [], roles: ['admin'], groups: [] } });
    await asAdmin.post(`/hitl/tasks/${forAdmins}/decision`, { decision: 'approve' });
    expect((await audit(forAdmins)).at(-1)).toMatchObject({ as_admin: false });
  });

  test('recognizes a candidate by a higher role, a group, an id, or a name registered later', async () => {
    const users = async (given: NewHumanTask['candidates'], who: Client) =>
      (await who.post(`/hitl/tasks/${await task({ candidates: given })}/decision`, { decision: 'approve' }))
        .status;
    expect(await users({ users: [], roles: ['approver'], groups: [] }, asOther)).toBe(200);
    expect(await users({ users: [], roles: ['builder'], groups: [] }, asAnn)).toBe(404);
    expect(await users({ users: [], roles: [], groups: ['finance'] }, asAnn)).toBe(200);
    expect(await users({ users: [], roles: [], groups: ['finance'] }, asBob)).toBe(404);
    expect(await users({ users: [bob.id], roles: [], groups: [] }, asBob)).toBe(200);
    const early = await task({ candidates: { users: ['Newcomer'], roles: [], groups: [] } });
    const newcomer = await app.as(await app.createUser({ username: 'newcomer', roles: ['approver'] }));
    expect((await newcomer.post(`/hitl/tasks/${early}/decision`, { decision: 'approve' })).status).toBe(200);
  });

  test('expires the task once with 409 after the expiry of the database clock', async () => {
    const id = await task({ ...forAnn, expires_at: aMomentAgo() });
    const late = await asAnn.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' });
    expect(late.body).toMatchObject({ status: 409, code: 'task_expired', decision: null });
    expect((await asAnn.get(`/hitl/tasks/${id}`)).body.status).toBe('expired');
    expect((await asAnn.post(`/hitl/tasks/${id}/claim`)).body.code).toBe('task_expired');
    expect((await events(id)).map((event) => event.type)).toEqual(['io.cadenza.hitl.task-expired.v1']);
    expect((await audit(id)).map((row) => row.action)).toEqual(['created', 'expired']);
  });

  test('is refused for a finished run', async () => {
    const run = await insertRun(app.orm, { owner: owner.id });
    const id = await task(forAnn, run);
    await app.orm.em.fork().execute(`update run set status = 'cancelled' where id = ?`, [run]);
    expect((await asAnn.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' })).body).toMatchObject({
      status: 409,
      code: 'run_finished',
    });
    expect((await asAnn.post(`/hitl/tasks/${id}/comments`, { comment: 'late' })).status).toBe(409);
  });
});

describe('a quorum', () => {
  const quorum = { approvals: 2, rejections: 1, exclude_initiator: true };
  const candidates = { users: ['ann', 'bob', 'olga'], roles: [], groups: [] };

  test('collects votes, then decides with all of them', async () => {
    const id = await task({ candidates, quorum });
    const path = `/hitl/tasks/${id}/decision`;
    const vote = await asAnn.post(path, { decision: 'approve', comment: 'yes' });
    expect(vote.body).toMatchObject({
      task: { status: 'open', tally: { approve: 1, reject: 0 }, decision: null },
      decision: { decision: 'approve', delivered: null },
    });
    expect((await asAnn.post(path, { decision: 'reject' })).body).toMatchObject({
      status: 409,
      code: 'already_voted',
      decision: null,
    });
    expect((await asAnn.post(`/hitl/tasks/${id}/claim`)).body).toMatchObject({
      status: 409,
      code: 'quorum_not_claimable',
    });
    const deciding = await asBob.post(path, { decision: 'approve' });
    expect(deciding.body).toMatchObject({
      task: { status: 'decided', tally: { approve: 2, reject: 0 } },
      decision: { decided_by: bob.id, delivered: false },
    });
    const [signal] = await rows<{ payload: { votes: unknown[] } }>(
      `select payload from run_signal where id = ?`,
      [deciding.body.decision.id],
    );
    expect(signal?.payload.votes).toMatchObject([
      { decision: 'approve', comment: 'yes', decided_by: ann.id },
      { decision: 'approve', decided_by: bob.id },
    ]);
    expect((await events(id)).map((event) => event.type)).toEqual([
      'io.cadenza.hitl.vote-cast.v1',
      'io.cadenza.hitl.task-decided.v1',
    ]);
  });

  test("has an audit, in which candidates see others' votes only after the decision", async () => {
    const candidates = { users: ['ann', 'bob'], roles: [], groups: [] };
    const id = await task({ candidates, quorum });
    const path = `/hitl/tasks/${id}/audit`;
    expect((await asAnn.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' })).status).toBe(200);
    const decisionsFor = async (client: Client): Promise<unknown[]> =>
      (await client.get(path)).body.map(({ data }: { data: { decision?: string } }) => data.decision);
    expect(await decisionsFor(asAnn)).toEqual([undefined, 'approve']);
    expect(await decisionsFor(asBob)).toEqual([undefined, undefined]);
    expect(await decisionsFor(asOwner)).toEqual([undefined, 'approve']);
    expect(await decisionsFor(asAdmin)).toEqual([undefined, 'approve']);
    await asBob.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' });
    const { status, body, headers } = await asBob.get(`${path}?limit=2`);
    expect([status, body]).toMatchObject([
      200,
      [
        { action: 'created', via: 'workflow', actor: null },
        { action: 'voted', via: 'api', actor: { id: ann.id, username: 'Ann' }, as_admin: false },
      ],
    ]);
    expect(body[1].data.decision).toBe('approve');
    const rest = await asBob.get(/<([^>]+)>/.exec(headers.get('link') ?? '')?.[1] ?? '');
    expect(rest.body.map(({ action }: { action: string }) => action)).toEqual(['decided']);
    for (const client of [asOther, asViewer]) expect((await client.get(path)).status).toBe(404);
    expect((await app.anonymous.get(path)).status).toBe(401);
    expect((await asBob.get(`${path}?limit=0`)).status).toBe(400);
    expect((await asBob.get(`${path}?cursor=bm8`)).status).toBe(400);
  });

  test('ends with the first rejection', async () => {
    const path = `/hitl/tasks/${await task({ candidates, quorum })}/decision`;
    await asAnn.post(path, { decision: 'approve' });
    expect((await asBob.post(path, { decision: 'reject' })).body.decision).toMatchObject({
      decision: 'reject',
      delivered: false,
    });
  });

  test('excludes the owner of the root run, even as an admin', async () => {
    const boss = await app.createUser({ username: 'boss', roles: ['admin'] });
    const root = await insertRun(app.orm, { owner: boss.id });
    const child = await insertRun(app.orm, { owner: owner.id, root });
    const id = await task(
      { candidates: { users: ['ann', 'boss'], roles: [], groups: [] }, quorum: { ...quorum, approvals: 1 } },
      child,
    );
    const path = `/hitl/tasks/${id}/decision`;
    expect((await (await app.as(boss)).post(path, { decision: 'approve' })).body).toMatchObject({
      status: 403,
      code: 'initiator_excluded',
    });
    expect((await asAnn.post(`/hitl/tasks/${id}/delegate`, { to: 'boss' })).body).toMatchObject({
      status: 422,
      errors: [{ pointer: '/to', code: 'initiator_excluded' }],
    });
    expect((await asAnn.post(path, { decision: 'approve' })).status).toBe(200);
  });
});

describe('a human task', () => {
  test('is closed to others from a claim until its release', async () => {
    const id = await task(forBoth);
    const at = (action: string) => `/hitl/tasks/${id}/${action}`;
    expect((await asAnn.post(at('release'))).body).toMatchObject({ status: 409, code: 'not_claimed' });
    const claimed = await asAnn.post(at('claim'));
    expect(claimed.body).toMatchObject({
      status: 'claimed',
      claimed_by: ann.id,
      claimed_at: expect.any(String),
    });
    expect((await asAnn.post(at('claim'), {})).body).toEqual(claimed.body);
    expect((await asBob.post(at('claim'))).body).toMatchObject({
      status: 409,
      code: 'claimed_by_another',
      claimed_by: ann.id,
      decision: null,
    });
    expect((await asBob.post(at('decision'), { decision: 'approve' })).body.code).toBe('claimed_by_another');
    expect((await asBob.post(at('release'))).body.code).toBe('claimed_by_another');
    expect((await asAdmin.post(at('release'))).body).toMatchObject({
      status: 'open',
      claimed_by: null,
      claimed_at: null,
    });
    expect((await asBob.post(at('decision'), { decision: 'approve' })).status).toBe(200);
    expect((await audit(id)).map((row) => [row.action, row.as_admin])).toEqual([
      ['created', false],
      ['claimed', false],
      ['released', true],
      ['decided', false],
    ]);
    expect((await events(id)).map((event) => event.type.split('.').at(-2))).toEqual([
      'task-claimed',
      'task-released',
      'task-decided',
    ]);
  });

  test('belongs to the person whom it was delegated to', async () => {
    const id = await task({
      candidates: { users: [], roles: [], groups: [] },
      assignee: 'ann',
      delegate: 'anyone',
    });
    const at = (action: string) => `/hitl/tasks/${id}/${action}`;
    expect((await asBob.post(at('decision'), { decision: 'approve' })).status).toBe(404);
    await asAnn.post(at('claim'));
    const delegated = await asAnn.post(at('delegate'), { to: 'BOB' });
    const assigned = { assignee: bob.id, assignee_name: 'bob' };
    expect(delegated.body).toMatchObject({ status: 'claimed', ...assigned, claimed_by: bob.id });
    expect((await asAnn.post(at('decision'), { decision: 'approve' })).status).toBe(404);
    expect((await asBob.post(at('decision'), { decision: 'approve' })).status).toBe(200);
    expect((await audit(id)).at(-2)).toMatchObject({
      action: 'delegated',
      actor_name: 'Ann',
      data: { to: bob.id, from: ann.id },
    });
  });

  test('checks who may delegate, and to whom', async () => {
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
    expect(await code(asAnn, 'otto')).toBe('not_a_candidate');
    expect(await code(asAdmin, 'otto')).toBe('not_a_candidate');
    expect(await code(asAdmin, 'bob')).toBe(bob.id);
    expect((await audit(id)).at(-1)).toMatchObject({ action: 'delegated', as_admin: true });
  });

  test('passes to the successor of a person who leaves', async () => {
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
    expect((await asAnn.get(`/hitl/tasks/${held}`)).body).toMatchObject({
      status: 'claimed',
      claimed_by: successor.id,
      assignee: null,
    });
    expect((await asSuccessor.get(`/hitl/tasks/${theirs}`)).body).toMatchObject({ assignee: successor.id });
    expect((await asSuccessor.get(`/hitl/tasks/${done}`)).body).toMatchObject({
      assignee: 'gone',
      status: 'decided',
    });
    for (const id of [theirs, held])
      expect((await asSuccessor.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' })).status).toBe(
        200,
      );
    expect((await audit(held)).map((row) => row.action)).toEqual([
      'created',
      'claimed',
      'delegated',
      'decided',
    ]);
  });

  test('takes comments from all who can see it', async () => {
    const id = await task(forAnn);
    const path = `/hitl/tasks/${id}/comments`;
    expect((await app.anonymous.post(path, { comment: 'x' })).status).toBe(401);
    expect((await asOther.post(path, { comment: 'x' })).status).toBe(404);
    expect((await asAnn.post(path, { comment: '' })).body).toMatchObject({
      status: 422,
      errors: [{ pointer: '/comment' }],
    });
    const comment = await asAnn.post(path, { comment: 'Who ordered this?' });
    expect(comment.status).toBe(201);
    expect(comment.body).toMatchObject({ comment: 'Who ordered this?', created_by: ann.id });
    const answer = await asOwner.post(path, { comment: 'I did.' });
    expect((await asAnn.get(`/hitl/tasks/${id}`)).body.comments).toEqual([comment.body, answer.body]);
    expect((await audit(id)).map((row) => row.action)).toEqual(['created', 'commented', 'commented']);
  });
});

describe('a batch of decisions', () => {
  test('gets one result for each decision', async () => {
    const [first, second, hidden] = [
      await task(forAnn),
      await task({ ...forAnn, form_schema: { type: 'object', required: ['x'] } }),
      await task({ candidates: { users: ['bob'], roles: [], groups: [] } }),
    ];
    const decisions = [
      { task_id: first, decision: 'approve' },
      { task_id: first, decision: 'reject' },
      { task_id: second, decision: 'approve', payload: {} },
      { task_id: hidden, decision: 'approve' },
    ];
    const reply = await asAnn.post('/hitl/decisions', { decisions });
    expect(reply.status).toBe(200);
    expect(reply.body.results).toMatchObject([
      {
        task_id: first,
        status: 200,
        task: { status: 'decided' },
        decision: { decision: 'approve', delivered: false },
      },
      {
        task_id: first,
        status: 409,
        problem: { status: 409, code: 'already_decided', decision: { decision: 'approve' } },
      },
      { task_id: second, status: 422, problem: { errors: [{ pointer: '/payload/x' }] } },
      { task_id: hidden, status: 404, problem: { code: 'not_found' } },
    ]);
    expect((await audit(first)).at(-1)).toMatchObject({ via: 'batch' });
    expect((await app.anonymous.post('/hitl/decisions', { decisions })).status).toBe(401);
    expect((await asViewer.post('/hitl/decisions', { decisions })).status).toBe(403);
    expect((await asAnn.post('/hitl/decisions', { decisions: [] })).status).toBe(422);
    expect(
      (await asAnn.post('/hitl/decisions', { decisions: [{ task_id: 'x', decision: 'approve', more: 1 }] }))
        .status,
    ).toBe(422);
  });

  test('can be sent again with its Idempotency-Key after it was cut off', async () => {
    const [firstTask, secondTask] = [await task(forAnn), await task(forAnn)];
    const headers = { 'idempotency-key': 'batch' };
    const decisions = [
      { task_id: firstTask, decision: 'approve' },
      { task_id: secondTask, decision: 'reject' },
    ];
    const first = await asAnn.post('/hitl/decisions', { decisions }, { headers });
    expect(first.body.results.map((result: { status: number }) => result.status)).toEqual([200, 200]);
    // A crash leaves this behind: the second task was not reached, and the response was not stored.
    const fresh = await task(forAnn);
    await rows(
      `delete from idempotency_record
        where key = 'batch' and path in ('/hitl/decisions', '/hitl/decisions#1')`,
      [],
    );
    const again = await asAnn.post(
      '/hitl/decisions',
      { decisions: [decisions[0], { task_id: fresh, decision: 'reject' }] },
      { headers },
    );
    expect(again.body.results).toMatchObject([first.body.results[0], { task_id: fresh, status: 200 }]);
    expect((await audit(firstTask)).map((row) => row.action)).toEqual(['created', 'decided']);
  });
});
