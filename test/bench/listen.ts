/**
 * Events through the whole platform, whose programs run as in production, while 100,000 others wait: `npm run
 * bench:listen`, with `--write` into docs/benchmarks.md.
 */
import { createClient } from '../support/app.ts';
import { writeDocsSection } from '../support/docs-section.ts';
import { insertListeners } from '../support/listeners.ts';
import { startOwnPlatform } from '../support/own-platform.ts';
import { until } from '../support/platform.ts';
import { startProgram } from '../support/programs.ts';

const EVENTS = 5_000;
const BATCH = 100;
const SENT_AT_ONCE = 2;
/** They take all events among them. */
const GATHERING = 10;
/** Runs that wait for one event each. */
const SINGLE = 300;

const LISTENERS = 100_000;

const env = { USER_MAX_LIVE_RUNS: '1000000', RUN_MAX_EVENTS: '1000000' };
const platform = await startOwnPlatform({ env, worker: false });
const [api, worker] = await Promise.all([
  startProgram('api', platform, env),
  startProgram('worker', platform, env),
]);
const owner = await platform.user('builder');
const client = createClient(api.url, owner.token);
const em = platform.orm.em.fork();
await insertListeners(em, owner.id, LISTENERS);
await em.execute('vacuum analyze');
const headers = { 'content-type': 'application/cloudevents-batch+json' };
const start = async (name: string, count: number, to: (n: number) => object): Promise<void> => {
  for (let n = 0; n < count; n++) {
    const { body } = await client.post('/workflows', {
      name: `${name} ${n}`,
      definition: { do: [{ wait: { listen: { to: to(n) } } }] },
    });
    const { status } = await client.post(`/workflows/${body.id}/run`, {});
    if (status !== 201) throw new Error(`the run was refused: ${status}`);
  }
  await until(
    () =>
      em.execute<{ count: number }[]>(
        `select count(*)::int as count from run where status = 'waiting' and workflow_name like ?`,
        [`${name} %`],
      ),
    ([row]) => row?.count === count,
  );
};
const by = (from: string, expect: number) => ({ of: { from, expect: String(expect) } });
await start('gathers', GATHERING, (n) => ({
  any: [{ with: { type: 'item' }, correlate: by('.data.to', n) }],
  until: `length == ${EVENTS / GATHERING}`,
}));
await start('single', SINGLE, (n) => ({
  one: { with: { type: 'single' }, correlate: by('.data.to', n) },
}));

const send = async (type: string, count: number, among: number): Promise<void> => {
  const batches = Array.from({ length: count / BATCH }, (_, at) =>
    Array.from({ length: BATCH }, (_unused, i) => ({
      specversion: '1.0',
      id: `${type}-${at * BATCH + i}`,
      source: 'bench',
      type,
      data: { to: (at * BATCH + i) % among, note: 'x'.repeat(300) },
    })),
  ).values();
  await Promise.all(
    Array.from({ length: SENT_AT_ONCE }, async () => {
      for (const batch of batches) {
        const { status } = await client.post('/events', batch, { headers });
        if (status !== 202) throw new Error(`the events were refused: ${status}`);
      }
    }),
  );
};
/** Events a second until they are stored, matched, and worked on by the runs. */
const measure = async (name: string, type: string, count: number, among: number): Promise<number[]> => {
  const begun = performance.now();
  const rate = (): number => count / ((performance.now() - begun) / 1_000);
  const none = ([row]: { left: number }[]): boolean => row?.left === 0;
  await send(type, count, among);
  const stored = rate();
  await until(
    () =>
      em.execute<{ left: number }[]>(
        'select count(*)::int as left from inbound_event where matched_at is null',
      ),
    none,
  );
  const matched = rate();
  await until(
    () =>
      em.execute<{ left: number }[]>(
        `select count(*)::int as left from run where workflow_name like ? and status <> 'completed'`,
        [`${name} %`],
      ),
    none,
  );
  return [stored, matched, rate()];
};
const gathered = await measure('gathers', 'item', EVENTS, GATHERING);
const single = await measure('single', 'single', SINGLE, SINGLE);
await Promise.all([api.kill(), worker.kill()]);
await platform.close();

const format = (value: number): string => Math.round(value).toLocaleString('en-US');
const row = (name: string, rates: number[]): string => `| ${name} | ${rates.map(format).join(' | ')} |`;
const lines = [
  `\`npm run bench:listen\`, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}: ` +
    `events by \`POST /events\` in batches of ${BATCH}, ${SENT_AT_ONCE} requests at once, while ` +
    `${format(LISTENERS)} others wait; the bench, an API, a worker, PostgreSQL and Temporal on the same ` +
    'two cores. Events a second from the first request until all are stored, matched and signalled, and ' +
    'worked on:',
  '',
  '| | stored | signalled | worked on |',
  '| --- | ---: | ---: | ---: |',
  row(`${format(EVENTS)} events for ${GATHERING} runs that gather them`, gathered),
  row(`${SINGLE} events, each for a run of its own, which ends`, single),
  '',
  'Where each event wakes a run of its own, the work of the runs is the limit: to be signalled, to ' +
    'close the listener, and to end.',
];
console.log(lines.join('\n'));
if (process.argv.includes('--write'))
  await writeDocsSection({
    file: 'docs/benchmarks.md',
    name: 'listen',
    script: 'bench:listen',
    body: `### Events through the whole platform\n\n${lines.join('\n')}`,
  });
process.exit(0);
