import { Migration } from '@mikro-orm/migrations';

/** The call that a conversation belongs to, to tell whether it still holds its session. */
export class Migration202611231342ConversationHolders extends Migration {
  override up(): void {
    this.addSql('alter table conversation add column task text');
    this.addSql('alter table conversation add column visit integer');
    // Sessions are removed when they have rested long enough.
    this.addSql('create index chat_session_updated on chat_session (updated_at)');
  }
}
