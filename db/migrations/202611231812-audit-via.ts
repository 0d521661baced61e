import { Migration } from '@mikro-orm/migrations';

/** The interface by which the caller of an audit entry came. The seals hash values, not names of columns. */
export class Migration202611231812AuditVia extends Migration {
  override up(): void {
    this.addSql('alter table audit_entry rename column door to via');
  }
}
