import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/** Mails to people about their accounts, and the links by which they choose their passwords. */
export class Migration202611300140AccountMails extends Migration {
  override up(): void {
    this.#links();
    this.#mails();
    // Without a reference to the account: an insert takes the same time whether there is one or not.
    this.addSql(`
      create table password_request (
        id bigint generated always as identity primary key,
        user_id uuid,
        at timestamptz not null default clock_timestamp()
      )`);
  }

  #links(): void {
    this.addSql(`alter table user_account add column invited_until timestamptz`);
    this.addSql(`
      create table account_link (
        id uuid primary key,
        user_id uuid not null references user_account on delete cascade,
        purpose text not null check (purpose in ('invitation', 'password')),
        created_by uuid references user_account on delete set null,
        created_at timestamptz not null default clock_timestamp(),
        expires_at timestamptz not null,
        -- Each attempt to send the mail has a token of its own.
        token_hashes bytea[] not null default '{}',
        used_at timestamptz,
        void_at timestamptz
      )`);
    this.addSql(`
      create unique index account_link_open on account_link (user_id, purpose)
        where used_at is null and void_at is null`);
    this.addSql(`create index account_link_user on account_link (user_id)`);
    this.addSql(
      `create index account_link_creator on account_link (created_by) where created_by is not null`,
    );
    this.addSql(`create index account_link_expires on account_link (expires_at)`);
    this.addSql(readFunctionFile('void_account_links').sql);
    this.addSql(`
      create trigger user_account_password_links before update on user_account for each row
        when (old.status is distinct from new.status or old.token_epoch is distinct from new.token_epoch
              or old.email is distinct from new.email
              or old.password_hash is distinct from new.password_hash)
        execute function void_account_links()`);
  }

  #mails(): void {
    this.addSql(`
      create table account_mail (
        id uuid primary key,
        user_id uuid not null references user_account on delete cascade,
        kind text not null,
        -- Null: the one that the account has when the mail is sent.
        address text,
        link_id uuid references account_link on delete cascade,
        data jsonb not null default '{}',
        shard int not null,
        status text not null default 'pending' check (status in ('pending', 'sent', 'failed', 'dropped')),
        attempts int not null default 0,
        due_at timestamptz not null default clock_timestamp(),
        expires_at timestamptz not null,
        error text,
        created_at timestamptz not null default clock_timestamp(),
        done_at timestamptz
      )`);
    this.addSql(`create index account_mail_due on account_mail (shard, due_at) where status = 'pending'`);
    this.addSql(`create index account_mail_user on account_mail (user_id, id)`);
    this.addSql(`create index account_mail_link on account_mail (link_id) where link_id is not null`);
    this.addSql(`create index account_mail_created on account_mail (created_at)`);
  }
}
