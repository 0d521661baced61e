import { Migration } from '@mikro-orm/migrations';

/**
 * Access tokens and machine clients wait as sessions do: for a second factor of their user, or one that an
 * issuer asked for in any log-in of the identity. Of log-ins before, those count whose sessions are still
 * open. Which programs wait, a copy of the API decides when it starts.
 */
export class Migration202611300656WaitingPrograms extends Migration {
  override up(): void {
    this.addSql('alter table user_identity add column second_factor boolean not null default false');
    this.addSql(`update user_identity i set second_factor = true
      where exists (select from auth_session s where s.identity_id = i.id and s.second_factor = 'issuer')`);
    const changed = { access_token: [], auth_client: ['expires_at', 'user_id'] };
    for (const [table, others] of Object.entries(changed)) {
      const columns = [...others, 'awaits_second_factor'];
      this.addSql(`alter table ${table} add column awaits_second_factor boolean not null default false`);
      const differs = columns.map((column) => `old.${column} is distinct from new.${column}`).join(' or ');
      this.addSql(`create or replace trigger ${table}_changed after update on ${table}
        for each row when (${differs}) execute function notify_account_change()`);
    }
  }
}
