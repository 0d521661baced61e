/**
 * Large values of runs in PostgreSQL and in the file store: `node --no-warnings test/bench/large-values.ts`.
 * Sequential writes and reads of random bytes.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../db/migrate.ts';
import { createOrm } from '../../db/orm.ts';
import { startPostgres } from '../../dev/postgres.ts';
import { createLocalFileStore } from '../../adapters/file-stores/local-file-store.ts';
import { createPayloadStore } from '../../domain/files/payload-store.ts';

const TIMES = 100;
const SIZES = { '300 KiB': 300 * 1024, '1 MiB': 1024 ** 2, '5 MiB': 5 * 1024 ** 2 };

const folder = mkdtempSync(join(tmpdir(), 'cadenza-bench-'));
// As in production: with fsync.
const postgres = await startPostgres({ dataDir: join(folder, 'postgres') });
await migrate(postgres.url);
const orm = createOrm({ url: postgres.url });
const files = createLocalFileStore(join(folder, 'files'));

try {
  for (const [size, bytes] of Object.entries(SIZES)) {
    for (const inFiles of [false, true]) {
      const store = createPayloadStore({ fork: () => orm.em.fork(), files, inFiles });
      const values = Array.from({ length: TIMES }, () => randomBytes(bytes));
      const name = (index: number): string => `${size} ${inFiles} ${index}`;
      const put = await median(TIMES, (index) =>
        store.put(name(index), { data: values[index] ?? Buffer.of(), keyId: 'k' }),
      );
      const get = await median(TIMES, (index) => store.get(name(index)));
      process.stdout.write(
        `${size.padEnd(8)} ${inFiles ? 'files' : 'PostgreSQL'}\tput ${put.toFixed(1)} ms\tget ` +
          `${get.toFixed(1)} ms (medians of ${TIMES})\n`,
      );
    }
  }
} finally {
  await orm.close(true);
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function median(times: number, work: (index: number) => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let index = 0; index < times; index++) {
    const startedAt = performance.now();
    await work(index);
    took.push(performance.now() - startedAt);
  }
  return took.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? 0;
}
