import { Migration } from '@mikro-orm/migrations';

/** The session that approved a request of the device flow: its end makes the approval void. */
export class Migration202611221515DeviceApprover extends Migration {
  override up(): void {
    this.addSql(
      'alter table device_request add column approved_by uuid references auth_session (id) on delete cascade',
    );
    this.addSql('create index device_request_approved_by on device_request (approved_by)');
  }
}
