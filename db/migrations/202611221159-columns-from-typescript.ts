import { Migration } from '@mikro-orm/migrations';

/**
 * TypeScript computes what the functions stored by rules of their own (docs/adr/0023). Drops the functions
 * that only held rules, and those whose parameters change, and lets a question to people name its human tasks
 * instead of holding its text.
 */
export class Migration202611221159ColumnsFromTypescript extends Migration {
  override up(): void {
    this.addSql(`
alter table a2a_message
  alter column message drop not null,
  -- Of the agent's question: the human tasks that it shows.
  add column asked uuid[],
  add constraint a2a_message_content check ((message is null) <> (asked is null))`);
    // Databases from before have the trigger; the initial schema no longer creates it.
    this.addSql('drop trigger if exists run_waits_for_people on run');
    for (const signature of FORMER) this.addSql(`drop function if exists ${signature}`);
  }
}

const FORMER = [
  'run_waits_for_people()',
  'a2a_question(uuid, text, uuid[])',
  'a2a_state(text, boolean, json, json)',
  'asks_for_credentials(uuid[])',
  'end_lone_run(uuid, json, uuid[], uuid, text, json, json, json)',
  'end_run(uuid, json, uuid[], uuid, text, json, json, json)',
  'decide_human_task(uuid, json, json, json, uuid, json)',
  'audit_and_append(uuid, json, json, uuid)',
  'begin_invocation(uuid, json, jsonb, uuid[], uuid, text, text, text, integer)',
  'append_run_events(uuid, json, jsonb, uuid[], uuid)',
];
