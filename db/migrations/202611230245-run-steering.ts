import { Migration } from '@mikro-orm/migrations';

/**
 * `key`, `tags` and `labels` of runs, to find them by. A key is unique for a workflow and owner while its run
 * lives. `start_state`: the state from which a retry continues that was moved to another place.
 */
export class Migration202611230245RunSteering extends Migration {
  override up(): void {
    this.addSql(
      `alter table run add column key text,
         add column tags text[] not null default '{}',
         add column labels jsonb not null default '{}',
         add column start_state json`,
    );
    this.addSql(
      `create unique index run_key on run (workflow_id, owner_id, key)
        where key is not null and status in ('pending', 'running', 'waiting', 'suspended')`,
    );
    this.addSql(`create index run_by_key on run (key, id desc) where key is not null`);
    this.addSql(`create index run_tags on run using gin (tags) where tags <> '{}'`);
    this.addSql(`create index run_labels on run using gin (labels jsonb_path_ops) where labels <> '{}'`);
  }
}
