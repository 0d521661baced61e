/**
 * Everything that a run leaves on Temporal is encrypted, and Temporal's UI can still show it
 * (docs/adr/0011).
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client as TemporalClient } from '@temporalio/client';
import { createTemporalClient } from '../../temporal/client.ts';
import { createDataConverter } from '../../temporal/data-converter.ts';
import {
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import type { Client } from '../support/app.ts';
import { httpTask, humanTask } from '../support/definitions.ts';

const token = randomBytes(32).toString('base64url');
const ui = 'http://127.0.0.1:8233';
const secret = 'Operation Marzipan';

let platform: TestPlatform;
let builder: Client;
let temporal: TemporalClient;
let run: RunRecord;

beforeAll(async () => {
  platform = await startTestPlatform({
    env: { TEMPORAL_CODEC_TOKEN: token, TEMPORAL_UI_URL: ui, CORS_ORIGINS: 'https://app.example.com' },
  });
  builder = await platform.as('builder');
  // This client has no key.
  temporal = createTemporalClient({
    address: platform.temporal.address,
    namespace: platform.temporal.namespace,
  });
  run = await startRun(
    builder,
    {
      do: [
        { prepare: { set: { plan: `\${ "${secret}" }` } } },
        { ask: humanTask(`${secret}?`, { description: '${ .plan }' }) },
        {
          call: httpTask('http://127.0.0.1:9/operation-marzipan'),
        },
      ],
    },
    { plan: secret },
  );
  const task = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${run['id']}`)).body[0] as { id: string } | undefined,
    (found) => found !== undefined,
  );
  await builder.post(`/hitl/tasks/${task?.id}/decision`, { decision: 'approve', comment: secret });
  run = await until(
    async () => (await builder.get(`/runs/${run['id']}`)).body as RunRecord,
    (run) => run['status'] === 'faulted',
  );
  // The run has ended a moment before its workflow, whose last events only then are in the history.
  const handle = temporal.workflow.getHandle(run['temporal'].workflow_id);
  await until(
    async () => (await handle.describe()).status.name,
    (status) => status !== 'RUNNING',
  );
});
afterAll(async () => {
  await temporal.connection.close();
  await platform.close();
});

/** Every payload of the history, wherever it is in an event. */
async function payloadsOf(): Promise<Bytes[]> {
  const { events } = await temporal.workflow.getHandle(run['temporal'].workflow_id).fetchHistory();
  const found: Bytes[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
    if ('metadata' in value && 'data' in value) found.push(value as Bytes);
    else for (const inner of Object.values(value)) walk(inner);
  };
  walk(
    events?.map(
      ({
        workflowExecutionStartedEventAttributes: started,
        upsertWorkflowSearchAttributesEventAttributes: _upserted,
        markerRecordedEventAttributes: marker,
        ...event
      }) => ({
        ...event,
        started: { ...started, searchAttributes: null },
        // What the SDK itself records of a local activity: its type, its number, times.
        marker: { ...marker, details: { ...marker?.details, data: null } },
      }),
    ),
  );
  return found;
}
interface Bytes {
  metadata: Record<string, Uint8Array>;
  data: Uint8Array;
}

const json = ({ metadata, data }: Bytes) => ({
  metadata: Object.fromEntries(
    Object.entries(metadata).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  ),
  data: Buffer.from(data).toString('base64'),
});
const decode = (
  body: unknown,
  path = `/temporal-codec/${token}/decode`,
  headers: Record<string, string> = {},
) => platform.anonymous.post(path, body, { headers: { 'x-namespace': 'default', ...headers } });

test('the history contains nothing in plain text', async () => {
  const { events } = await temporal.workflow.getHandle(run['temporal'].workflow_id).fetchHistory();
  const text = JSON.stringify(events, (_key, value: unknown) =>
    ArrayBuffer.isView(value)
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')
      : value,
  );
  expect(text).toContain('Encoded failure');
  for (const word of [secret, 'operation-marzipan', 'Run of test', 'decided_by'])
    expect(text.includes(word)).toBe(false);
  for (const { metadata } of await payloadsOf())
    expect(['binary/encrypted', 'binary/null']).toContain(Buffer.from(metadata['encoding'] ?? []).toString());
});

test('the codec endpoint decrypts data, summaries and failures', async () => {
  const encoded = await payloadsOf();
  const { status, body, headers } = await decode({ payloads: encoded.map(json) }, undefined, { origin: ui });
  expect(status).toBe(200);
  expect(headers.get('access-control-allow-origin')).toBe(ui);
  expect(headers.get('cache-control')).toBe('no-store');
  const decoded = (body.payloads as { metadata: Record<string, string>; data: string }[]).map(
    ({ metadata, data }) => ({
      encoding: Buffer.from(metadata['encoding'] ?? '', 'base64').toString(),
      text: Buffer.from(data, 'base64').toString(),
    }),
  );
  expect(decoded).toHaveLength(encoded.length);
  expect(new Set(decoded.map(({ encoding }) => encoding))).toEqual(new Set(['json/plain']));
  const text = decoded.map((payload) => payload.text).join('\n');
  for (const word of [secret, 'Run of test', 'operation-marzipan', '"stack_trace"'])
    expect(text).toContain(word);
});

