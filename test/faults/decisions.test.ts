/**
 * Decisions and events while api, worker, PostgreSQL and Temporal are killed, one at a time and all together:
 * nothing is lost or repeated, logs have no gap, and all is back within 60 s. Uses the real programs of
 * `npm start`.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createClient, type Client, type Reply } from '../support/app.ts';
import { quickStart } from '../support/programs.ts';
import { eventually, upFolder, type Up, type UpFolder } from '../support/up-process.ts';
import { httpTask, humanTask } from '../support/definitions.ts';
import { keepIdle } from '../support/http-server.ts';
import { allowedMs } from '../support/machine.ts';

const RUNS = 6;
/** On an idle machine; 60 s are promised. */
const BACK_MS = 15_000;
/** After a kill everything has to come back first, which takes minutes on a busy machine. */
const PATIENCE_MS = 240_000;

let folder: UpFolder;
let up: Up;
let url: string;
let agent: Server;
/** Calls of the agent by idempotency key: how often each effect was requested. */
const published = new Map<string, number>();

beforeAll(async () => {
  agent = createServer(keepIdle, (request, response) => {
    const key = String(request.headers['idempotency-key']);
    published.set(key, (published.get(key) ?? 0) + 1);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"published":true}');
  });
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  folder = upFolder();
  up = folder.start(await quickStart(folder.dataDir), {
    program: join(import.meta.dirname, '../../dev/up.ts'),
  });
  url = await up.ready();
});
afterAll(async () => {
  await folder.clean();
  agent.close();
});

async function admin(): Promise<Client> {
  const password = /Admin +admin \/ (\S+)/.exec(up.output())?.[1];
  const { body, status } = await createClient(url).post('/auth/token', { username: 'admin', password });
  expect(status).toBe(200);
  return createClient(url, body.access_token);
}

/** While a server is away, callers try again with the same idempotency key. */
async function persistently(call: () => Promise<Reply>): Promise<Reply> {
  return eventually(async () => {
    const answer = await call();
    expect(answer.status).toBeLessThan(500);
    expect(answer.status).not.toBe(429);
    return answer;
  }, PATIENCE_MS);
}

test.each(['api', 'worker', 'PostgreSQL', 'Temporal', 'api, worker, PostgreSQL, Temporal'])(
  'kill -9 of %s during decisions loses and repeats nothing',
  async (killed) => {
    const client = await admin();
    const { port } = agent.address() as AddressInfo;
    const workflow = await client.post('/workflows', {
      name: 'approve',
      definition: {
        do: [
          { ask: humanTask('Publish?') },
          {
            publish: httpTask(`http://127.0.0.1:${port}/publish`, {
              method: 'post',
              body: { d: '${ .decision }' },
            }),
          },
          { done: { set: { decided: '${ $task.input.published }' } } },
        ],
      },
    });
    expect(workflow.body.problems).toEqual([]);
    const runs: string[] = [];
    for (let i = 0; i < RUNS; i++)
      runs.push((await client.post(`/workflows/${workflow.body.id}/run`, {})).body.id);
    const tasks = await eventually(async () => {
      const open = await client.get(`/hitl/tasks?workflow_id=${workflow.body.id}`);
      expect(open.body).toHaveLength(RUNS);
      return open.body as { id: string; run_id: string }[];
    });

    // Each decision is one statement. A repetition finds the decision, and with a key the answer.
    const hasKey = (i: number): boolean => i % 2 === 0;
    const decide = (task: { id: string }, key: string, i: number): Promise<Reply> =>
      persistently(() =>
        client.post(
          `/hitl/tasks/${task.id}/decision`,
          { decision: 'approve' },
          hasKey(i) ? { headers: { 'idempotency-key': key } } : {},
        ),
      );
    const deciding = tasks.map(async (task, i) => {
      await sleep(i * 60);
      // Two concurrent callers for each task: one wins, the other learns the winner.
      return Promise.all([decide(task, `${task.id}-a`, i), decide(task, `${task.id}-b`, i)]);
    });
    await sleep(100);
    for (const role of killed.split(', ')) process.kill(folder.pidOf(role), 'SIGKILL');
    const killedAt = Date.now();
    const answers = await Promise.all(deciding);

    for (const [i, pair] of answers.entries()) {
      const statuses = pair.map(({ status }) => status).toSorted();
      expect(
        hasKey(i)
          ? [[200, 409]]
          : [
              [200, 409],
              [409, 409],
            ],
      ).toContainEqual(statuses);
      const ids = pair.map(({ body }) => body.decision.id);
      expect(ids[0]).toBe(ids[1]);
      const audited = `/audit?action=decideHumanTask&outcome=done&object_id=${tasks[i]?.id}`;
      expect((await persistently(() => client.get(audited))).body).toHaveLength(1);
    }
    for (const id of runs) {
      const run = await eventually(async () => {
        const { body } = await persistently(() => client.get(`/runs/${id}`));
        expect(body.status).toBe('completed');
        return body;
      }, PATIENCE_MS);
      expect(run.output).toEqual({ decided: true });
      const seqs = run.logs.map((entry: { seq: number }) => entry.seq);
      expect(seqs).toEqual(seqs.map((_seq: number, n: number) => n + 1));
      const types = run.logs.map((entry: { type: string }) => entry.type);
      for (const once of [
        'hitl.task-created.v1',
        'hitl.decision-received.v1',
        'hitl.decision-applied.v1',
        'workflow.completed.v1',
      ]) {
        expect([once, types.filter((type: string) => type.endsWith(once)).length]).toEqual([once, 1]);
      }
      expect(types.at(-1)).toContain('workflow.completed');
      expect([...published.keys()].filter((key) => key.startsWith(id))).toHaveLength(1);
    }
    expect(Date.now() - killedAt).toBeLessThan(allowedMs(BACK_MS));
    await eventually(admin, PATIENCE_MS);
  },
);

