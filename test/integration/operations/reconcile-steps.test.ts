/** A pass of the reconciler in which one of its steps fails. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { v7 as uuidv7 } from 'uuid';

import { createActivities, type ActivityDeps } from '../../../activities/index.ts';
import { createShortCalls } from '../../../activities/short-calls.ts';
import { createAnswerMemory } from '../../../adapters/egress/answer-memory.ts';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import { noTemporal, startTestApp, type TestApp } from '../../support/app.ts';

let app: TestApp;
let owner: string;
let reconcile: () => Promise<unknown>;
const failed: string[] = [];
const sql = <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  app.orm.em.fork().execute<Row[]>(text, values);

beforeAll(async () => {
  app = await startTestApp();
  owner = (await app.user('builder')).id;
  const { env, orm, logger, files } = app.app.deps;
  const activities = createActivities({
    orm,
    logger: Object.assign(Object.create(logger), {
      error: ({ step }: { step: string }) => void failed.push(step),
    }),
    files,
    adapters: createAdapters({ egress: createEgressPolicy({ allow: [] }) }),
    shortCalls: createShortCalls(),
    answers: createAnswerMemory(1024),
    temporal: noTemporal,
    limits: runLimits(env),
    deliveries: { kinds: {}, sender: { send: async () => ({ refusal: 'none' }) } },
    notifications: {
      expand: { orm, hasMail: false, timeZone: 'UTC', maxRecipients: 10, failed: () => {} },
    },
  } as unknown as ActivityDeps);
  reconcile = () => new MockActivityEnvironment().run(activities.reconcile);
});
afterAll(() => app.close());

const used = async (): Promise<string> => {
  const id = uuidv7();
  await sql(`insert into usage_record (id, run_id, user_id, usage) values (?, ?, ?, '{}')`, [
    id,
    uuidv7(),
    owner,
  ]);
  return id;
};
const isFolded = async (id: string): Promise<unknown> =>
  (await sql<{ folded: boolean }>('select folded from usage_record where id = ?', [id]))[0]?.folded;

test('the others are done, and the pass fails', async () => {
  await sql('alter table run_hour_change rename to run_hour_elsewhere');
  const first = await used();
  await expect(reconcile()).rejects.toThrow('steps of the reconciler failed: 1');
  expect(failed).toEqual(['counts']);
  expect(await isFolded(first)).toBe(true);
  await sql('alter table run_hour_elsewhere rename to run_hour_change');
  const second = await used();
  expect(await reconcile()).toMatchObject({ started: 0, stuck: [] });
  expect(failed).toEqual(['counts']);
  expect(await isFolded(second)).toBe(true);
});
