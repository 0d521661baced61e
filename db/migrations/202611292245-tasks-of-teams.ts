import { Migration } from '@mikro-orm/migrations';

/** For the human tasks of a team's runs: undecided ones, and those of one status by priority. */
export class Migration202611292245TasksOfTeams extends Migration {
  override up(): void {
    this.addSql(
      'create index hitl_task_team on hitl_task (team_id, status, (-priority), id) where team_id is not null',
    );
  }
}
