import { Migration } from '@mikro-orm/migrations';

/** Limits of the calls of one agent, kept across workers (docs/agents.md#limits). */
export class Migration202611231011AgentLimits extends Migration {
  override up(): void {
    this.addSql('alter table agent add column limits jsonb');
    // What the limits of an agent have come to; a row from its first limited call on.
    this.addSql(`
      create table agent_gate (
        agent_id uuid primary key references agent (id) on delete cascade,
        -- When the calls that were admitted are spread out (generic cell rate algorithm).
        busy_until timestamptz not null default '-infinity',
        circuit text not null default 'closed' check (circuit in ('closed', 'open', 'half_open')),
        -- When the circuit came into this state.
        circuit_since timestamptz not null default clock_timestamp(),
        -- When an open circuit admits a call as a trial.
        trial_at timestamptz,
        -- Failures without a success between them.
        failures int not null default 0,
        failing_since timestamptz
      )`);
    this.addSql(`create index agent_gate_open on agent_gate (circuit) where circuit <> 'closed'`);
    // Calls that are admitted, or wait for it. A call has a row until it ends; those of dead workers expire.
    this.addSql(`
      create table agent_turn (
        run_id uuid not null references run (id) on delete cascade,
        -- Of the invocation.
        key text not null,
        agent_id uuid not null references agent (id) on delete cascade,
        -- The order of waiting calls.
        number bigint not null generated always as identity,
        state text not null check (state in ('waiting', 'calling')),
        since timestamptz not null default clock_timestamp(),
        -- Of a waiting call: when the rate admits it.
        admitted_at timestamptz,
        -- A call that does not renew it by then has lost its turn.
        expires_at timestamptz not null,
        primary key (run_id, key)
      )`);
    this.addSql('create index agent_turn_agent on agent_turn (agent_id, state, number)');
  }
}
