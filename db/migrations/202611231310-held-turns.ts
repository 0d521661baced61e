import { Migration } from '@mikro-orm/migrations';

/**
 * Turns of calls that go on outside, questions about budgets that all runs share, budgets of scheduled runs,
 * and indexes for jobs and budgets.
 */
export class Migration202611231310HeldTurns extends Migration {
  override up(): void {
    // `job`: until the outcome from outside is stored. `run`: until the run that is the call has ended.
    this.addSql(`alter table agent_turn add column held_by text check (held_by in ('job', 'run'))`);
    this.#questions();
    this.addSql('alter table workflow_schedule add column budget jsonb');
    this.#indexes();
  }

  #questions(): void {
    // A budget has one open question at a time, whichever runs have found it used up.
    this.addSql(`
      create table budget_question (
        subject_id uuid primary key references budget (subject_id) on delete cascade,
        -- The run that asks.
        run_id uuid not null references run (id) on delete cascade,
        asked_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql('create index budget_question_run on budget_question (run_id)');
    this.addSql(`
      create table budget_wait (
        run_id uuid not null references run (id) on delete cascade,
        -- Of the invocation that found the budget used up first.
        key text not null,
        subject_id uuid not null references budget (subject_id) on delete cascade,
        -- The question was answered with no while the call waited.
        rejected boolean not null default false,
        woken_at timestamptz,
        since timestamptz not null default clock_timestamp(),
        primary key (run_id, key)
      )`);
    this.addSql('create index budget_wait_subject on budget_wait (subject_id, since)');
    this.addSql('create index budget_wait_asleep on budget_wait (subject_id) where woken_at is null');
  }

  #indexes(): void {
    this.addSql('create index budget_of_subject on budget (subject, subject_id)');
    this.addSql('create index agent_with_budget on agent (owner_id, id) where budget is not null');
    this.addSql('create index workflow_with_budget on workflow (owner_id, id) where budget is not null');
    this.addSql('create index run_with_budget on run (owner_id, id) where budget_id = id');
    // Workers take the oldest job; those that others hold, or did hold, are few.
    const open = `where finished_at is null and kind = 'worker'`;
    this.addSql(`create index job_waiting on job (agent_id, id) ${open} and holder is null`);
    this.addSql(`create index job_waiting_in on job (agent_id, queue, id) ${open} and holder is null`);
    this.addSql(`create index job_held on job (agent_id, available_at) ${open} and holder is not null`);
    this.addSql('drop index job_open');
  }
}
