import { Migration } from '@mikro-orm/migrations';

/** `begin_invocation` gets a parameter more, with a default for copies of the release before. */
export class Migration202611301615CallsAhead extends Migration {
  override up(): void {
    const appended = 'uuid, json, jsonb, uuid[]';
    const claimed = 'text, text, text, int, text, json, bigint, int';
    this.addSql(`drop function if exists begin_invocation(${appended}, ${claimed}, boolean)`);
  }
}
