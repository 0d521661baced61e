/** A token of external workers waits for a second factor of its owner, as access tokens do. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { createWorker, createClient as createApiClient } from '../../client/index.ts';
import { createJob } from '../../domain/jobs/job.ts';
import { registeredAgent } from '../support/agent-body.ts';
import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../support/app.ts';
import { insertRun } from '../support/human-tasks.ts';
import { meet } from '../support/meeting-requests.ts';
import { until } from '../support/platform.ts';
import { totpCode } from '../support/totp.ts';

let app: TestApp;
let admin: Client;

beforeAll(async () => {
  app = await startTestApp({ env: { SECOND_FACTOR_ROLES: 'admin' }, keepsCallers: true });
  admin = await app.as('admin');
});
afterAll(() => app.close());

/** A builder with an agent, a token for its workers, and what gives and takes the role of an admin. */
async function scene() {
  const user = await app.createUser({ roles: ['builder'] });
  const own = await app.as(user);
  const agent = await registeredAgent(own, { name: user.username, execution_type: 'edge' });
  const path = `/agents/${agent.id}/worker-tokens`;
  const change = async (roles: string[]): Promise<void> => {
    expect((await admin.patch(`/users/${user.id}`, { roles })).status).toBe(200);
  };
  const make = () => own.post(path, { name: 'plant 7' });
  const made = await make();
  expect([made.status, made.body.awaits_second_factor]).toEqual([201, false]);
  return {
    user,
    own,
    agent,
    make,
    token: made.body.token as string,
    worker: createClient(app.url, made.body.token),
    rise: () => change(['builder', 'admin']),
    fall: () => change(['builder']),
    listed: async (): Promise<boolean[]> =>
      (await admin.get(path)).body.map((one: { awaits_second_factor: boolean }) => one.awaits_second_factor),
    addJob: async (): Promise<void> => {
      const run_id = await insertRun(app.orm, { owner: user.id });
      await createJob(app.orm.em.fork(), {
        run_id,
        key: uuidv7(),
        kind: 'worker',
        task: '/do/0/far',
        visit: 1,
        attempt: 1,
        agent: { ...agent, output_schema: {} },
        queue: 'default',
        input: { n: 1 },
        configuration: {},
        repeatable: true,
        maxAttempts: 5,
        leaseMs: 60_000,
        timeoutMs: 3_600_000,
      });
    },
  };
}

const poll = (worker: Client, { id }: { id: string }, wait_seconds = 0): Promise<Reply> =>
  worker.post(`/agents/${id}/jobs/poll`, { wait_seconds });
const refusal = ({ status, body }: Reply) => [status, body.code];
const REFUSED = [403, 'second_factor_required'];

test('while it waits it serves nothing, not even what it holds, and says why', async () => {
  const { agent, own, worker, rise, fall, listed, addJob } = await scene();
  await addJob();
  const [job] = (await poll(worker, agent)).body;
  await rise();
  expect(await listed()).toEqual([true]);
  const refused = await until(
    () => poll(worker, agent),
    ({ status }) => status !== 200,
  );
  expect([refused.status, refused.body]).toMatchObject([
    403,
    { code: 'second_factor_required', detail: expect.stringContaining('until its owner has one') },
  ]);
  for (const [action, body] of [
    ['heartbeat', {}],
    ['complete', { output: {} }],
    ['fail', {}],
  ] as const)
    expect([action, ...refusal(await worker.post(`/jobs/${job.id}/${action}`, body))]).toEqual([
      action,
      ...REFUSED,
    ]);
  expect(refusal(await worker.get(`/jobs/${job.id}/files/${uuidv7()}`))).toEqual(REFUSED);
  // It is no other token meanwhile: elsewhere it stays unknown.
  expect((await worker.get('/users/me')).status).toBe(401);

  // Without the role it goes on with what it holds.
  await fall();
  expect(await listed()).toEqual([false]);
  const beat = await until(
    () => worker.post(`/jobs/${job.id}/heartbeat`, {}),
    ({ status }) => status === 200,
  );
  expect(beat.body.cancelled).toBe(false);

  // With a second factor it goes on with the role.
  await rise();
  expect(refusal(await worker.post(`/jobs/${job.id}/heartbeat`, {}))).toEqual(REFUSED);
  const { secret } = (await own.post('/users/me/totp')).body;
  const code = totpCode(secret);
  expect((await own.post('/users/me/totp/confirm', { code })).status).toBe(200);
  expect(await listed()).toEqual([false]);
  expect((await worker.post(`/jobs/${job.id}/complete`, { output: {} })).status).toBe(200);
  expect((await own.delete('/users/me/totp')).status).toBe(204);
  expect(await listed()).toEqual([true]);
});

test('a poll that waits when the role comes gets no job', async () => {
  const { agent, worker, rise, fall, addJob } = await scene();
  const waiting = poll(worker, agent, 20);
  await until(
    async () => app.app.deps.jobPolls.waiting,
    (count) => count === 1,
  );
  await rise();
  await addJob();
  expect(refusal(await waiting)).toEqual(REFUSED);
  await fall();
  const taken = await until(
    () => poll(worker, agent),
    ({ status }) => status === 200,
  );
  expect(taken.body).toMatchObject([{ attempt: 1 }]);
});

test('nor does the poll of a person whose session has to show a factor, or has ended', async () => {
  for (const [way, expected] of [
    ['waits', [403, 'role_required']],
    ['ended', [401, 'invalid_token']],
  ] as const) {
    const { agent, own, user, worker, rise, fall, addJob } = await scene();
    const waiting = poll(own, agent, 20);
    await until(
      async () => app.app.deps.jobPolls.waiting,
      (count) => count === 1,
    );
    // As long as callers may be kept.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    if (way === 'waits') await rise();
    else
      await app.orm.em
        .fork()
        .execute('update auth_session set revoked_at = now() where user_id = ?', [user.id]);
    await addJob();
    expect([way, ...refusal(await waiting)]).toEqual([way, ...expected]);
    if (way === 'waits') await fall();
    const taken = await until(
      () => poll(worker, agent),
      ({ status }) => status === 200,
    );
    expect(taken.body).toMatchObject([{ attempt: 1 }]);
  }
});

test('a worker of the typed client ends with the reason', async () => {
  const { agent, token, rise } = await scene();
  await rise();
  const client = createApiClient({ baseUrl: app.url, token: () => token });
  const worker = createWorker({ client, agents: [agent.id], handler: () => ({}) });
  await expect(worker.done).rejects.toMatchObject({ status: 403, code: 'second_factor_required' });
});

test('a token that is made while its maker gets the role waits from then on', async () => {
  const { user, make, rise, fall, listed } = await scene();
  const [, made] = await meet(app, rise, make);
  expect([made.status, made.body.awaits_second_factor]).toEqual([201, true]);
  await fall();
  expect(await listed()).toEqual([false, false]);
  const [other] = await meet(app, make, rise);
  expect([other.status, other.body.awaits_second_factor, user.roles]).toEqual([201, false, ['builder']]);
  expect(await listed()).toEqual([true, true, true]);
});
