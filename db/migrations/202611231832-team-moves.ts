import { Migration } from '@mikro-orm/migrations';

/** Workflows that were moved, and whose runs follow them to their team in batches. */
export class Migration202611231832TeamMoves extends Migration {
  override up(): void {
    this.addSql(`
      create table team_move (
        workflow_id uuid primary key references workflow (id) on delete cascade,
        -- Runs with lower ids are still to be moved; null for all.
        below uuid,
        begun_at timestamptz not null default clock_timestamp())`);
  }
}
