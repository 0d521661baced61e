import { Migration } from '@mikro-orm/migrations';

/** Tokens of workers wait for a second factor of their owner, as access tokens do. */
export class Migration202611301202WaitingWorkerTokens extends Migration {
  override up(): void {
    this.addSql('alter table worker_token add column awaits_second_factor boolean not null default false');
    this.addSql(`create or replace trigger worker_token_changed after update on worker_token
      for each row when (old.awaits_second_factor is distinct from new.awaits_second_factor)
      execute function notify_account_change()`);
  }
}
