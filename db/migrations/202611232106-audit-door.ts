import { Migration } from '@mikro-orm/migrations';

import { readFunctionFile } from '../function-files.ts';

/**
 * The former name of `via`, which copies from before the rename write and read until they are replaced. They
 * also seal, so entries without a seal have it too. One release later a migration takes it away.
 */
export class Migration202611232106AuditDoor extends Migration {
  override up(): void {
    this.addSql('alter table audit_entry add column door text');
    this.addSql('alter table audit_entry disable trigger audit_entry_append_only');
    this.addSql(
      `update audit_entry set door = via
        where tx >= coalesce((select to_tx from audit_seal order by no desc limit 1), '0')`,
    );
    this.addSql('alter table audit_entry enable trigger audit_entry_append_only');
    this.addSql(readFunctionFile('audit_door').sql);
    this.addSql(
      `create trigger audit_entry_door before insert on audit_entry
         for each row execute function audit_door()`,
    );
  }
}
