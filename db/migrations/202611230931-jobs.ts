import { Migration } from '@mikro-orm/migrations';

/**
 * Calls whose outcome comes from outside: jobs that workers pull, and calls that a callback completes. Tokens
 * of such workers, and when each was seen last.
 */
export class Migration202611230931Jobs extends Migration {
  override up(): void {
    this.#jobs();
    this.#workers();
  }

  #jobs(): void {
    this.addSql(`
      create table job (
        id uuid not null primary key,
        run_id uuid not null references run on delete cascade,
        key text not null,
        kind text not null check (kind in ('worker', 'callback')),
        task text not null,
        visit int not null,
        task_attempt int not null,
        agent_id uuid not null references agent on delete cascade,
        agent_version text not null,
        secrets_of uuid not null,
        queue text not null,
        input json,
        configuration json not null,
        output_schema json not null,
        repeatable boolean not null,
        max_attempts int not null,
        lease_ms int not null,
        attempt int not null default 0,
        holder text,
        worker text,
        available_at timestamptz not null default clock_timestamp(),
        expires_at timestamptz not null,
        progress text,
        last_error text,
        created_at timestamptz not null default clock_timestamp(),
        leased_at timestamptz,
        finished_at timestamptz,
        outcome text check (outcome in ('completed', 'failed', 'timed_out', 'cancelled')),
        answer_digest text,
        taken_at timestamptz,
        unique (run_id, key),
        check ((finished_at is null) = (outcome is null))
      )`);
    this.addSql(`create index job_agent on job (agent_id, id)`);
    this.addSql(`
      create index job_open on job (agent_id, queue, id) where finished_at is null and kind = 'worker'`);
    this.addSql(`
      create index job_leased on job (available_at) where finished_at is null and holder is not null`);
    this.addSql(`
      create index job_untaken on job (finished_at) where finished_at is not null and taken_at is null`);
  }

  #workers(): void {
    this.addSql(`
      create table worker_token (
        id uuid not null primary key,
        owner_id uuid not null references user_account on delete cascade,
        name text not null,
        secret_hash text not null unique,
        created_at timestamptz not null default clock_timestamp(),
        expires_at timestamptz not null,
        last_used timestamptz
      )`);
    this.addSql(`create index worker_token_owner on worker_token (owner_id)`);
    this.addSql(`
      create table worker_token_agent (
        token_id uuid not null references worker_token on delete cascade,
        agent_id uuid not null references agent on delete cascade,
        primary key (token_id, agent_id)
      )`);
    this.addSql(`create index worker_token_agent_agent on worker_token_agent (agent_id)`);
    this.addSql(`
      create trigger worker_token_deleted after delete on worker_token for each statement
        execute function notify_account_change()`);
    this.addSql(`
      create table worker_seen (
        agent_id uuid not null references agent on delete cascade,
        holder text not null,
        worker text not null,
        seen_at timestamptz not null,
        primary key (agent_id, holder, worker)
      )`);
  }
}
