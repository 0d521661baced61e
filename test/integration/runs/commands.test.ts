/** Commands of people to runs, as they are stored for the workflow. */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { insertRun } from '../../support/human-tasks.ts';

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

test('a command has a greater id than those before it, though another clock is ahead', async () => {
  const owner = await app.createUser({ roles: ['builder'] });
  const builder = await app.as(owner);
  const run = await insertRun(app.orm, { owner: owner.id, status: 'suspended' });
  const sql = (text: string, ...values: unknown[]) =>
    app.orm.em.fork().execute<{ id: string; kind: string }[]>(text, values);
  await sql(
    `insert into run_signal (id, run_id, kind, payload, received_at) values (?, ?, 'suspend', '{}', now())`,
    uuidv7({ msecs: Date.now() + 3_600_000 }),
    run,
  );
  expect((await builder.post(`/runs/${run}/resume`)).status).toBeLessThan(300);
  expect((await builder.post(`/runs/${run}/suspend`)).status).toBeLessThan(300);
  const commands = await sql(`select id, kind from run_signal where run_id = ? order by id`, run);
  expect(commands.map(({ kind }) => kind)).toEqual(['suspend', 'resume', 'suspend']);
});

test('a request waits as long as it asked for, though the clock is set back meanwhile', async () => {
  const owner = await app.createUser({ roles: ['builder'] });
  const builder = await app.as(owner);
  const run = await insertRun(app.orm, { owner: owner.id });
  const now = Date.now.bind(Date);
  const begun = performance.now();
  // Half-way, by an hour.
  const clock = jest
    .spyOn(Date, 'now')
    .mockImplementation(() => now() - (performance.now() - begun > 500 ? 3_600_000 : 0));
  const { status, body } = await builder.get(`/runs/${run}`, { headers: { prefer: 'wait=1' } });
  clock.mockRestore();
  expect([status, body.status]).toEqual([200, 'waiting']);
});
