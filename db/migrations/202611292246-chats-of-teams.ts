import { Migration } from '@mikro-orm/migrations';

/** Chats that are told of the human tasks of a team. */
export class Migration202611292246ChatsOfTeams extends Migration {
  override up(): void {
    this.addSql(
      'alter table notification_channel add column team_id uuid references team (id) on delete cascade',
    );
    this.addSql(
      `alter table notification_channel add constraint notification_channel_one
         check (num_nonnulls(group_name, workflow_id, team_id) <= 1)`,
    );
    this.addSql(
      'create index notification_channel_team on notification_channel (team_id) where team_id is not null',
    );
  }
}
