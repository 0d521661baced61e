import { Migration } from '@mikro-orm/migrations';

/** Conversations of language models: the turns of a run, and what an agent remembers of a session. */
export class Migration202611230940Conversations extends Migration {
  override up(): void {
    this.addSql(`
      create table chat_session (
        id uuid primary key,
        agent_id uuid not null references agent (id) on delete cascade,
        owner_id uuid not null references user_account (id),
        name text not null,
        holder_run uuid,
        holder_task text,
        holder_visit integer,
        created_at timestamptz not null default clock_timestamp(),
        updated_at timestamptz not null default clock_timestamp(),
        unique (agent_id, owner_id, name)
      )`);
    this.addSql(`create index chat_session_owner on chat_session (owner_id)`);
    this.addSql(`
      create table chat_message (
        session_id uuid not null references chat_session (id) on delete cascade,
        number bigint generated always as identity,
        conversation_id uuid not null,
        role text not null,
        text text not null,
        said_at timestamptz not null default clock_timestamp(),
        primary key (session_id, number),
        unique (session_id, conversation_id, role)
      )`);
    this.addSql(`
      create table conversation (
        id uuid primary key,
        run_id uuid not null references run (id) on delete cascade,
        agent_id uuid not null,
        session_id uuid references chat_session (id) on delete set null,
        input json,
        tools json not null,
        history json not null,
        begun_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql(`create index conversation_run on conversation (run_id)`);
    this.addSql(
      `create index conversation_session on conversation (session_id) where session_id is not null`,
    );
    this.addSql(`
      create table conversation_turn (
        conversation_id uuid not null references conversation (id) on delete cascade,
        turn integer not null,
        attempts integer not null default 1,
        answers json not null,
        repair text,
        messages json,
        outcome json,
        begun_at timestamptz not null default clock_timestamp(),
        finished_at timestamptz,
        primary key (conversation_id, turn)
      )`);
  }
}
