import { Migration } from '@mikro-orm/migrations';
import { readFunctionFile } from '../function-files.ts';

/** Budgets, prices, and usage by day (docs/budgets.md). */
export class Migration202611231010Spending extends Migration {
  override up(): void {
    this.#budgets();
    this.#prices();
    this.#usage();
  }

  #budgets(): void {
    this.addSql(`
      create table budget (
        -- Of the agent, workflow, user or run. A retry has the budget of the run that it retries.
        subject_id uuid primary key,
        subject text not null check (subject in ('run', 'workflow', 'agent', 'user')),
        max_cost_usd numeric(20, 9),
        max_tokens bigint,
        max_invocations bigint,
        -- day, month, or an ISO 8601 duration.
        window_length text,
        on_exceed text not null default 'stop' check (on_exceed in ('stop', 'ask')),
        window_from timestamptz,
        window_to timestamptz,
        -- In this window.
        used_cost_usd numeric(20, 9) not null default 0,
        used_tokens bigint not null default 0,
        used_invocations bigint not null default 0,
        -- Calls of unknown cost among them.
        used_unpriced bigint not null default 0,
        -- By calls under way, in any window.
        held_cost_usd numeric(20, 9) not null default 0,
        held_tokens bigint not null default 0,
        held_invocations bigint not null default 0,
        -- By which it was raised for this window.
        more_cost_usd numeric(20, 9) not null default 0,
        more_tokens bigint not null default 0,
        more_invocations bigint not null default 0,
        created_at timestamptz not null default clock_timestamp()
      )`);
    this.addSql(`
      create table budget_hold (
        run_id uuid not null references run (id) on delete cascade,
        -- Of the invocation.
        key text not null,
        subject_id uuid not null references budget (subject_id) on delete cascade,
        cost_usd numeric(20, 9) not null,
        tokens bigint not null,
        invocations int not null,
        primary key (run_id, key, subject_id)
      )`);
    // Human tasks whose decision has raised a budget: repeats and other branches do not raise it again.
    this.addSql(`
      create table budget_raise (
        run_id uuid not null references run (id) on delete cascade,
        task_id uuid not null,
        primary key (run_id, task_id)
      )`);
    this.addSql('create index budget_hold_subject on budget_hold (subject_id)');
    this.addSql(readFunctionFile('follow_budget').sql);
    for (const table of ['agent', 'workflow', 'user_account']) {
      this.addSql(`alter table ${table} add column budget jsonb`);
      this.addSql(`
        create trigger ${table}_budget after insert or delete or update of budget on ${table}
          for each row execute function follow_budget('${table.replace('_account', '')}')`);
    }
    // Whose budgets bear what the run uses, besides its owner's: those of its workflow, and of the workflows
    // and agents whose runs it is part of. `budget_id`: of the root run, or of the run that it retries.
    this.addSql(`
      alter table run add column charged uuid[] not null default '{}', add column budget_id uuid`);
    this.addSql('create index run_budget on run (budget_id) where budget_id is not null');
    this.addSql('update run set charged = array[workflow_id] where workflow_id is not null');
  }

  #prices(): void {
    this.addSql(`
      create table price (
        id uuid primary key,
        -- Null: of every provider.
        provider text,
        model text not null,
        input_per_million_usd numeric(18, 9) not null,
        output_per_million_usd numeric(18, 9) not null,
        -- Null: as other input.
        cached_input_per_million_usd numeric(18, 9),
        valid_from timestamptz not null,
        valid_to timestamptz,
        created_at timestamptz not null default clock_timestamp(),
        updated_at timestamptz not null default clock_timestamp(),
        unique nulls not distinct (provider, model, valid_from)
      )`);
    // Grows with every change, in its transaction: workers keep the prices until it does.
    this.addSql(`alter table maintenance add column prices_version bigint not null default 0`);
  }

  #usage(): void {
    this.addSql(`
      alter table usage_record
        add column workflow_id uuid,
        -- JSON pointer.
        add column task text,
        add column model text,
        add column input_tokens bigint not null default 0,
        add column output_tokens bigint not null default 0,
        -- Null: unknown; 0: it has no price.
        add column cost_usd numeric(20, 9) default 0,
        -- Whether usage_day has it.
        add column folded boolean not null default false`);
    this.addSql(`
      update usage_record u
         set input_tokens = coalesce(case when jsonb_typeof(u.usage -> 'input_tokens') = 'number'
                                          then (u.usage ->> 'input_tokens')::numeric::bigint end, 0),
             output_tokens = coalesce(case when jsonb_typeof(u.usage -> 'output_tokens') = 'number'
                                           then (u.usage ->> 'output_tokens')::numeric::bigint end, 0),
             model = left(u.usage ->> 'model', 255),
             cost_usd = case when u.usage ? 'input_tokens' then null else 0 end,
             workflow_id = (select r.workflow_id from run r where r.id = u.run_id)`);
    this.addSql('create index usage_record_task on usage_record (user_id, run_id, task)');
    this.addSql('drop index usage_record_run');
    this.addSql('create index usage_record_run on usage_record (run_id, task)');
    this.addSql('create index usage_record_agent on usage_record (agent_id, at)');
    this.addSql('create index usage_record_fresh on usage_record (id) where not folded');
    this.addSql(`
      create table usage_day (
        -- Not foreign keys, like the other records that outlive runs.
        user_id uuid not null,
        -- Of UTC.
        day date not null,
        workflow_id uuid,
        agent_id uuid,
        model text,
        invocations bigint not null,
        -- Those of unknown cost.
        unpriced bigint not null,
        input_tokens bigint not null,
        output_tokens bigint not null,
        cost_usd numeric(20, 9) not null,
        unique nulls not distinct (user_id, day, workflow_id, agent_id, model)
      )`);
    this.addSql('create index usage_day_day on usage_day (day, user_id)');
  }
}
