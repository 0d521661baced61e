import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/**
 * Entries of the audit log note the team that holds their object, and the one to which it moves. Both are in
 * `data`, which seals hash as before: copies of the release before go on to seal and to check.
 */
export class Migration202611300120AuditTeams extends Migration {
  override up(): void {
    this.addSql(readFunctionFile('audit_teams').sql);
    this.addSql(
      `create trigger audit_entry_teams before insert on audit_entry
         for each row execute function audit_teams()`,
    );
    for (const name of ['team_id', 'to_team_id'])
      this.addSql(
        `create index audit_entry_${name} on audit_entry ((data ->> '${name}'), at, id)
          where (data ->> '${name}') is not null`,
      );
  }
}
