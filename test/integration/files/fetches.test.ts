/** The activity that fetches linked files, run by two workers at once. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import type { ActivityDeps } from '../../../activities/index.ts';
import { fetchFilesActivity } from '../../../activities/fetch-files.ts';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import type { FetchedFiles } from '../../../contracts/activities.ts';
import { addFetches, listFetches } from '../../../domain/files/fetches.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import { noTemporal, startTestApp, type TestApp } from '../../support/app.ts';
import { startServer, type TestServer } from '../../support/http-server.ts';

let t: TestApp;
let server: TestServer;
let deps: ActivityDeps;
const together = Promise.withResolvers<void>();

beforeAll(async () => {
  t = await startTestApp();
  // Each request gets another content, and waits until both have arrived.
  server = await startServer(async (_, response) => {
    if (server.seen.length >= 2) together.resolve();
    await together.promise;
    response.writeHead(200, { 'content-type': 'text/plain' }).end(uuidv7());
  });
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  const { env, orm, logger, files } = t.app.deps;
  // This test needs neither schedules nor deliveries.
  const calls = { watch: () => ({ signal: new AbortController().signal, close: () => undefined }) };
  deps = {
    calls,
    orm,
    logger,
    files,
    adapters: createAdapters({ egress }),
    temporal: noTemporal,
    retentionDays: 1,
    eventDays: 1,
    limits: runLimits(env),
    secret: async () => null,
    deliveries: { kinds: {}, sender: { send: async () => ({ refusal: 'none' }) } },
  } as unknown as ActivityDeps;
});
afterAll(async () => {
  await server.close();
  await t.close();
});

test('concurrent fetches of a link store one file, and a later fetch reuses it', async () => {
  const runId = uuidv7();
  const em = t.orm.em.fork();
  await em.execute(
    `insert into run (id, workflow_name, definition, status, input, owner_id, root_run_id)
      values (?, 'w', '{}', 'running', ?::json, ?, ?)`,
    [runId, JSON.stringify({ text: '', files: [{ url: server.url }] }), (await t.user('builder')).id, runId],
  );
  await addFetches(em, runId, [{ position: 0, url: server.url, name: 'a.txt' }], ['text/plain']);
  const input = { run_id: runId, batch: { events: [], projection: null, acks: [] } };
  const attempt = (): Promise<FetchedFiles> =>
    new MockActivityEnvironment().run(fetchFilesActivity(deps), input);
  const [first, second] = await Promise.all([attempt(), attempt()]);
  expect(server.seen).toHaveLength(2);
  expect(first).toEqual(second);
  expect(await attempt()).toEqual(first);
  expect(server.seen).toHaveLength(2);
  const [row] = await em.execute<{ id: string; size: number }[]>(`select id, size from file`);
  expect(first.files).toEqual([
    { position: 0, file: expect.objectContaining({ file_id: row?.id, name: 'a.txt', size: 36 }) },
  ]);
  expect(await em.execute(`select from file`)).toHaveLength(1);
  expect(readdirSync(join(t.env.FILES_DIR, 'incoming'))).toEqual([]);
  // The stored content is the one that the row describes.
  const content: string = (await (await t.as('builder')).get(`/files/${row?.id}`)).body;
  expect(first.files[0]?.file).toMatchObject({ sha256: createHash('sha256').update(content).digest('hex') });
});

test('the accepted media types are stored as they were given', async () => {
  const runId = uuidv7();
  const em = t.orm.em.fork();
  await em.execute(
    `insert into run (id, workflow_name, definition, status, input, owner_id, root_run_id)
      values (?, 'w', '{}', 'running', '{}', ?, ?)`,
    [runId, (await t.user('builder')).id, runId],
  );
  const accepts = ['text/plain', 'a\nb', 'say "hi"', 'back\\slash', 'null'];
  await addFetches(em, runId, [{ position: 0, url: server.url }], accepts);
  expect(await listFetches(em, runId)).toMatchObject([{ accepts }]);
});
