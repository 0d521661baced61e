import { Migration } from '@mikro-orm/migrations';

/** Two functions get a parameter more, with a default for copies of the release before. */
export class Migration202611282055QuietAppends extends Migration {
  override up(): void {
    const appended = 'uuid, json, jsonb, uuid[]';
    this.addSql(`drop function if exists append_run_events(${appended})`);
    this.addSql(
      `drop function if exists begin_invocation(${appended}, text, text, text, int, text, json, bigint, int)`,
    );
  }
}
