import { Migration } from '@mikro-orm/migrations';

/** Teams that were deleted, and whose runs lose them in batches. */
export class Migration202611281725TeamEnds extends Migration {
  override up(): void {
    this.addSql('alter table team add column ended_at timestamptz');
    this.addSql('create index team_ended on team (ended_at) where ended_at is not null');
  }
}
