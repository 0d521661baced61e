import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/**
 * Tells every api of all that decides about a session's rights, and lets no copy of any release remove the
 * last administrator with a password.
 */
export class Migration202611240228GuardedAccounts extends Migration {
  override up(): void {
    const columns = ['revoked_at', 'role_limit', 'oauth_client_id', 'user_id'];
    const changed = [...columns, 'awaits_second_factor', 'verified_at']
      .map((column) => `old.${column} is distinct from new.${column}`)
      .join(' or ');
    this.addSql(`create or replace trigger auth_session_changed after update on auth_session
      for each row when (${changed}) execute function notify_account_change()`);

    this.addSql(readFunctionFile('keep_one_administrator').sql);
    const isAdmin = (row: string): string =>
      `('admin' = any(${row}.roles) and ${row}.status = 'active' and ${row}.password_hash is not null)`;
    const tell = 'deferrable initially deferred for each row';
    this.addSql(`create constraint trigger user_account_keeps_admin
      after update of roles, status, password_hash on user_account ${tell}
      when (${isAdmin('old')} and not ${isAdmin('new')}) execute function keep_one_administrator()`);
    this
      .addSql(`create constraint trigger user_account_keeps_admin_deleted after delete on user_account ${tell}
      when (${isAdmin('old')}) execute function keep_one_administrator()`);
  }
}
