import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

import { readFunctionFile } from '../function-files.ts';

/**
 * The log of all runs in partitions (docs/adr/0062). The present table becomes the only one, for all ids, so
 * that it is not read here; `migrate` then divides it (db/divide-log.ts). Copies from before go on: the log
 * keeps its name and columns, a trigger does what the foreign key did, and a run that they create gets its
 * `last_tx` by default.
 */
export class Migration202611281720PartitionedLog extends Migration {
  override up(): void {
    this.addSql(readFunctionFile('remove_run_log').sql);
    this.addSql(readFileSync(new URL('./202611281720-partitioned-log.sql', import.meta.url), 'utf8'));
  }
}
