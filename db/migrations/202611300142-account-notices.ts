import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/** What people have to be told about changes of their accounts; workers write the mails. */
export class Migration202611300142AccountNotices extends Migration {
  override up(): void {
    // Without a reference: what belongs to an account is also removed together with it.
    this.addSql(`
      create table account_notice (
        id bigint generated always as identity primary key,
        user_id uuid not null,
        data jsonb not null,
        at timestamptz not null default clock_timestamp()
      )`);
    this.addSql(readFunctionFile('note_account_change').sql);
    const triggers: [table: string, event: string, condition?: string][] = [
      [
        'user_account',
        'update',
        `(new.erased_at is null and (old.password_hash is distinct from new.password_hash
            or old.email is distinct from new.email or not new.roles <@ old.roles))`,
      ],
      ['user_totp', 'update', '(old.confirmed_at is null and new.confirmed_at is not null)'],
      ['user_totp', 'delete', '(old.confirmed_at is not null)'],
      ['passkey', 'insert'],
      ['passkey', 'delete'],
      ['access_token', 'insert'],
      ['auth_client', 'insert'],
    ];
    for (const [table, event, condition] of triggers)
      this.addSql(`
        create trigger ${table}_noted_${event} after ${event} on ${table} for each row
          ${condition === undefined ? '' : `when ${condition}`} execute function note_account_change()`);
  }
}
