import { Migration } from '@mikro-orm/migrations';

/**
 * An attempt of a call that another has overtaken reserves nothing in budgets. `hold_budgets` gets a
 * parameter more, with a default for copies of the release before.
 */
export class Migration202611291510HoldsByClaim extends Migration {
  override up(): void {
    this.addSql('drop function if exists hold_budgets(uuid, text, uuid, numeric, bigint, boolean)');
  }
}
