import { Migration } from '@mikro-orm/migrations';

/** The id of the namespace on Temporal that has the runs; null until a process has started. */
export class Migration202611300240TemporalNamespace extends Migration {
  override up(): void {
    this.addSql('alter table maintenance add column temporal_namespace_id text');
  }
}
