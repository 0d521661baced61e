import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/** Deputies of absent people, links that decide one task, people who may not decide, files of decisions. */
export class Migration202611231331Absences extends Migration {
  override up(): void {
    this.addSql(`
      create table absence (
        id uuid primary key,
        user_id uuid not null references user_account on delete cascade,
        deputy_id uuid not null references user_account on delete cascade,
        from_at timestamptz not null,
        until_at timestamptz not null,
        note text,
        created_by uuid not null references user_account on delete cascade,
        created_at timestamptz not null default clock_timestamp(),
        check (user_id <> deputy_id and from_at < until_at)
      )`);
    this.addSql(`create index absence_user on absence (user_id, until_at)`);
    this.addSql(`create index absence_deputy on absence (deputy_id, until_at)`);
    this.addSql(`create index absence_created_by on absence (created_by)`);
    this.addSql(`alter table hitl_vote add column in_place_of uuid references user_account`);
    this.addSql(`
      create unique index hitl_vote_in_place_of on hitl_vote (task_id, in_place_of)
        where in_place_of is not null`);
    this.addSql(`
      create index hitl_vote_deputy on hitl_vote (in_place_of) where in_place_of is not null`);
    this.addSql(`
      alter table hitl_task add column excluded text[] not null default '{}',
        add column decision_links boolean not null default false`);
    this.addSql(`
      create table decision_link (
        id uuid primary key,
        task_id uuid not null references hitl_task on delete cascade,
        user_id uuid not null references user_account on delete cascade,
        created_at timestamptz not null default clock_timestamp(),
        expires_at timestamptz not null,
        used_at timestamptz,
        void_at timestamptz
      )`);
    this.addSql(`create index decision_link_task on decision_link (task_id)`);
    this.addSql(`create index decision_link_user on decision_link (user_id)`);
    this.addSql(`create index decision_link_expires on decision_link (expires_at)`);
    this.addSql(readFunctionFile('void_decision_links').sql);
    this.addSql(`
      create trigger hitl_task_links after update on hitl_task for each row
        when (old.decision_links and (old.candidate_keys is distinct from new.candidate_keys
              or old.assignee_key is distinct from new.assignee_key
              or old.delegations is distinct from new.delegations
              or old.claimed_by is distinct from new.claimed_by))
        execute function void_decision_links()`);
    this.addSql(`
      create trigger user_account_links after update on user_account for each row
        when (old.status is distinct from new.status or old.token_epoch is distinct from new.token_epoch
              or old.roles is distinct from new.roles or old.groups is distinct from new.groups)
        execute function void_decision_links()`);
  }
}
