import { Migration } from '@mikro-orm/migrations';

/**
 * The statement that begins a call stores the outcomes of earlier ones, and a digest of its input
 * (docs/adr/0030). Drops the functions whose parameters change.
 */
export class Migration202611221600ShortCalls extends Migration {
  override up(): void {
    this.addSql('alter table invocation add column input_digest bytea');
    for (const signature of FORMER) this.addSql(`drop function if exists ${signature}`);
  }
}

const FORMER = [
  'begin_invocation(uuid, json, jsonb, uuid[], text, text, text, integer)',
  'end_lone_run(uuid, json, uuid[], text, text, text, json, json, json)',
];
