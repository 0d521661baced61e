/**
 * Removes 1,000,000 old entries of the audit log, as the API does, while others write, are sealed and follow:
 * `npm run bench:audit [entries] [--write]`. A PostgreSQL of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

import { migrate } from '../../db/migrate.ts';
import { createOrm } from '../../db/orm.ts';
import { startPostgres } from '../../dev/postgres.ts';
import { pruneInBatches } from '../../domain/audit/prune.ts';
import { sealAudit } from '../../domain/audit/seal.ts';
import { verifyAudit } from '../../domain/audit/verify.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../../domain/audit/write.ts';
import { writeDocsSection } from '../support/docs-section.ts';
import { percentile } from './beside/in-turns.ts';

const [entries = 1_000_000] = process.argv.slice(2).map(Number).filter(Number.isFinite);
const INSERTED_AT_ONCE = 100_000;
/** Entries of the year before the time after which they go, which stay. */
const KEPT = 20_000;
const WRITE_EVERY_MS = 10;
const WRITES_BEFORE = 500;
const MAX_MS = 600_000;

const folder = mkdtempSync(join(tmpdir(), 'cadenza-audit-'));
const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), throwaway: true });
await migrate(postgres.url);
const orm = createOrm({ url: postgres.url, poolSize: 10, statementTimeoutMs: 15_000 });
const fork = () => orm.em.fork();

/** In transactions of 1,000 entries. Only the owner can give them a time. */
async function fill(count: number, daysAgo: number): Promise<void> {
  for (let done = 0; done < count; done += 1_000)
    await fork().transactional(async (em) => {
      await em.execute('set local session_replication_role = replica');
      await em.execute(
        `insert into audit_entry (at, actor_id, action, outcome, object_type, object_id, credential, via,
                                address,                                 user_agent, request_id, data)
       select now() - make_interval(days => ?), gen_random_uuid(), 'updateWorkflow', 'done', 'workflow',
              gen_random_uuid()::text, 'session', 'api', '10.0.0.' || n, 'Mozilla/5.0 (X11; Linux x86_64)',
              gen_random_uuid()::text, '{"fields": ["name"], "changes": {"name": {"old": "a", "new": "b"}}}'
         from generate_series(1, 1000) n`,
        [daysAgo],
      );
    });
}

async function sealAll(): Promise<void> {
  while ((await sealAudit(fork)) !== null);
}

async function verified(): Promise<{ ok: boolean; seals: number; removed: number }> {
  const total = { ok: true, seals: 0, removed: 0 };
  for (let after: string | null = '0'; after !== null;) {
    const part = await verifyAudit(fork(), { after: BigInt(after), expected: [] });
    total.ok &&= part.ok;
    total.seals += part.seals;
    total.removed += part.removed;
    after = part.next;
  }
  return total;
}

async function written(): Promise<number> {
  const begun = performance.now();
  await writeAudit(fork(), SYSTEM_ORIGIN, { action: 'written' });
  return performance.now() - begun;
}

const say = (text: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);

try {
  for (let done = 0; done < entries; done += INSERTED_AT_ONCE) {
    await fill(Math.min(INSERTED_AT_ONCE, entries - done), 400);
    say(`${done + INSERTED_AT_ONCE} entries`);
  }
  await fill(KEPT, 1);
  // The server of a bench has no autovacuum, which does this elsewhere.
  await fork().execute('analyze audit_entry');
  await sealAll();
  await fork().execute('vacuum analyze audit_entry');
  say('sealed');

  const alone: number[] = [];
  for (let count = 0; count < WRITES_BEFORE; count += 1) alone.push(await written());

  const batches: { entries: number; ms: number }[] = [];
  const beside: number[] = [];
  const behind: number[] = [];
  let isPruning = true;
  const writing = (async () => {
    while (isPruning) {
      beside.push(await written());
      await sleep(WRITE_EVERY_MS);
    }
  })();
  /** How long a transaction holds back what others have committed: the age of the oldest that is open. */
  const watching = (async () => {
    while (isPruning) {
      const [row] = await fork().execute<{ ms: number }[]>(
        `select coalesce(max(extract(epoch from clock_timestamp() - xact_start) * 1000), 0)::float8 as ms
           from pg_stat_activity
          where backend_xid is not null and datname = current_database()`,
      );
      behind.push(row?.ms ?? 0);
      await sealAudit(fork);
      await sleep(WRITE_EVERY_MS);
    }
  })();
  const begun = performance.now();
  let last = begun;
  await pruneInBatches(fork, {
    days: 365,
    budgetMs: MAX_MS,
    signal: AbortSignal.timeout(MAX_MS),
    onBatch: (pruned) => {
      const now = performance.now();
      // Each follows a pause as long as the one before.
      batches.push({ entries: pruned.entries, ms: now - last - (batches.at(-1)?.ms ?? 0) });
      last = now;
    },
  });
  const seconds = (performance.now() - begun) / 1000;
  isPruning = false;
  await Promise.all([writing, watching]);
  await sealAll();
  const chain = await verified();
  const removed = batches.reduce((sum, batch) => sum + batch.entries, 0);
  if (removed !== entries || !chain.ok) throw new Error(`${removed} removed, chain ${JSON.stringify(chain)}`);

  const ms = (values: readonly number[], part: number): string => percentile(values, part).toFixed(1);
  const times = batches.map((batch) => batch.ms);
  const rows: [string, string][] = [
    ['entries removed', removed.toLocaleString('en')],
    ['seconds, half of them pauses', seconds.toFixed(0)],
    ['batches', String(batches.length)],
    ['entries of the largest batch', Math.max(...batches.map((batch) => batch.entries)).toLocaleString('en')],
    ['a batch, ms: median, 99 of 100, longest', `${ms(times, 0.5)}, ${ms(times, 0.99)}, ${ms(times, 1)}`],
    [
      'the oldest open transaction, ms: median, 99 of 100, oldest',
      `${ms(behind, 0.5)}, ${ms(behind, 0.99)}, ${ms(behind, 1)}`,
    ],
    ['writing an entry meanwhile, ms: median, 99 of 100', `${ms(beside, 0.5)}, ${ms(beside, 0.99)}`],
    ['writing an entry before, ms: median, 99 of 100', `${ms(alone, 0.5)}, ${ms(alone, 0.99)}`],
    ['seals that the check followed, and those without entries', `${chain.seals}, ${chain.removed}`],
  ];
  const table = ['| measured | value |', '| --- | ---: |', ...rows.map((row) => `| ${row.join(' | ')} |`)];
  const date = new Date().toISOString().slice(0, 10);
  const body = `## Removing old entries of the audit log

\`npm run bench:audit\`, Node ${process.versions.node}, ${date}, two cores
with a load of ${(loadavg()[1] ?? 0).toFixed(0)}:
${entries.toLocaleString('en')} entries that are older than \`AUDIT_RETENTION_DAYS\`, removed as the API
does, while another connection writes an entry every ${WRITE_EVERY_MS} ms and a third one seals.
Afterwards the whole chain is checked.

${table.join('\n')}`;
  say(`\n${body}`);
  if (process.argv.includes('--write'))
    await writeDocsSection({ file: 'docs/benchmarks.md', name: 'audit', script: 'bench:audit', body });
} finally {
  await orm.close(true);
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
