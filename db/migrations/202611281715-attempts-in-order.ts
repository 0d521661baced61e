import { Migration } from '@mikro-orm/migrations';

/**
 * Which attempt has the claim of a call, by the clock of Temporal's server: when its activity was scheduled,
 * and the attempt of it. `begin_invocation` gets two parameters more, with defaults for copies of the release
 * before.
 */
export class Migration202611281715AttemptsInOrder extends Migration {
  override up(): void {
    this.addSql(`alter table invocation
      add column scheduled_ms bigint, add column scheduled_attempt int, add column refused_ms bigint`);
    const appended = 'uuid, json, jsonb, uuid[]';
    this.addSql(`drop function if exists begin_invocation(${appended}, text, text, text, int, text, json)`);
  }
}
