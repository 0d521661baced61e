import { Migration } from '@mikro-orm/migrations';

/** Shows that a key of ENCRYPTION_KEYS is the one that the database knows by its id. */
export class Migration202611282143EncryptionKeyChecks extends Migration {
  override up(): void {
    this.addSql(`
      create table encryption_key_check (
        key_id text primary key,
        -- Derived from the key; the key does not follow from it.
        check_value text not null,
        created_at timestamptz not null default clock_timestamp()
      )`);
  }
}
