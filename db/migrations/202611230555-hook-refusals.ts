import { Migration } from '@mikro-orm/migrations';

export class Migration202611230555HookRefusals extends Migration {
  override up(): void {
    this.addSql(
      `alter table inbound_hook
         add column last_refused_at timestamptz,
         add column last_refusal text check (last_refusal in
           ('unsigned', 'wrong_signature', 'old_signature', 'no_secret', 'inactive'))`,
    );
  }
}
