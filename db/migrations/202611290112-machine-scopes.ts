import { Migration } from '@mikro-orm/migrations';

/** What the programs of an issuer may do; null: all that their account may, as before. */
export class Migration202611290112MachineScopes extends Migration {
  override up(): void {
    this.addSql('alter table identity_machine add column scopes text[]');
  }
}
