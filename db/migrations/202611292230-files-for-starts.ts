import { Migration } from '@mikro-orm/migrations';

/**
 * Files that somebody uploads for a run that they are about to start: of which workflow, and until when they
 * wait for it. Of those that a run has taken, `expires_at` is null.
 */
export class Migration202611292230FilesForStarts extends Migration {
  override up(): void {
    this.addSql(
      `alter table file add column workflow_id uuid references workflow (id),
                        add column expires_at timestamptz`,
    );
    this.addSql('create index file_workflow on file (workflow_id) where workflow_id is not null');
    this.addSql('create index file_waiting on file (owner_id, workflow_id) where expires_at is not null');
    this.addSql('create index file_expires on file (expires_at) where expires_at is not null');
  }
}
