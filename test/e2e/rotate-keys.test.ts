/** Rotation from one encryption key to another, while a run waits for a person. */
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Payload } from '@temporalio/common';
import { encryptionKeys } from '../../config/env-types.ts';
import type { ServerEnv } from '../../config/env.ts';
import { RUN_WORKFLOW } from '../../contracts/temporal.ts';
import { SEALED } from '../../domain/secrets/sealed-columns.ts';
import { createEncryption } from '../../domain/secrets/encryption.ts';
import { missingKeys, noteKeyInUse } from '../../domain/secrets/key-use.ts';
import { putSecret, resolveSecret } from '../../domain/secrets/service.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { rotateKeys } from '../../worker/rotate-keys.ts';
import { startTestApp, type Client } from '../support/app.ts';
import {
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { humanTask } from '../support/definitions.ts';

const [oldKey, newKey] = ['old', 'new'].map((id) => `${id}:${randomBytes(32).toString('base64')}`) as [
  string,
  string,
];
const both = `${newKey},${oldKey}`;
const large = randomBytes(400_000).toString('hex');
const waiting = {
  do: [{ ask: humanTask('May it go?') }, { size: { set: { size: '${ $workflow.input.large | length }' } } }],
};

let platform: TestPlatform;
let builder: Client;
let run: RunRecord;
const em = () => platform.orm.em.fork();

beforeAll(async () => {
  platform = await startTestPlatform({ env: { ENCRYPTION_KEYS: oldKey } });
  await noteKeyInUse(em(), 'old');
  builder = await platform.as('builder');
  await builder.put('/secrets/API_KEY', { value: 'the secret value' });
  const webhook = await builder.post('/webhooks', { url: 'https://example.com/hook', types: ['*'] });
  // Its former secret is kept too.
  expect((await builder.post(`/webhooks/${webhook.body.id}/rotate-secret`)).status).toBe(200);
  // The first log-in creates a signing key.
  await platform.app.deps.keys.current();
  run = await startRun(builder, waiting, { large });
  await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${run['id']}`)).body.length as number,
    (count) => count === 1,
  );
});
const programs: Program[] = [];
afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill()));
  await platform.close();
});

function settings(keys: string): ServerEnv {
  const { address, namespace, taskQueue } = platform.temporal;
  return {
    ...platform.env,
    ENCRYPTION_KEYS: encryptionKeys().parse(keys),
    DATABASE_URL: platform.databaseUrl,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    TEMPORAL_TASK_QUEUE: taskQueue,
  };
}

/** `npm run rotate-keys` or `npm run start:api` in a separate process. */
function start(file: string, keys: string) {
  const { address, namespace, taskQueue } = platform.temporal;
  const child = spawn(process.execPath, [fileURLToPath(new URL(`../../${file}`, import.meta.url))], {
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: platform.databaseUrl,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      TEMPORAL_TASK_QUEUE: taskQueue,
      ENCRYPTION_KEYS: keys,
      FILES_DIR: platform.env.FILES_DIR,
      PORT: '0',
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once('exit', (code) => resolve({ code, output })),
  );
  return { kill: () => child.kill('SIGKILL'), ended };
}

/** The key ids of all payloads in the run's current execution. */
async function keysOfHistory(): Promise<Set<string>> {
  const client = createTemporalClient(platform.temporal);
  const { events } = await client.workflow.getHandle(run['temporal'].workflow_id).fetchHistory();
  await client.connection.close();
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
    const { metadata } = value as Payload;
    const id = metadata?.['encryption-key-id'];
    if (id) found.add(Buffer.from(id).toString());
    for (const inner of Object.values(value)) walk(inner);
  };
  walk(events);
  return found;
}

test('every encrypted column is rotated', async () => {
  const rows = await em().execute<{ name: string }[]>(
    `select table_name || '.' || column_name as name
      from information_schema.columns
      where table_schema = 'public' and column_name like '%encrypted%' order by 1`,
  );
  expect(rows.map(({ name }) => name)).toEqual(
    SEALED.map(({ table, column }) => `${table}.${column}`).toSorted(),
  );
});

test('without the old key nothing starts, and each program names the missing key', async () => {
  expect(await missingKeys(em(), ['new'])).toEqual([
    { id: 'old', uses: ['active runs', 'large values of runs', 'secrets', 'signing keys', 'webhooks'] },
  ]);
  const copy = await startTestApp({ databaseUrl: platform.databaseUrl, env: { ENCRYPTION_KEYS: newKey } });
  await platform.createUser({ roles: ['admin'] });
  const ready = await copy.anonymous.get('/readyz');
  await copy.close();
  expect([ready.status, ready.body.checks.keys, ready.body.problems]).toEqual([
    503,
    'missing',
    [expect.stringContaining('ENCRYPTION_KEYS lacks the key "old" (')],
  ]);
  for (const program of ['api/main.ts', 'worker/main.ts', 'worker/rotate-keys.ts']) {
    expect([program, await start(program, newKey).ended]).toEqual([
      program,
      {
        code: 1,
        output: expect.stringContaining(
          'ENCRYPTION_KEYS lacks the key \\"old\\"'.replaceAll('\\', program.includes('rotate') ? '' : '\\'),
        ),
      },
    ]);
  }
});

test('an interrupted rotation is completed, and then only histories need the old key', async () => {
  // A run of another installation in the same namespace, which never continues here, keeps no key.
  const client = createTemporalClient(platform.temporal);
  const foreign = await client.workflow.start(RUN_WORKFLOW, {
    workflowId: `run-${randomUUID()}`,
    taskQueue: `${platform.temporal.taskQueue}-other`,
    args: [],
  });
  const { id } = await platform.user('builder');
  const old = createEncryption(encryptionKeys().parse(oldKey));
  for (let n = 0; n < 500; n++) await putSecret(em(), old, id, { name: `MANY_${n}`, value: `value ${n}` });
  const killed = start('worker/rotate-keys.ts', both);
  const partly = async () =>
    Number(
      (
        await em().execute<{ n: number }[]>(
          `select count(*) as n from secret where value_encrypted like 'v1.new.%'`,
        )
      )[0]?.n,
    );
  await until(partly, (count) => count > 0);
  killed.kill();
  await killed.ended;
  await platform.stopWorker();
  const worker = start('worker/main.ts', both);
  const lines: string[] = [];
  try {
    expect(await rotateKeys({ env: settings(both), say: (line) => lines.push(line), waitMs: 240_000 })).toBe(
      true,
    );
  } finally {
    worker.kill();
    await worker.ended;
    await foreign.terminate();
    await client.connection.close();
  }
  expect(lines.join('\n')).toMatch(/the key "old" can be removed (after \d{4}-|now)/);
  expect(await missingKeys(em(), ['new'])).toEqual([]);
  expect(await keysOfHistory()).toEqual(new Set(['new']));
  const encryption = createEncryption(encryptionKeys().parse(newKey));
  expect(
    await Promise.all(
      ['API_KEY', 'MANY_0', 'MANY_499'].map((name) => resolveSecret(em(), encryption, id, name)),
    ),
  ).toEqual(['the secret value', 'value 0', 'value 499']);
});

test('with the new key alone the run goes on to its end, with its large value', async () => {
  const api = await startProgram('api', platform, { ENCRYPTION_KEYS: newKey });
  programs.push(api, await startProgram('worker', platform, { ENCRYPTION_KEYS: newKey }));
  const { token } = await platform.user('builder');
  const ask = async (path: string, body?: unknown) => {
    const answer = await fetch(`${api.url}${path}`, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    });
    return (await answer.json()) as any; // tests look into answers freely
  };
  const [task] = await ask(`/hitl/tasks?run_id=${run['id']}`);
  expect((await ask(`/hitl/tasks/${task.id}/decision`, { decision: 'approve' })).decision).toMatchObject({
    decision: 'approve',
  });
  const ended = await until(
    () => ask(`/runs/${run['id']}`) as Promise<RunRecord>,
    ({ status }) => status === 'completed',
  );
  expect(ended['output']).toEqual({ size: large.length });
});
