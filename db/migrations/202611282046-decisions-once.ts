import { Migration } from '@mikro-orm/migrations';

/** `decide_at_once` gets a parameter more, with a default for copies of the release before. */
export class Migration202611282046DecisionsOnce extends Migration {
  override up(): void {
    this.addSql(`drop function if exists decide_at_once(
      uuid, text, json, boolean, text, json, json, json, json)`);
  }
}
