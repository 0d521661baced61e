import { Migration } from '@mikro-orm/migrations';

/** What runs and schedules wait for, and which events they have taken. */
export class Migration202611230254Listeners extends Migration {
  override up(): void {
    this.#listeners();
    this.#whatIsTaken();
    this.#starts();
  }

  #listeners(): void {
    // Users whose shared events reach the workflow and its runs.
    this.addSql(`alter table workflow add column event_senders uuid[] not null default '{}'`);
    this.addSql(`
      create table listener (
        id uuid primary key,
        owner_id uuid not null references user_account (id) on delete cascade,
        -- Of a task of this run, or of the schedule of this workflow.
        run_id uuid references run (id) on delete cascade,
        workflow_id uuid references workflow (id) on delete cascade,
        -- Events of a start that still lacks some: the listener of the schedule.
        part_of uuid references listener (id) on delete cascade,
        task_ref text,
        visit int,
        spec json not null,
        state jsonb not null,
        -- open: takes events; done: has all that it waits for; closed: wants no more.
        status text not null default 'open' check (status in ('open', 'done', 'closed')),
        last_seq int not null default 0,
        -- The run has been told of events, and will ask for those after them.
        signalled boolean not null default false,
        -- Events from then on count; up to a position, while older ones are still read.
        since timestamptz not null,
        inbox_at timestamptz,
        inbox_id uuid,
        -- Transactions from this one on may have been open when the older events had been read.
        seen_below xid8,
        created_at timestamptz not null default clock_timestamp(),
        check ((run_id is null) <> (workflow_id is null))
      )`);
    this.addSql('create index listener_run on listener (run_id) where run_id is not null');
    this.addSql(
      'create index listener_workflow on listener (workflow_id, status, id) where workflow_id is not null',
    );
    this.addSql('create index listener_part on listener (part_of) where part_of is not null');
    this.addSql('create index listener_owner on listener (owner_id)');
    // An event's listeners are found by its sender, type, and the values of each shape that there is.
    this.addSql(`
      create table listener_key (
        sender_id uuid not null,
        type text not null,
        shape text not null,
        value text not null,
        listener_id uuid not null references listener (id) on delete cascade,
        primary key (sender_id, type, shape, value, listener_id)
      )`);
    this.addSql('create index listener_key_listener on listener_key (listener_id)');
    this.addSql('create table listener_shape (shape text primary key, definition json not null)');
  }

  #whatIsTaken(): void {
    this.addSql(`
      create table listener_event (
        listener_id uuid not null references listener (id) on delete cascade,
        event_id uuid not null references inbound_event (id) on delete cascade,
        seq int not null,
        role text not null check (role in ('main', 'until')),
        primary key (listener_id, event_id)
      )`);
    this.addSql('create unique index listener_event_seq on listener_event (listener_id, seq)');
    this.addSql('create index listener_event_event on listener_event (event_id)');
    // Each event counts once for a schedule, also after its listener was replaced.
    this.addSql(`
      create table schedule_event (
        workflow_id uuid not null references workflow (id) on delete cascade,
        event_id uuid not null references inbound_event (id) on delete cascade,
        primary key (workflow_id, event_id)
      )`);
    this.addSql('create index schedule_event_event on schedule_event (event_id)');
    this.addSql(`
      alter table inbound_event
        add column tx xid8 not null default pg_current_xact_id(),
        -- Null: its listeners have not been told.
        add column matched_at timestamptz`);
    this.addSql('update inbound_event set matched_at = received_at');
    this.addSql(
      `create index inbound_event_unmatched on inbound_event (owner_id, received_at, id)
        where matched_at is null`,
    );
    this.addSql('create index inbound_event_tx on inbound_event (owner_id, tx)');
  }

  #starts(): void {
    // The first events that started a run.
    this.addSql('alter table run add column started_by uuid[]');
    this.addSql(`alter table workflow_schedule drop constraint workflow_schedule_kind_check,
      add check (kind in ('every', 'cron', 'after', 'on'))`);
    this.addSql(`alter table schedule_start drop constraint schedule_start_cause_check,
      add check (cause in ('time', 'trigger', 'backfill', 'event'))`);
  }
}
