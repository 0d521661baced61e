/**
 * `can` of a human task against the endpoints: each person tries each action on a task in each state.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NewHumanTask } from '../../../contracts/activities.ts';
import { TASK_ACTIONS, type TaskAction } from '../../../domain/hitl/rights.ts';
import { startTestApp, type Client, type Reply, type TestApp, type TestUser } from '../../support/app.ts';
import { aMomentAgo, insertRun, insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
const people = new Map<string, TestUser>();

beforeAll(async () => {
  app = await startTestApp();
  const roles = {
    olga: 'builder',
    ann: 'approver',
    bob: 'approver',
    cid: 'approver',
    dora: 'approver',
    vera: 'viewer',
    alma: 'admin',
    otto: 'builder',
  } as const;
  for (const [username, role] of Object.entries(roles))
    people.set(username, await app.createUser({ username, roles: [role] }));
});
afterAll(() => app.close());

const as = async (name: string): Promise<Client> => app.as(people.get(name) ?? 'viewer');
const candidates = { users: ['ann', 'bob', 'dora', 'vera'], roles: [], groups: [] };
const quorum = { approvals: 2, rejections: 1, exclude_initiator: false };
const none = { users: [], roles: [], groups: [] };
type Step = [who: string, action: string, body?: unknown];
const voteOf = (who: string): Step => [who, 'decision', { decision: 'approve' }];

const states: Record<string, { task?: Partial<NewHumanTask>; steps?: Step[]; run?: string }> = {
  open: {},
  'assigned, with candidates': { task: { assignee: 'ann' } },
  'assigned to one person': { task: { candidates: none, assignee: 'ann' } },
  'for the run’s owner': { task: { candidates: none } },
  'claimed by a candidate': { steps: [['ann', 'claim']] },
  'claimed by an admin': { steps: [['alma', 'claim']] },
  delegated: { steps: [['ann', 'delegate', { to: 'bob' }]] },
  'delegated to anybody': { task: { delegate: 'anyone' }, steps: [['ann', 'delegate', { to: 'cid' }]] },
  decided: { steps: [voteOf('ann')] },
  'past its expiry': { task: { expires_at: aMomentAgo() } },
  'to be voted on': { task: { quorum } },
  'voted on by a candidate': { task: { quorum }, steps: [voteOf('ann')] },
  'voted on by the assignee': { task: { quorum, assignee: 'ann' }, steps: [voteOf('ann')] },
  'voted on by an admin': { task: { quorum }, steps: [voteOf('alma')] },
  'delegated vote': { task: { quorum, delegate: 'anyone' }, steps: [['ann', 'delegate', { to: 'cid' }]] },
  'vote of the assignee, delegated': {
    task: { quorum, assignee: 'ann', delegate: 'anyone' },
    steps: [['ann', 'delegate', { to: 'cid' }]],
  },
  'not for initiators': {
    task: {
      quorum: { ...quorum, exclude_initiator: true },
      candidates: { ...candidates, roles: ['builder'] },
    },
  },
  'of a finished run': { run: 'cancelled' },
  'decided in a finished run': { steps: [voteOf('ann')], run: 'completed' },
};

async function build({ task, steps = [], run }: (typeof states)[string]): Promise<string> {
  const runId = await insertRun(app.orm, { owner: people.get('olga')?.id ?? '' });
  const id = await insertTask(app.orm, runId, { candidates, ...task });
  for (const [client, action, body] of steps)
    expect((await (await as(client)).post(`/hitl/tasks/${id}/${action}`, body)).status).toBe(200);
  if (run !== undefined)
    await app.orm.em.fork().execute(`update run set status = ? where id = ?`, [run, runId]);
  return id;
}

async function attempt(who: Client, id: string, action: TaskAction): Promise<Reply> {
  const path = `/hitl/tasks/${id}`;
  switch (action) {
    case 'decide':
      return who.post(`${path}/decision`, { decision: 'approve' });
    case 'comment':
      return who.post(`${path}/comments`, { comment: 'Hm' });
    case 'see_run':
      return who.get(`/runs/${(await who.get(path)).body.run_id}`);
    case 'delegate': {
      // One of these may receive a delegated task, if anybody may.
      const replies: Reply[] = [];
      for (const to of ['bob', 'ann', 'cid', 'dora'])
        replies.push(await who.post(`${path}/delegate`, { to }));
      return (
        replies.find(({ status }) => status === 200) ??
        replies.find(({ body }) => body.status !== 422) ??
        (replies[0] as Reply)
      );
    }
    default:
      return who.post(`${path}/${action}`);
  }
}

/** Each attempt has a task of its own. */
async function expectAsListed(
  state: (typeof states)[string],
  person: string,
  action: TaskAction,
): Promise<void> {
  const client = await as(person);
  const id = await build(state);
  const { status, body: before } = await client.get(`/hitl/tasks/${id}`);
  const reply = await attempt(client, id, action);
  if (status === 404) {
    expect([403, 404]).toContain(reply.status);
    return;
  }
  const label = `${person} ${action}: ${before.can.includes(action) ? 'can' : before.cannot[action]}`;
  const { cannot } = before;
  if (before.can.includes(action)) expect(`${label} ${reply.status}`).toMatch(/ 20[01]$/);
  // The action would change nothing or has no recipient, so the record does not offer it.
  else if (cannot[action] === 'already_claimed') expect(reply.body.updated_at).toBe(before.updated_at);
  else if (cannot[action] === 'no_other_candidate') expect(reply.status).toBe(422);
  else expect(label).toBe(`${person} ${action}: ${reply.body.code}`);
  // A finished run closes its tasks; only this test leaves one open.
  if (action !== 'see_run' || state.run !== undefined) return;
  const listed = await client.get(`/hitl/tasks?run_id=${before.run_id}&status=open,claimed`);
  const mine = listed.body.some((task: { id: string }) => task.id === id);
  const asked = (await client.get(`/hitl/tasks?run_id=${before.run_id}&scope=candidate`)).body.length > 0;
  expect(`${label}: ${mine}`).toBe(`${label}: ${asked && before.can.includes('decide')}`);
}

test.each(Object.keys(states))(
  'the record of a task lists exactly the actions that succeed: %s',
  async (name) => {
    const tryAll = async (person: string): Promise<void> => {
      for (const action of TASK_ACTIONS) await expectAsListed(states[name] ?? {}, person, action);
    };
    const tried = await Promise.all(['olga', 'ann', 'bob', 'cid', 'vera', 'alma', 'otto'].map(tryAll));
    expect(tried).toHaveLength(7);
  },
);
