import { Migration } from '@mikro-orm/migrations';

/**
 * The doors for language models: which runs came by them, what an OAuth client may decide, and the resource
 * that its tokens are for. Agents remember where they were imported from, and their last check.
 */
export class Migration202611230929Doors extends Migration {
  override up(): void {
    this.addSql('alter table run add column caller_run_id uuid');
    this.addSql('alter table auth_session add column resource text');
    this.addSql('alter table auth_session add column may_decide boolean not null default false');
    this.addSql('alter table oauth_code add column may_decide boolean not null default false');
    this.addSql('alter table agent add column source json');
    this.addSql('alter table agent add column last_check json');
    this.addSql(`
      create table door_call (
        id uuid primary key,
        door text not null check (door in ('mcp', 'openai')),
        run_id uuid not null references run (id) on delete cascade,
        user_id uuid not null references user_account (id) on delete cascade,
        session_id uuid,
        request_id text,
        progress_token text,
        created_at timestamptz not null default now())`);
    this.addSql('create index door_call_run on door_call (run_id)');
    this.addSql('create index door_call_user on door_call (user_id)');
    this.addSql(`
      create index door_call_request on door_call (session_id, user_id, request_id)
       where session_id is not null`);
    // Names of tools end in the last digits of an id.
    this.addSql(`create index agent_tool_name on agent ("right"((id)::text, 12))`);
    this.addSql(`create index workflow_tool_name on workflow ("right"((id)::text, 12))`);
  }
}
