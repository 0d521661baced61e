import { Migration } from '@mikro-orm/migrations';

/** Monitoring reads the decisions of a day. */
export class Migration202611231355DecisionTimes extends Migration {
  override up(): void {
    this.addSql(`create index hitl_decision_at on hitl_decision (decided_at)`);
    this.addSql(`create index usage_record_fresh_at on usage_record (at) where not folded`);
  }
}