test("an admin's token decrypts too, and the audit log says whose run it was", async () => {
  const payloads = (await payloadsOf()).map(json);
  const admin = await platform.as('admin');
  const decoded = await admin.post('/temporal-codec/decode', { payloads }, { headers: { origin: ui } });
  expect([decoded.status, decoded.headers.get('access-control-allow-origin')]).toEqual([200, ui]);
  const texts = (decoded.body.payloads as { data: string }[]).map(({ data }) =>
    Buffer.from(data, 'base64').toString(),
  );
  expect(texts.join()).toContain('operation-marzipan');
  await admin.post('/temporal-codec/decode', { payloads });
  const written = async () => (await admin.get('/audit?action=decodePayloads')).body as RunRecord[];
  const runs = (await written()).flatMap(({ details }) => details['workflows'] as string[]);
  expect(runs.filter((id) => id === run['temporal'].workflow_id)).toHaveLength(1);
  expect(JSON.stringify(await written())).not.toContain('marzipan');
  for (const role of ['builder', 'approver'] as const)
    expect((await (await platform.as(role)).post('/temporal-codec/decode', { payloads })).status).toBe(403);
  expect((await platform.anonymous.post('/temporal-codec/decode', { payloads })).status).toBe(401);
  const forged = payloads.map((payload) => ({ ...payload, data: Buffer.from('forged').toString('base64') }));
  expect((await admin.post('/temporal-codec/decode', { payloads: forged })).status).toBe(422);
});

test("only pages of Temporal's UI may call the codec endpoint, by every name of this machine", async () => {
  const ask = (origin: string) =>
    platform.anonymous.request('OPTIONS', `/temporal-codec/${token}/decode`, {
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-namespace',
      },
    });
  for (const origin of [ui, 'http://localhost:8233']) {
    const allowed = await ask(origin);
    expect([
      allowed.status,
      allowed.headers.get('access-control-allow-origin'),
      allowed.headers.get('access-control-allow-headers'),
    ]).toEqual([204, origin, 'Authorization, Authorization-Extras, Content-Type, X-Namespace']);
  }
  for (const origin of ['https://evil.example', 'https://app.example.com', 'http://127.0.0.1:8234', 'null']) {
    expect((await ask(origin)).headers.get('access-control-allow-origin')).toBeNull();
    expect(
      (await decode({ payloads: [] }, undefined, { origin })).headers.get('access-control-allow-origin'),
    ).toBeNull();
  }
});

test('a wrong capability finds nothing, and a payload that cannot be decrypted is reported', async () => {
  const payloads = (await payloadsOf()).slice(0, 1).map(json);
  for (const wrong of [`${token}x`, token.slice(1), 'undefined', '%20']) {
    const { status, body } = await decode({ payloads }, `/temporal-codec/${wrong}/decode`);
    expect([status, body.code]).toEqual([404, 'not_found']);
  }
  expect((await decode({ payloads: [{ metadata: 1 }] })).status).toBe(422);
  const foreign = {
    ...payloads[0],
    metadata: { ...payloads[0]?.metadata, 'encryption-key-id': Buffer.from('lost').toString('base64') },
  };
  const refused = await decode({ payloads: [foreign] });
  expect([refused.status, refused.body.errors[0]]).toEqual([
    422,
    {
      pointer: '/payloads',
      code: 'undecodable',
      message: expect.stringContaining('encrypted with the key "lost", which is missing in ENCRYPTION_KEYS'),
    },
  ]);
});

test('a worker without the key reports that and loses nothing, one with the key goes on', async () => {
  await platform.stopWorker();
  const lost = await startRun(builder, { do: [{ say: { set: { said: '${ .plan }' } } }] }, { plan: secret });
  const workflowId: string = lost['temporal'].workflow_id;
  const store = { put: async () => {}, get: async () => null };
  await platform.startWorker({
    dataConverter: createDataConverter({ keys: [{ id: 'other', key: randomBytes(32) }], store }),
  });
  // Its error is encrypted, too, with the key that it has.
  const failed = async () =>
    (await temporal.workflow.getHandle(workflowId).fetchHistory()).events?.some(
      ({ workflowTaskFailedEventAttributes: failure }) => Boolean(failure),
    ) ?? false;
  await until(failed, Boolean);
  await platform.stopWorker();
  expect((await builder.get(`/runs/${lost['id']}`)).body.status).toBe('pending');
  await platform.startWorker();
  const ended = await until(
    async () => (await builder.get(`/runs/${lost['id']}`)).body as RunRecord,
    (run) => run['status'] === 'completed',
  );
  expect(ended['output']).toEqual({ said: secret });
});
