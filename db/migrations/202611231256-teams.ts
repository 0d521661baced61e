import { Migration } from '@mikro-orm/migrations';

/** Tables of what a team can hold in place of a user, each with the columns of its lists' order. */
const HELD = {
  agent: 'id desc',
  workflow: 'id desc',
  file: 'id desc',
  delivery_target: 'kind, id desc',
} as const;

/**
 * Teams hold agents, workflows, files, webhooks and secrets; a workflow's runners may start it
 * (docs/teams.md). What there is stays with its owner: `holder_id` is the team, else the owner.
 */
export class Migration202611231256Teams extends Migration {
  override up(): void {
    this.addSql(`
      create table team (
        id uuid primary key,
        name text not null,
        description text,
        created_by uuid not null references user_account (id),
        created_at timestamptz not null default clock_timestamp(),
        updated_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql('create unique index team_name on team (lower(name))');
    this.addSql('create index team_created_by on team (created_by)');
    this.addSql(`
      create table team_member (
        team_id uuid not null references team (id) on delete cascade,
        user_id uuid not null references user_account (id) on delete cascade,
        role text not null check (role in ('viewer', 'approver', 'builder', 'admin')),
        added_by uuid not null references user_account (id),
        added_at timestamptz not null default clock_timestamp(),
        primary key (team_id, user_id)
      )`);
    this.addSql('create index team_member_user on team_member (user_id, team_id)');
    this.addSql('create index team_member_added_by on team_member (added_by)');
    this.addSql(`
      create trigger team_member_changed after insert or update or delete on team_member
        for each statement execute function notify_account_change()`);
    for (const [table, order] of Object.entries(HELD)) {
      this.addSql(`
        alter table ${table}
          add column team_id uuid references team (id),
          add column holder_id uuid not null generated always as (coalesce(team_id, owner_id)) stored`);
      this.addSql(`create index ${table}_holder on ${table} (holder_id, ${order})`);
      this.addSql(`create index ${table}_team on ${table} (team_id) where team_id is not null`);
    }
    // A secret is a user's or a team's.
    this.addSql('alter table secret drop constraint secret_owner_id_fkey');
    this.addSql(`alter table workflow add column runners jsonb not null default '{}'`);
    this.addSql(`alter table workflow add column runner_keys text[] not null default '{}'`);
    this.addSql('create index workflow_runners on workflow using gin (runner_keys)');
    // Those of the workflow when the run was created; they follow it to another team.
    this.addSql('alter table run add column team_id uuid references team (id)');
    this.addSql('create index run_team on run (team_id, id desc) where team_id is not null');
    this.addSql('alter table run add column by_grant boolean not null default false');
    this.addSql('alter table hitl_task add column team_id uuid');
    this.addSql('alter table hitl_task add column by_grant boolean not null default false');
  }
}
