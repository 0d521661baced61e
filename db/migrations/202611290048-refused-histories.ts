import { Migration } from '@mikro-orm/migrations';

/** Histories that Temporal refuses to remove at an erasure are given up after some attempts. */
export class Migration202611290048RefusedHistories extends Migration {
  override up(): void {
    this.addSql(`
      alter table erasure_history
        -- Refusals so far; an outage is none. With the last one, next_at is infinity.
        add column attempts integer not null default 0,
        -- The name of a status of gRPC.
        add column refusal text`);
  }
}
