/** Traces of this process: what is exported, what goes on to counterparts, and what a bad receiver does. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAdapters, createEgressPolicy } from '../../adapters/index.ts';
import { containerSpec } from '../../adapters/sandbox/container-spec.ts';
import { createLogger } from '../../config/logger.ts';
import { parseEnv } from '../../config/env.ts';
import { contextOfCaller, inSpan, isTracing, SpanKind, traceFields } from '../../tracing/context.ts';
import { startTracing, type Tracing } from '../../tracing/start.ts';
import { agentCall, httpCall } from '../support/agent-call.ts';
import { callAsync, serveDocuments } from '../support/asyncapi.ts';
import { startShop } from '../support/grpc-server.ts';
import { sendJson, startServer } from '../support/http-server.ts';
import { allowedMs } from '../support/machine.ts';
import { startOtlpReceiver, type OtlpReceiver } from '../support/otlp-receiver.ts';
import { until } from '../support/platform.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';

let receiver: OtlpReceiver;
let tracing: Tracing;
const lines: string[] = [];
const logger = createLogger({
  name: 'test',
  fields: traceFields,
  destination: new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  }),
});

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = receiver.url;
  process.env['OTEL_EXPORTER_OTLP_HEADERS'] = 'x-key=of-the-collector';
  process.env['OTEL_RESOURCE_ATTRIBUTES'] = 'deployment.environment.name=testing';
  expect(isTracing()).toBe(false);
  const settings = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '10',
    OTEL_BSP_MAX_QUEUE_SIZE: '100',
  };
  const parsed = parseEnv(settings);
  if (!('env' in parsed)) throw new Error('settings that are none');
  const started = await startTracing(parsed.env, 'test', logger);
  if (started === null) throw new Error('nothing is recorded');
  tracing = started;
});
afterAll(async () => {
  await tracing.stop();
  await receiver.close();
});

/** In a span of the caller's trace. @returns the ids of the spans below it that were exported */
async function inCaller<T>(work: () => Promise<T>): Promise<T> {
  const parent = contextOfCaller({ traceparent: `00-${TRACE}-${CALLER}-01`, baggage: 'user=secret' });
  return inSpan('the work', { kind: SpanKind.SERVER }, work, { parent });
}

const spanNamed = (name: string) => receiver.spans.find((span) => span.name === name);

