import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/** Tells every api of changes of users, sessions and machine clients, which it keeps for a moment. */
export class Migration202611230632AccountChanges extends Migration {
  override up(): void {
    this.addSql(readFunctionFile('notify_account_change').sql);
    const changed = (...columns: string[]): string =>
      columns.map((column) => `old.${column} is distinct from new.${column}`).join(' or ');
    this.#tell('user_account', changed('username', 'roles', 'groups', 'status', 'token_epoch'));
    this.#tell('auth_session', changed('revoked_at', 'role_limit', 'oauth_client_id', 'user_id'));
    this.#tell('auth_client', changed('expires_at', 'user_id'));
  }

  #tell(table: string, when: string): void {
    this.addSql(`
      create trigger ${table}_changed after update on ${table} for each row when (${when})
        execute function notify_account_change()`);
    this.addSql(`
      create trigger ${table}_deleted after delete on ${table} for each statement
        execute function notify_account_change()`);
  }
}
