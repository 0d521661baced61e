/** The programs api and worker with a Temporal that demands certificates. */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { createClient, type Client } from '../support/app.ts';
import { createAuthority, type Authority } from '../support/certificates.ts';
import { humanTask } from '../support/definitions.ts';
import { startMutualTls } from '../support/mutual-tls.ts';
import { endOf, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';

let platform: TestPlatform;
let authority: Authority;
let proxy: Awaited<ReturnType<typeof startMutualTls>>;
let programs: Program[] = [];
let client: Client;

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  authority = createAuthority();
  const server = authority.issue('temporal.internal');
  proxy = await startMutualTls(platform.temporal.address, { authority, server });
  const own = authority.issue('cadenza');
  const through = {
    ...platform,
    temporal: { ...platform.temporal, address: `127.0.0.1:${proxy.port}` },
  };
  const files = {
    TEMPORAL_TLS_CA: authority.cert,
    TEMPORAL_TLS_CERT: own.cert,
    TEMPORAL_TLS_KEY: own.key,
    TEMPORAL_TLS_SERVER_NAME: 'temporal.internal',
  };
  programs = await Promise.all([startProgram('api', through, files), startProgram('worker', through, files)]);
  const [api] = programs;
  client = createClient(api?.url ?? '', (await platform.user('admin')).token);
});
afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill()));
  proxy.close();
  await platform.close();
  rmSync(authority.folder, { recursive: true, force: true });
});

test('a run waits for a person, is decided and ends, through the certificates of the settings', async () => {
  const definition = { do: [{ ask: humanTask('Go?') }, { say: { set: { done: true } } }] };
  const { body: workflow } = await client.post('/workflows', { name: 'secured', definition });
  const { body: run } = await client.post(`/workflows/${workflow.id}/run`);
  const [task] = await until(
    async () => (await client.get(`/hitl/tasks?run_id=${run.id}&status=open`)).body as { id: string }[],
    (tasks) => tasks.length > 0,
  );
  expect((await client.post(`/hitl/tasks/${task?.id}/decision`, { decision: 'approve' })).status).toBe(200);
  expect(await endOf(client, run)).toMatchObject({ status: 'completed', output: { done: true } });
  expect(new Set(proxy.names)).toEqual(new Set(['cadenza']));
});