test('without the setting nothing is loaded, and a log has no ids', () => {
  const program = `
    import { startTracing } from './tracing/start.ts';
    import { isTracing, inSpan, traceHeaders, traceOfNewRun } from './tracing/context.ts';
    import { parseEnv } from './config/env.ts';
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
    const disabled = { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
    const { env } = parseEnv(disabled);
    const off = await startTracing(env, 'x', console);
    const { env: none } = parseEnv({});
    const unset = await startTracing(none, 'x', console);
    const headers = await inSpan('x', {}, async () => traceHeaders());
    console.log(JSON.stringify([off, unset, isTracing(), headers, traceOfNewRun(), loaded]));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '' },
  });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual([null, null, false, {}, { traceparent: null, tracestate: null }, []]);
});

test('a span has the parent of the caller, and resource attributes; a failure has no text', async () => {
  await expect(
    inCaller(async () => {
      logger.info('in the trace');
      throw new TypeError('with the password 12345');
    }),
  ).rejects.toThrow('12345');
  await tracing.flush();
  const span = spanNamed('the work');
  expect(span).toMatchObject({
    trace: TRACE,
    parent: CALLER,
    kind: 2,
    failed: true,
    attributes: { 'error.type': 'TypeError' },
    resource: {
      'service.name': 'cadenza-test',
      'service.version': expect.any(String),
      'service.instance.id': expect.any(String),
      'deployment.environment.name': 'testing',
    },
  });
  expect(receiver.bytes().includes('12345')).toBe(false);
  expect(receiver.headers.at(-1)).toMatchObject({ 'x-key': 'of-the-collector' });
  const entry = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'in the trace');
  expect(entry).toMatchObject({ trace_id: TRACE, span_id: span?.id });
});

test('agents and services learn of the trace, by HTTP and gRPC', async () => {
  const server = await startServer((_request, response) => sendJson(response, { ok: true }));
  const shop = await startShop({ reflection: 'v1' });
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  const adapters = createAdapters({ egress });
  try {
    await inCaller(async () => {
      await adapters.invoke(
        agentCall({ type: 'api', configuration: { endpoint: `${server.url}/secret-path?key=hidden` } }, {}),
      );
      await adapters.grpc(
        httpCall({
          service: { name: 'shop.v1.Shop', host: '127.0.0.1', port: shop.port },
          method: 'Place',
          arguments: { items: [] },
        }),
      );
    });
    await tracing.flush();
    const client = receiver.spans.find((span) => span.name === 'POST' && span.kind === 3);
    expect(client).toMatchObject({
      trace: TRACE,
      attributes: { 'http.response.status_code': 200, 'server.address': '127.0.0.1' },
    });
    expect(server.seen[0]?.headers).toMatchObject({ traceparent: `00-${TRACE}-${client?.id}-01` });
    expect(server.seen[0]?.headers).not.toHaveProperty('baggage');
    expect(shop.seen.at(-1)?.metadata.get('traceparent')[0]).toMatch(new RegExp(`^00-${TRACE}-`));
    expect(receiver.bytes().includes('secret-path')).toBe(false);
    expect(receiver.bytes().includes('hidden')).toBe(false);
  } finally {
    await Promise.all([server.close(), shop.close(), egress.close()]);
  }
});

test('a program of MCP gets the trace with the parameters', async () => {
  const program = join(import.meta.dirname, '../support/mcp-server.ts');
  const argv = [process.execPath, '--no-warnings', program, '--stdio'];
  const egress = createEgressPolicy({ allow: [] });
  const adapters = createAdapters({ egress, mcpCommands: { tests: { argv, environment: [] } } });
  const { output } = await inCaller(() =>
    adapters.mcp(
      httpCall({
        method: 'tools/call',
        parameters: { name: 'echo', arguments: { text: 'Hello' } },
        transport: { stdio: { command: 'tests' } },
      }),
    ),
  );
  expect(JSON.stringify(output)).toMatch(new RegExp(`Hello 00-${TRACE}-[0-9a-f]{16}-01`));
  await egress.close();
});

test('programs get the trace in their environment, unless a definition gives them another', async () => {
  const settings = {
    engine: '',
    user: '65534:65534',
    network: null,
    filesImage: null,
    memoryMib: 64,
    cpus: 1,
    pids: 10,
    seconds: 60,
    atOnce: 1,
    keepHours: 1,
  };
  const request = {
    key: 'k',
    title: '',
    image: 'tool:1',
    pull: 'never' as const,
    arguments: [],
    stdin: null,
    ports: {},
    mounts: [],
    files: null,
    keepSeconds: 0,
    timeoutMs: 0,
    outputBytes: 0,
    whole: [],
  };
  const environment = (env: Record<string, string>) =>
    inCaller(async () => containerSpec({ ...request, env }, settings, 'own', [])['Env']);
  expect(await environment({ A: 'b' })).toEqual([
    expect.stringMatching(new RegExp(`^TRACEPARENT=00-${TRACE}-[0-9a-f]{16}-01$`)),
    'A=b',
  ]);
  expect(await environment({ TRACEPARENT: 'mine' })).toEqual(['TRACEPARENT=mine']);
});

test('an unknown version of the protocol in a header begins a trace of its own', async () => {
  const parent = contextOfCaller({ traceparent: 'not a trace' });
  await inSpan('alone', {}, async () => {}, { parent });
  await tracing.flush();
  expect(spanNamed('alone')).toMatchObject({ parent: '' });
  expect(spanNamed('alone')?.trace).not.toBe(TRACE);
});

test('a receiver that does not answer keeps nobody waiting, and what waits for it is bounded', async () => {
  receiver.answers('never');
  const begun = performance.now();
  for (let number = 0; number < 5_000; number += 1) await inSpan('lost', {}, async () => {});
  expect(performance.now() - begun).toBeLessThan(allowedMs(5_000));
  receiver.answers(200);
  // At most what was sent before, and a queue of 100.
  expect(receiver.spans.filter(({ name }) => name === 'lost').length).toBeLessThan(1_000);
});

test('a receiver that refuses is in the log, once for a while and without what it said', async () => {
  receiver.answers(400);
  for (let pass = 0; pass < 3; pass += 1) {
    await inSpan('refused', {}, async () => {});
    await tracing.flush();
  }
  const warnings = await until(
    async () => lines.filter((line) => line.includes('cannot export traces')),
    (found) => found.length > 0,
  );
  expect(warnings).toHaveLength(1);
  receiver.answers(200);
});

test('an AsyncAPI message over HTTP has one trace header', async () => {
  const server = await startServer((_request, response) => sendJson(response, {}));
  const documents = await serveDocuments({
    doc: {
      asyncapi: '3.0.0',
      info: { title: 'x', version: '1' },
      servers: { main: { host: `127.0.0.1:${server.port}`, protocol: 'http' } },
      channels: { orders: { address: 'orders' } },
      operations: { place: { action: 'receive', channel: { $ref: '#/channels/orders' } } },
    },
  });
  try {
    await inCaller(() =>
      callAsync({
        document: { endpoint: `${documents.url}/doc` },
        operation: 'place',
        message: { payload: { id: 1 } },
      }),
    );
    expect(server.seen[0]?.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  } finally {
    await Promise.all([server.close(), documents.close()]);
  }
});
