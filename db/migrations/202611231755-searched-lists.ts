import { Migration } from '@mikro-orm/migrations';

import { readFunctionFile } from '../function-files.ts';

/** Lists search texts by trigrams, and times by ids; rare values of filters have indexes. */
export class Migration202611231755SearchedLists extends Migration {
  override up(): void {
    // A trusted extension: whoever owns the database may create it.
    this.addSql('create extension if not exists pg_trgm');
    this.#searchTexts();
    this.#searchTasks();
    this.#findRareValues();
  }

  #searchTexts(): void {
    this.addSql('create index run_search on run using gin (workflow_name gin_trgm_ops)');
    this.addSql('create index agent_search on agent using gin (name gin_trgm_ops, description gin_trgm_ops)');
    this.addSql(
      'create index workflow_search on workflow using gin (name gin_trgm_ops, description gin_trgm_ops)',
    );
    this.addSql(`
      create index marketplace_item_search on marketplace_item
        using gin (name gin_trgm_ops, summary gin_trgm_ops, description gin_trgm_ops)`);
    this.addSql('create index file_search on file using gin (name gin_trgm_ops)');
    this.addSql(`
      create index user_account_search on user_account
        using gin (username gin_trgm_ops, display_name gin_trgm_ops, email gin_trgm_ops)`);
    this.addSql('create index team_search on team using gin (name gin_trgm_ops)');
  }

  #searchTasks(): void {
    this.addSql(`
      create table hitl_task_text (
        task_id uuid primary key references hitl_task (id) on delete cascade,
        text text not null
      )`);
    this.addSql(readFunctionFile('keep_task_text').sql);
    this.addSql(`
      create trigger hitl_task_text after insert or update of title, description, task_name, workflow_name
        on hitl_task for each row execute function keep_task_text()`);
    this.addSql(`
      insert into hitl_task_text (task_id, text)
      select id, concat_ws(' ', left(title, 4096), left(description, 16384), left(task_name, 4096),
                           left(workflow_name, 4096))
        from hitl_task`);
    this.addSql('create index hitl_task_text_search on hitl_task_text using gin (text gin_trgm_ops)');
  }

  #findRareValues(): void {
    // The condition is that of domain/runs/creation-times.ts.
    this.addSql(`
      create index run_off_time on run (created_at, id)
       where (created_at - to_timestamp(
                ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0))
             not between interval '-5 minutes' and interval '5 minutes'`);
    this.addSql('create index agent_type on agent (type, id desc)');
    this.addSql('create index agent_status on agent (status, id desc)');
    this.addSql('create index workflow_invalid on workflow (id desc) where not valid');
    this.addSql('create index user_account_roles on user_account using gin (roles)');
    this.addSql('create index user_account_groups on user_account using gin (groups)');
    this.addSql(`create index user_account_disabled on user_account (id) where status <> 'active'`);
    this.addSql(`create index audit_entry_outcome on audit_entry (outcome, at, id) where outcome <> 'done'`);
    this.addSql('create index audit_entry_object_type on audit_entry (object_type, at, id)');
    this.addSql(`
      create index job_failed on job (agent_id, outcome, id)
       where outcome in ('failed', 'timed_out', 'cancelled')`);
    this.addSql('create index notification_kind on notification (user_id, kind, id desc)');
  }
}
