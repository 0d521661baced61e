import { Migration } from '@mikro-orm/migrations';

/**
 * What a change of holder does not hand over: the names that revisions of workflows must not read any more,
 * and of a transfer the names that the new owner got. Null: the transfer began before there was this.
 */
export class Migration202611281855UnboundSecrets extends Migration {
  override up(): void {
    this.addSql(`
      create table unbound_secret (
        workflow_id uuid not null,
        revision integer not null,
        name text not null,
        primary key (workflow_id, revision, name),
        foreign key (workflow_id, revision) references workflow_revision on delete cascade
      )`);
    this.addSql('alter table transfer add column secrets jsonb');
  }
}
