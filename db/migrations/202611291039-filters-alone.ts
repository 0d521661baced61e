import { Migration } from '@mikro-orm/migrations';

/** For filters of lists that are given alone: jobs by their queue, and received events by their id. */
export class Migration202611291039FiltersAlone extends Migration {
  override up(): void {
    this.addSql('create index job_queue on job (agent_id, queue, id)');
    this.addSql('create index inbound_event_named on inbound_event (owner_id, event_id, received_at, id)');
  }
}
