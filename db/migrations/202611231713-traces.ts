import { Migration } from '@mikro-orm/migrations';

/**
 * The trace that a run belongs to, as W3C `traceparent` of what has started it, and of who has decided a
 * human task. Null: nothing was recorded.
 */
export class Migration202611231713Traces extends Migration {
  override up(): void {
    this.addSql(`alter table run add column traceparent text`);
    this.addSql(`alter table hitl_decision add column traceparent text`);
  }
}
