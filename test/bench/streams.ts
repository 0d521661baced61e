/**
 * Memory of an API with many open streams and many waiting human tasks, while events arrive, people look at
 * their tasks, and a tenth as many clients again stop reading their streams; and how long it takes until
 * all who read have an event: `npm run bench:streams [streams] [tasks] [seconds] [--write]`, 1,000, 10,000
 * and 120 by default.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '../../db/migrate.ts';
import { startPostgres } from '../../dev/postgres.ts';
import { appendEvents, serviceEvent } from '../../domain/runs/events.ts';
import { createClient, startTestApp } from '../support/app.ts';
import { writeDocsSection } from '../support/docs-section.ts';
import { insertRun } from '../support/human-tasks.ts';
import { runFolderVariable } from '../support/run-folder.ts';
import { ownPort } from '../support/machine.ts';
import { insertManyRows } from '../support/many-rows.ts';
import { startProgram } from '../support/programs.ts';
import { percentile } from './beside/in-turns.ts';
import { residentKib } from './beside/processes.ts';
import { openLiveHeap } from './live-heap.ts';

const [streams = 1_000, tasks = 10_000, seconds = 120] = process.argv
  .slice(2)
  .map(Number)
  .filter(Number.isFinite);
const PEOPLE = 20;
const EVENTS_PER_SECOND = 20;
/** So that what slow clients leave unread is more than the system keeps for them. */
const PADDING = 'x'.repeat(500);

const folder = mkdtempSync(join(tmpdir(), 'cadenza-streams-'));
const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), throwaway: true });
await migrate(postgres.url);
// State that the helpers of the tests share.
process.env[runFolderVariable] = folder;
const app = await startTestApp({ databaseUrl: postgres.url });
const few = {
  users: 100,
  workflows: 100,
  agents: 100,
  items: 100,
  files: 100,
  runs: tasks,
  tasks,
  eventsOfRun: 1,
};
await insertManyRows(
  app.orm.em.fork(),
  { ...few, entries: 100, deliveries: 100, notifications: 100, jobs: 100 },
  Date.now(),
);
// Its secret is of no key, and the API does not start without the keys of all.
await app.orm.em.fork().execute('delete from webhook');
const people = await Promise.all(Array.from({ length: PEOPLE }, () => app.createUser({ roles: ['admin'] })));
const owner = people[0];
if (!owner) throw new Error('nobody is there');
const run = await insertRun(app.orm, { owner: owner.id, status: 'running' });
const temporal = { address: '127.0.0.1:1', namespace: 'none', taskQueue: 'none' };
const inspectorPort = await ownPort();
const api = await startProgram(
  'api',
  { ...app, temporal },
  {
    STREAMS_PER_USER: '0',
    STREAMS_PER_ADDRESS: '0',
    LOG_LEVEL: 'fatal',
    // A busy machine would end streams.
    API_MAX_DELAY_MS: '60000',
    NODE_OPTIONS: `--inspect=127.0.0.1:${inspectorPort}`,
  },
);
const residentMib = (): number => residentKib(api.pid()) / 1024;

const heap = await openLiveHeap(inspectorPort);

const before = residentMib();
let received = 0;
for (let n = 0; n < streams; n++)
  (await openStream(n)).on(
    'data',
    (chunk: Buffer) => (received += chunk.toString('latin1').split('id: ').length - 1),
  );
const opened = residentMib();
const slow = Math.round(streams / 10);
for (let n = 0; n < slow; n++) (await openStream(n)).pause();

function openStream(n: number): Promise<IncomingMessage> {
  const token = people[n % PEOPLE]?.token;
  const path = n % 2 ? '/events' : `/runs/${run}/events`;
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
  return new Promise((resolve, reject) => {
    const request = get(`${api.url}${path}`, { headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`a stream answered ${response.statusCode}`));
      response.on('error', () => {});
      resolve(response);
    });
    request.on('error', reject);
  });
}

/** In each tenth of the time, the most MiB. */
const peaks: number[] = [];
/** After each tenth of the time, what JavaScript needs. */
const needed: number[] = [];
const times: number[] = [];
/** Until all streams have what arrived in a second. */
const delays: number[] = [];
const begun = performance.now();
let appended = 0;
for (let tick = 0; (performance.now() - begun) / 1_000 < seconds; tick++) {
  const events = Array.from({ length: EVENTS_PER_SECOND }, () =>
    serviceEvent({
      key: `event:${++appended}`,
      type: 'io.cadenza.test.v1',
      message: `number ${appended} ${PADDING}`,
    }),
  );
  await app.orm.em
    .fork()
    .transactional((em) => appendEvents(em, run, { events, projection: null, acks: [] }));
  const stored = performance.now();
  while (received < appended * streams && performance.now() - begun < (tick + 1) * 1_000) await sleep(5);
  if (received >= appended * streams) delays.push(performance.now() - stored);
  const looked = performance.now();
  const { status } = await createClient(api.url, people[tick % PEOPLE]?.token).get('/hitl/tasks?scope=all');
  if (status !== 200) throw new Error(`the list answered ${status}`);
  times.push(performance.now() - looked);
  const tenth = Math.min(9, Math.floor(((performance.now() - begun) / 1_000 / seconds) * 10));
  peaks[tenth] = Math.max(peaks[tenth] ?? 0, residentMib());
  if (needed.length < tenth) needed.push(await heap.mib());
  await sleep(Math.max(0, begun + (tick + 1) * 1_000 - performance.now()));
}
needed.push(await heap.mib());
heap.close();
await api.kill();
await app.close();
await postgres.stop();
rmSync(folder, { recursive: true, force: true });

const mib = (value: number): string => value.toFixed(0);
const body = [
  '### Many streams',
  '',
  `\`npm run bench:streams\`, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}: ` +
    `${streams} streams of ${PEOPLE} people, half of one run and half of all, while ${tasks} ` +
    `human tasks wait, ` +
    `${EVENTS_PER_SECOND} events a second arrive and somebody reads the list of tasks every second, for ` +
    `${seconds} s; API, PostgreSQL and bench on the same two cores. Memory of the API (resident): ` +
    `${mib(before)} MiB before, ${mib(opened)} MiB with all streams open ` +
    `(${(((opened - before) * 1024) / streams).toFixed(0)} KiB each); then ${slow} more ` +
    `clients open streams and ` +
    'do not read them. In each tenth of the time, MiB:',
  '',
  `| | ${peaks.map((_, index) => `${(index + 1) * 10} %`).join(' | ')} |`,
  `| --- | ${peaks.map(() => '---:').join(' | ')} |`,
  `| most resident | ${peaks.map(mib).join(' | ')} |`,
  `| heap after a garbage collection | ${needed.map(mib).join(' | ')} |`,
  '',
  `The streams got ${received.toLocaleString('en-US')} events of ` +
    `${(appended * streams).toLocaleString('en-US')}. ` +
    `All streams had the events of a second ${percentile(delays, 0.5).toFixed(0)} ms after ` +
    `they were stored ` +
    `(median; 99th percentile ${percentile(delays, 0.99).toFixed(0)} ms; in ${delays.length} of ` +
    `${times.length} seconds). The ` +
    `list of tasks took ${percentile(times, 0.5).toFixed(0)} ms (median; 99th percentile ` +
    `${percentile(times, 0.99).toFixed(0)} ms).`,
].join('\n');
console.log(body);
if (process.argv.includes('--write'))
  await writeDocsSection({ file: 'docs/benchmarks.md', name: 'streams', script: 'bench:streams', body });
process.exit(0);
