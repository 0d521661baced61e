import { Migration } from '@mikro-orm/migrations';

/** Who has sent an event, also for a team: four eyes asks about the runs that it starts. */
export class Migration202611291931EventInitiators extends Migration {
  override up(): void {
    this.addSql('alter table inbound_event add column sent_by uuid');
  }
}
