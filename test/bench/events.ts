/**
 * Times the way of events in: storing them, and finding their listeners among 100,000 waiting ones, beside
 * bare inserts of the same rows in the same database. `npm run bench:events`, with `--write` into
 * docs/benchmarks.md.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { migrate } from '../../db/migrate.ts';
import { createOrm } from '../../db/orm.ts';
import { startPostgres } from '../../dev/postgres.ts';
import { acceptEvents } from '../../domain/events/inbound.ts';
import { matchEvents } from '../../domain/events/matcher.ts';
import { writeDocsSection } from '../support/docs-section.ts';
import { insertListeners } from '../support/listeners.ts';

const LISTENERS = 100_000;
const EVENTS = 5_000;
const BATCH = 100;

const folder = mkdtempSync(join(tmpdir(), 'cadenza-events-'));
const postgres = await startPostgres({ dataDir: join(folder, 'postgres') });
await migrate(postgres.url);
const orm = createOrm({ url: postgres.url });
const em = orm.em.fork();
const owner = uuidv7();
await em.execute(
  `insert into user_account (id, username, email, password_hash, roles)
   values (?, 'bench', 'bench@example.com', '', '{builder}')`,
  [owner],
);
await insertListeners(em, owner, LISTENERS);
await em.execute('vacuum analyze');

const eventOf = (n: number, source: string, type = 'order.paid') => ({
  specversion: '1.0',
  id: `e${n}`,
  source,
  type,
  data: { order: (n * 7_919) % LISTENERS, note: 'x'.repeat(300) },
});
const numbers = Array.from({ length: EVENTS }, (_, n) => n);
const batches = Array.from({ length: EVENTS / BATCH }, (_, at) =>
  numbers.slice(at * BATCH, (at + 1) * BATCH),
);

async function perSecond(act: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await act();
  return EVENTS / ((performance.now() - begun) / 1_000);
}

await em.execute(
  `create table bare (id uuid primary key default gen_random_uuid(), owner_id uuid not null,
                      source text not null,
                      event_id text not null, event json not null, unique (owner_id, source, event_id))`,
);
const bare = await perSecond(async () => {
  for (const batch of batches)
    await em.execute(
      `insert into bare (owner_id, source, event_id, event)
       select ?, e ->> 'source', e ->> 'id', e from json_array_elements(?::json) e`,
      [owner, JSON.stringify(batch.map((n) => eventOf(n, 'bench')))],
    );
});
const store = async (type: string): Promise<void> => {
  for (const batch of batches)
    await em.transactional((tx) =>
      acceptEvents(
        tx,
        { owner_id: owner },
        batch.map((n) => eventOf(n, type, type)),
      ),
    );
};
/** Temporal takes the signals elsewhere; each run gets one. */
const temporal = { signal: async () => 'sent' as const } as never;
const match = (): Promise<void> => matchEvents({ orm, temporal, limits: {} as never, logger: console });
const stored = await perSecond(() => store('order.paid'));
const matched = await perSecond(match);
await store('nobody.listens');
const unheard = await perSecond(match);
await insertListeners(em, owner, 1, () => ({
  mode: 'any',
  filters: [{ with: { type: 'all.for.one' }, correlate: [] }],
  goes_on: true,
  once: false,
  variables: {},
}));
await store('all.for.one');
const forOne = await perSecond(match);
const [row] = await em.execute<{ signals: number; taken: number; unmatched: number }[]>(
  `select (select count(*)::int from run_signal where kind = 'events') as signals,
          (select count(*)::int from listener_event) as taken,
          (select count(*)::int from inbound_event where matched_at is null) as unmatched`,
);
if (row?.signals !== EVENTS + 1 || row.taken !== 2 * EVENTS || row.unmatched !== 0)
  throw new Error(`not all were matched: ${JSON.stringify(row)}`);
await orm.close(true);
await postgres.stop();
rmSync(folder, { recursive: true, force: true });

const whole = 1 / (1 / stored + 1 / matched);
const format = (value: number): string => Math.round(value).toLocaleString('en-US');
const lines = [
  `\`npm run bench:events\`, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}: ` +
    `${format(EVENTS)} events of 0.4 KB in batches of ${BATCH}, ` +
    `${format(LISTENERS)} listeners of one owner ` +
    'that wait for one order each, PostgreSQL on the same two cores. Signals are stored, and handed to a ' +
    'Temporal that answers at once.',
  '',
  '| step | events/s | of bare inserts |',
  '| --- | ---: | ---: |',
  ...(
    [
      ['bare inserts', bare],
      ['store', stored],
      ['find the listener of each, take, signal', matched],
      ['both', whole],
      ['match with nobody', unheard],
      ['match with one listener of all', forOne],
    ] as const
  ).map(([name, rate]) => `| ${name} | ${format(rate)} | ${(rate / bare).toFixed(2)} |`),
];
console.log(lines.join('\n'));
if (process.argv.includes('--write'))
  await writeDocsSection({
    file: 'docs/benchmarks.md',
    name: 'events',
    script: 'bench:events',
    body: `## Events in\n\n${lines.join('\n')}`,
  });
process.exit(0);
