import { Migration } from '@mikro-orm/migrations';

/**
 * W3C `tracestate` beside the `traceparent` of a run, and the trace of the request by which an event came.
 * Null: nothing was recorded, or there is none.
 */
export class Migration202611281730TraceState extends Migration {
  override up(): void {
    this.addSql(`alter table run add column tracestate text`);
    this.addSql(`alter table inbound_event add column traceparent text, add column tracestate text`);
  }
}
