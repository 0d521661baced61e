import { Migration } from '@mikro-orm/migrations';

/** How many of an hour's completed runs took at most so long, for monitoring. */
export class Migration202611231803RunLengths extends Migration {
  override up(): void {
    for (const length of ['1s', '10s', '1m', '10m', '1h', '1d'])
      this.addSql(`alter table run_hour add column within_${length} int not null default 0`);
  }
}