/** By the number of the event before which they are killed. */
const KILLED: Record<number, string[]> = { 8: ['worker'], 25: ['api', 'worker'] };

test('kill -9 of api and worker while events arrive loses and repeats none of them', async () => {
  const client = await admin();
  const listens = await client.post('/workflows', {
    name: 'listens',
    definition: {
      do: [
        {
          take: {
            listen: { to: { any: [{ with: { type: 'tick' } }], until: 'length == 40' } },
            foreach: { do: [{ keep: { set: { n: '${ $item }' } } }], output: { as: '.n' } },
          },
        },
      ],
    },
  });
  const starts = await client.post('/workflows', {
    name: 'starts',
    definition: {
      schedule: { on: { one: { with: { type: 'tick' } } }, read: 'data' },
      do: [{ keep: { set: { n: '${ $workflow.input[0] }' } } }],
    },
  });
  expect([listens.body.problems, starts.body.problems]).toEqual([[], []]);
  const runs: string[] = [];
  for (let i = 0; i < 3; i++) runs.push((await client.post(`/workflows/${listens.body.id}/run`, {})).body.id);
  const stateOf = async (id: string): Promise<any> => (await client.get(`/runs/${id}`)).body;
  await eventually(async () => {
    for (const id of runs) expect((await stateOf(id)).status).toBe('waiting');
  });
  for (let n = 0; n < 40; n++) {
    // One that was killed before has to be back.
    for (const role of KILLED[n] ?? [])
      await eventually(async () => process.kill(folder.pidOf(role), 'SIGKILL'), PATIENCE_MS);
    const event = { specversion: '1.0', id: String(n), source: 'clock', type: 'tick', data: n };
    const headers = { 'content-type': 'application/cloudevents+json' };
    // Sent again until it is answered, so often twice.
    await persistently(() => client.post('/events', event, { headers }));
  }
  const inOrder = Array.from({ length: 40 }, (_, n) => n);
  await eventually(async () => {
    for (const id of runs) expect(await stateOf(id)).toMatchObject({ status: 'completed', output: inOrder });
    const { body: started } = await client.get(`/runs?workflow_id=${starts.body.id}&limit=200`);
    const numbers = started.map(({ output }: { output: { n: number } | null }) => output?.n);
    expect(numbers.toSorted((a: number, b: number) => a - b)).toEqual(inOrder);
  }, PATIENCE_MS);
});
