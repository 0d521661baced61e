import { Migration } from '@mikro-orm/migrations';

/** Payloads of Temporal histories may have their bytes in the file store, under `file_id`; those that have them here stay. */
export class Migration0015PayloadFiles extends Migration {
  override up(): void {
    this.addSql(`
alter table temporal_payload alter column data drop not null, add column file_id uuid,
  add constraint temporal_payload_place check ((data is null) <> (file_id is null));
create unique index temporal_payload_file on temporal_payload (file_id) where file_id is not null;
`);
  }
}
