import { Migration } from '@mikro-orm/migrations';

/** Sums of costs have room for a million of the dearest calls. */
export class Migration202611231100SpendingSizes extends Migration {
  override up(): void {
    const sums = ['used', 'held', 'more'].map((name) => `alter column ${name}_cost_usd type numeric(30, 9)`);
    this.addSql(`alter table budget ${sums.join(', ')}`);
    this.addSql('alter table usage_day alter column cost_usd type numeric(30, 9)');
    // The rate is that of the calls that are admitted: a call that waits has no time of its own.
    this.addSql('alter table agent_turn drop column admitted_at');
  }
}
