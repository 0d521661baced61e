import { Migration } from '@mikro-orm/migrations';

/**
 * The second factor that was shown in a session: `own`, one of the account, or `issuer`, one that the issuer
 * asked for. Sessions from before count as having none: once their user has a new role that needs one, they
 * have a viewer's rights until it is shown.
 */
export class Migration202611292250SessionFactors extends Migration {
  override up(): void {
    this.addSql(`alter table auth_session
      add column second_factor text check (second_factor in ('own', 'issuer'))`);
  }
}
