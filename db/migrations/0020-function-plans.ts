import { Migration } from '@mikro-orm/migrations';

/**
 * The plans of functions are kept as they were first made: on tables that were small then, scans of the whole table, until
 * some `analyze` throws them away. Each step of each run waits for that (measured: 2 ms, and more with each event of the log,
 * where it takes 0.7 ms).
 */
export class Migration0020FunctionPlans extends Migration {
  override up(): void {
    this.addSql(`
alter function append_run_events(uuid, json, jsonb, uuid[], uuid) set enable_seqscan = off;
alter function begin_invocation(uuid, json, jsonb, uuid[], uuid, text, text, text, int) set enable_seqscan = off;
alter function end_run(uuid, json, uuid[], uuid, text, json, json, json) set enable_seqscan = off;
alter function end_lone_run(uuid, json, uuid[], uuid, text, json, json, json) set enable_seqscan = off;
alter function lock_human_task(uuid, uuid) set enable_seqscan = off;
alter function audit_and_append(uuid, json, json, uuid) set enable_seqscan = off;
alter function decide_human_task(uuid, json, json, json, uuid, json) set enable_seqscan = off;
`);
  }
}
