import { Migration } from '@mikro-orm/migrations';

/**
 * Calls of the MCP server and OpenAI's API under a name of their own, with the key by which a client repeats
 * one, and cancellations that arrive before their call. Runs whose output can be followed while it grows.
 */
export class Migration202611231341ProtocolCalls extends Migration {
  override up(): void {
    this.addSql('alter table door_call rename to protocol_call');
    this.addSql('alter table protocol_call rename column door to protocol');
    for (const constraint of ['pkey', 'door_check', 'run_id_fkey', 'user_id_fkey']) {
      const name = constraint.replace('door', 'protocol');
      this.addSql(
        `alter table protocol_call rename constraint door_call_${constraint} to protocol_call_${name}`,
      );
    }
    for (const index of ['run', 'request'])
      this.addSql(`alter index door_call_${index} rename to protocol_call_${index}`);
    this.addSql('drop index door_call_user');
    this.addSql('alter table protocol_call add column idempotency_key text');
    this.addSql('alter table protocol_call add column request_digest text');
    // Also the index of the foreign key.
    this.addSql('create index protocol_call_user on protocol_call (user_id, idempotency_key)');
    // Whether those who follow the run see what its agents produce while they run.
    this.addSql('alter table run add column streams boolean not null default false');
    this.addSql(`
      create table cancelled_request (
        user_id uuid not null references user_account (id) on delete cascade,
        session_id uuid not null,
        request_id text not null,
        created_at timestamptz not null default clock_timestamp(),
        primary key (user_id, session_id, request_id))`);
  }
}
