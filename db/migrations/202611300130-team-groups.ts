import { Migration } from '@mikro-orm/migrations';

/**
 * Groups that give a role in a team. `team_member` stays what everything reads: `role` is the highest of the
 * person's own role and that of their groups (docs/adr/0073).
 */
export class Migration202611300130TeamGroups extends Migration {
  override up(): void {
    this.addSql(`
      create table team_group (
        team_id uuid not null references team (id) on delete cascade,
        -- As in the groups of accounts: that of an issuer begins with the issuer's name and a colon.
        group_name text not null,
        role text not null check (role in ('viewer', 'approver', 'builder', 'admin')),
        added_by uuid not null references user_account (id),
        added_at timestamptz not null default clock_timestamp(),
        primary key (team_id, group_name)
      )`);
    this.addSql('create index team_group_name on team_group (group_name)');
    this.addSql('create index team_group_added_by on team_group (added_by)');
    // Without a role by groups, `role` is the person's own, also in rows of the release before.
    this.addSql(`
      alter table team_member
        add column group_role text check (group_role in ('viewer', 'approver', 'builder', 'admin')),
        add column own_role text check (own_role in ('viewer', 'approver', 'builder', 'admin')),
        add constraint team_member_own_role_beside
          check (own_role is null or coalesce(group_role, '') <> '')`);
  }
}
