import { Migration } from '@mikro-orm/migrations';

/**
 * SECOND_FACTOR_ROLES of each copy of the API that names roles. Copies with different settings may run side
 * by side; a role needs a second factor as long as one of them names it.
 */
export class Migration202611301201SecondFactorSettings extends Migration {
  override up(): void {
    this.addSql(`
      create table second_factor_setting (
        copy_id uuid not null primary key,
        roles text[] not null,
        expires_at timestamptz not null
      )`);
  }
}
