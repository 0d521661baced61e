/**
 * Times send → completed through A2A beside the same run through REST, and counts the memory of 500 open
 * streams on one api process. Against a server that runs: `npm run conformance:a2a` first, then
 * `A2A_AGENT=<agents.full> A2A_TOKEN=<token> [API_PID=<pid>] node test/bench/a2a.ts`. Prints one JSON line.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../support/app.ts';
import { residentKib } from './beside/processes.ts';

const agent = needed('A2A_AGENT');
const token = needed('A2A_TOKEN');
const apiPid = process.env['API_PID'];
const [url = '', agentId = ''] = agent.split('/api/v1/a2a/');
const client = createClient(url, token);
const run = process.pid;
const ROUNDS = 100;
const STREAMS = 500;
const V1 = { 'A2A-Version': '1.0' };

const text = (n: number) => ({
  messageId: `tck-complete-task-bench-${run}-${n}`,
  role: 'ROLE_USER',
  parts: [{ text: 'Ada' }],
});
const viaA2A = await medianMs(async (n) =>
  client.post(`${agent}/message:send`, { message: text(n) }, { headers: V1 }),
);
const viaRest = await medianMs(async (n) =>
  client.post(
    `/agents/${agentId}/invoke`,
    { input: { message_id: `tck-complete-task-bench-${run}-${n}`, text: 'Ada' } },
    { headers: { prefer: 'wait=30' } },
  ),
);
console.log(JSON.stringify({ a2a_ms: viaA2A, rest_ms: viaRest, ...(await openStreams()) }));

async function medianMs(once: (n: number) => Promise<{ status: number; body: unknown }>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    const startedMs = performance.now();
    const { status, body } = await once(n);
    if (status >= 300) throw new Error(JSON.stringify(body));
    times.push(performance.now() - startedMs);
  }
  return Math.round(times.toSorted((a, b) => a - b)[ROUNDS / 2] ?? 0);
}

/** Streams of one task that waits for a person, so only keep-alives are sent. */
async function openStreams(): Promise<Record<string, unknown>> {
  const { body } = await client.post(
    `${agent}/message:send`,
    { message: { ...text(0), messageId: `bench-${run}` } },
    { headers: V1 },
  );
  const before = rssKiB();
  const abort = new AbortController();
  const headers = { ...V1, authorization: `Bearer ${token}` };
  let events = 0;
  const streams = Array.from({ length: STREAMS }, async () => {
    const response = await fetch(`${agent}/tasks/${body.task.id}:subscribe`, {
      method: 'POST',
      headers,
      signal: abort.signal,
    });
    for await (const _ of response.body ?? []) events++;
  });
  const ended = Promise.allSettled(streams);
  await sleep(15_000);
  const after = rssKiB();
  abort.abort();
  await ended;
  return {
    streams: STREAMS,
    chunks: events,
    ...(before === null || after === null ? {} : { kib_per_stream: Math.round((after - before) / STREAMS) }),
  };
}

function rssKiB(): number | null {
  return apiPid ? residentKib(Number(apiPid)) : null;
}

function needed(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is needed`);
  return value;
}
