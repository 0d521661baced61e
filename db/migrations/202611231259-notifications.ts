import { Migration } from '@mikro-orm/migrations';

/** Notifications of people: the outbox, what each person was told, and what is sent by mail and chat. */
export class Migration202611231259Notifications extends Migration {
  override up(): void {
    this.#outbox();
    this.#channels();
    this.#notifications();
  }

  #outbox(): void {
    // Written with the event in the log, so in the transaction of the change.
    this.addSql(`
      create table notice (
        id bigint generated always as identity primary key,
        task_id uuid not null references hitl_task on delete cascade,
        reason text not null,
        data json not null,
        at timestamptz not null default clock_timestamp(),
        -- The last recipient who was told, and how many were.
        after_user uuid,
        told int not null default 0
      )`);
    this.addSql(`create index notice_task on notice (task_id)`);
    this.addSql(`alter table hitl_task add column warn_at timestamptz`);
    this.addSql(`create index hitl_task_warn on hitl_task (warn_at) where warn_at is not null`);
    this.addSql(`
      create table notification_settings (
        user_id uuid primary key references user_account on delete cascade,
        content jsonb not null default '{}',
        version int not null default 0,
        unsubscribe_key text not null unique
      )`);
  }

  #channels(): void {
    this.addSql(`
      create table notification_channel (
        id uuid primary key,
        owner_id uuid not null references user_account on delete cascade,
        name text not null,
        format text not null check (format in ('slack', 'teams', 'mattermost')),
        url_encrypted text not null,
        -- Whose tasks it tells of: without both, those of its owner.
        group_name text,
        workflow_id uuid references workflow on delete cascade,
        kinds text[] not null,
        active boolean not null default true,
        failures int not null default 0,
        last_error text,
        created_at timestamptz not null default clock_timestamp(),
        updated_at timestamptz not null default clock_timestamp(),
        check (group_name is null or workflow_id is null)
      )`);
    this.addSql(`create index notification_channel_owner on notification_channel (owner_id, id)`);
    this.addSql(`
      create index notification_channel_group on notification_channel (group_name)
        where group_name is not null`);
    this.addSql(`
      create index notification_channel_workflow on notification_channel (workflow_id)
        where workflow_id is not null`);
  }

  #notifications(): void {
    this.addSql(`
      create table notification (
        id uuid primary key,
        user_id uuid not null references user_account on delete cascade,
        kind text not null,
        task_id uuid not null references hitl_task on delete cascade,
        notice_id bigint not null,
        actor_id uuid references user_account on delete set null,
        in_place_of uuid references user_account on delete cascade,
        comment_id uuid references hitl_comment on delete cascade,
        created_at timestamptz not null default clock_timestamp(),
        read_at timestamptz,
        unique (user_id, notice_id)
      )`);
    this.addSql(`create index notification_user on notification (user_id, id desc)`);
    this.addSql(`create index notification_unread on notification (user_id, id) where read_at is null`);
    this.addSql(`create index notification_task on notification (task_id)`);
    this.addSql(`create index notification_actor on notification (actor_id) where actor_id is not null`);
    this.addSql(`
      create index notification_in_place_of on notification (in_place_of) where in_place_of is not null`);
    this.addSql(`
      create index notification_comment on notification (comment_id) where comment_id is not null`);
    this.addSql(`
      create table notification_delivery (
        id uuid primary key,
        -- Null for a channel of a group or a workflow.
        user_id uuid references user_account on delete cascade,
        notification_id uuid references notification on delete cascade,
        -- Null: by mail.
        channel_id uuid references notification_channel on delete cascade,
        notice_id bigint not null,
        kind text not null,
        task_id uuid not null references hitl_task on delete cascade,
        shard int not null,
        status text not null default 'pending' check (status in ('pending', 'sent', 'failed', 'dropped')),
        attempts int not null default 0,
        due_at timestamptz not null,
        expires_at timestamptz not null,
        error text,
        created_at timestamptz not null default clock_timestamp(),
        done_at timestamptz,
        unique nulls not distinct (notice_id, user_id, channel_id)
      )`);
    this.addSql(`
      create index notification_delivery_due on notification_delivery (shard, due_at)
        where status = 'pending'`);
    this.addSql(`
      create index notification_delivery_to on notification_delivery (user_id, channel_id, due_at)
        where status = 'pending'`);
    this.addSql(`create index notification_delivery_task on notification_delivery (task_id)`);
    this.addSql(`
      create index notification_delivery_notification on notification_delivery (notification_id)
        where notification_id is not null`);
    this.addSql(`
      create index notification_delivery_channel on notification_delivery (channel_id)
        where channel_id is not null`);
    this.addSql(`create index notification_delivery_created on notification_delivery (created_at)`);
  }
}
