import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/** What people make for themselves: neither for an erased account nor for a disabled one. */
const MADE: readonly (readonly [table: string, column: string])[] = [
  ['agent', 'owner_id'],
  ['workflow', 'owner_id'],
  ['inbound_hook', 'owner_id'],
  ['event_source', 'owner_id'],
  ['secret', 'owner_id'],
  ['marketplace_item', 'publisher_id'],
  ['access_token', 'user_id'],
  ['auth_client', 'user_id'],
  ['worker_token', 'owner_id'],
  ['notification_channel', 'owner_id'],
];

/** What programs and directories also make, perhaps for a disabled account: not for an erased one. */
const KEPT: readonly (readonly [table: string, column: string])[] = [
  ['file', 'owner_id'],
  ['chat_session', 'owner_id'],
  ['applied_resource', 'owner_id'],
  ['team_member', 'user_id'],
  ['auth_session', 'user_id'],
  ['auth_challenge', 'user_id'],
  ['passkey', 'user_id'],
  ['user_totp', 'user_id'],
  ['recovery_code', 'user_id'],
  ['device_request', 'user_id'],
  ['oauth_code', 'user_id'],
  ['identity_machine', 'user_id'],
  ['user_identity', 'user_id'],
  ['identity_group_member', 'user_id'],
  ['user_preferences', 'user_id'],
  ['notification_settings', 'user_id'],
  ['absence', 'user_id'],
  ['absence', 'deputy_id'],
];

/** What is given to another owner. Batches of a transfer go on if the new owner is disabled meanwhile. */
const GIVEN: readonly (readonly [table: string, column: string])[] = [
  ['agent', 'owner_id'],
  ['workflow', 'owner_id'],
  ['inbound_hook', 'owner_id'],
  ['event_source', 'owner_id'],
  ['delivery_target', 'owner_id'],
  ['file', 'owner_id'],
  ['marketplace_item', 'publisher_id'],
  ['hitl_task', 'claimed_by'],
];

/**
 * Nothing is made for an erased account or given to it, not even by a request that its erasure has overtaken.
 */
export class Migration202611291926EndedAccounts extends Migration {
  override up(): void {
    this.addSql(readFunctionFile('refuse_ended_account').sql);
    for (const [table, column] of MADE) this.#onInsert(table, column, `'${column}', 'active'`);
    for (const [table, column] of KEPT) this.#onInsert(table, column, `'${column}'`);
    // Those of runs and tasks are made for the run's owner.
    this.#onInsert('delivery_target', 'owner_id', `'owner_id', 'active'`, `when (new.kind = 'webhook')`);
    this.#onInsert('delivery_target', 'run_owner_id', `'owner_id'`, `when (new.kind <> 'webhook')`);
    for (const [table, column] of GIVEN)
      this.#onUpdate(
        table,
        column,
        `new.${column} is distinct from old.${column} and new.${column} is not null`,
      );
    this.#onUpdate(
      'hitl_task',
      'assignee_key',
      `new.assignee_key is distinct from old.assignee_key and new.assignee_key like 'id:%'`,
    );
  }

  #onInsert(table: string, name: string, given: string, when = ''): void {
    this.addSql(`create trigger ${table}_${name}_not_ended before insert on ${table}
      for each row ${when} execute function refuse_ended_account(${given})`);
  }

  #onUpdate(table: string, column: string, when: string): void {
    this.addSql(`create trigger ${table}_${column}_given before update of ${column} on ${table}
      for each row when (${when}) execute function refuse_ended_account('${column}')`);
  }
}
