/**
 * Attacks on a running API, each a loop until it is stopped: requests that a person without an account, a
 * viewer or a builder can send. Runs in a separate process, so that its work does not count as the API's. All
 * traffic stays on loopback.
 */
import { connect as connectHttp2 } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type Client } from '../../support/app.ts';

export interface Target {
  url: string;
  /** `host:port` of A2A over gRPC. */
  grpc: string;
  viewerToken: string;
  builderToken: string;
}

export type Attack = (target: Target, signal: AbortSignal) => Promise<unknown>;

const FORM = { headers: { 'content-type': 'application/x-www-form-urlencoded' } };
const anonymous = (target: Target): Client => createClient(target.url);
const builder = (target: Target): Client => createClient(target.url, target.builderToken);

/** 195 kB: 15,000 distinct names. */
const wideForm = Array.from({ length: 15_000 }, (_, index) => `name${index}=1`).join('&');
/** 2 MB of unknown fields. */
const wideJson = `{${Array.from({ length: 100_000 }, (_, index) => `"unknown${index}":1`).join(',')}}`;
const largeText = 'x'.repeat(1_800_000);

/** A workflow that starts itself three times, in a fork. */
const bomb = (id: string) => {
  const again = { run: { workflow: { namespace: 'default', name: id, version: '0.1.0', input: {} } } };
  return { do: [{ split: { fork: { branches: [{ a: again }, { b: again }, { c: again }] } } }] };
};
const busyLoop = { do: [{ first: { set: { a: 1 } } }, { second: { set: { a: 2 }, then: 'first' } }] };
const wideFork = {
  do: [
    {
      wide: {
        fork: {
          branches: Array.from({ length: 100 }, (_, index) => ({
            [`b${index}`]: {
              do: [{ one: { set: { text: 'x'.repeat(5_000) } } }, { two: { wait: { milliseconds: 10 } } }],
            },
          })),
        },
      },
    },
  ],
};

async function startedRun(client: Client, definition: unknown): Promise<string | null> {
  const workflow = await client.post('/workflows', { name: 'hostile', definition });
  const run =
    workflow.status === 201 ? await client.post(`/workflows/${workflow.body.id}/run`, {}) : workflow;
  return run.status === 201 ? run.body.id : null;
}

export const attacks: Record<string, Attack> = {
  forms: async (target) => {
    await anonymous(target).post('/auth/token', wideForm, FORM);
    await anonymous(target).post('/auth/revoke', wideForm, FORM);
  },
  wrongPasswords: async (target) => {
    await anonymous(target).post('/auth/token', {
      username: `nobody-${Math.random()}`,
      password: 'wrong password 1',
    });
  },
  unknownFields: (target) => builder(target).post('/agents', wideJson),
  streams: async (target, signal) => {
    const headers = { authorization: `Bearer ${target.viewerToken}` };
    const open = async (): Promise<void> => {
      const response = await fetch(`${target.url}/events`, { headers, signal });
      for await (const _ of response.body ?? []) if (signal.aborted) return;
    };
    await Promise.allSettled(Array.from({ length: 200 }, open));
    await sleep(1_000);
  },
  grpcWithoutToken: async (target) => {
    const session = connectHttp2(`http://${target.grpc}`);
    session.on('error', () => {});
    for (let n = 0; n < 60; n += 1) {
      const headers = {
        ':method': 'POST',
        ':path': '/lf.a2a.v1.A2AService/SendMessage',
        'content-type': 'application/grpc',
        te: 'trailers',
      };
      const stream = session.request(headers);
      stream.on('error', () => {});
      // A frame that announces 15 MiB and sends most of it.
      const frame = Buffer.alloc(2_000_000);
      frame.writeUInt32BE(15 * 1024 * 1024, 1);
      stream.write(frame);
    }
    await sleep(3_000);
    session.destroy();
  },
  largeDrafts: async (target) => {
    const client = builder(target);
    const body = {
      name: 'large',
      type: 'api',
      version: '1.0.0',
      visibility: 'public',
      configuration: { text: largeText },
    };
    const agent = await client.post('/agents', body);
    for (let minor = 1; minor <= 5 && agent.status === 201; minor += 1) {
      const draft = { version: `1.${minor}.0`, configuration: { text: largeText } };
      await client.post(`/agents/${agent.body.id}/versions`, draft);
    }
    for (let n = 0; n < 5; n += 1) await client.get('/agents?limit=200');
  },
  patterns: async (target) => {
    const schema = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };
    const definition = { input: { schema: { document: schema } }, do: [{ first: { set: { a: 1 } } }] };
    const workflow = await builder(target).post('/workflows', { name: 'pattern', definition });
    for (let n = 0; n < 10 && workflow.status === 201; n += 1) {
      await builder(target).post(`/workflows/${workflow.body.id}/run`, {
        input_params: { text: `${'a'.repeat(50_000)}!` },
      });
    }
  },
  runBomb: async (target, signal) => {
    const client = builder(target);
    const workflow = await client.post('/workflows', { name: 'bomb', definition: busyLoop });
    if (workflow.status !== 201) return;
    const changed = await client.patch(`/workflows/${workflow.body.id}`, {
      definition: bomb(workflow.body.id),
    });
    const run = await client.post(`/workflows/${workflow.body.id}/run`, {});
    await sleep(20_000, undefined, { signal }).catch(() => {});
    if (changed.status === 200 && run.status === 201) await client.post(`/runs/${run.body.id}/cancel`);
  },
  busyLoop: async (target, signal) => {
    const id = await startedRun(builder(target), busyLoop);
    await sleep(10_000, undefined, { signal }).catch(() => {});
    if (id !== null) await builder(target).post(`/runs/${id}/cancel`);
  },
  wideFork: async (target, signal) => {
    await startedRun(builder(target), wideFork);
    await sleep(10_000, undefined, { signal }).catch(() => {});
  },
};
