import { Migration } from '@mikro-orm/migrations';

/** The locks of a change to a human task, and the writes of a decision, as one statement each: people and runs wait for them. */
export class Migration0018Decide extends Migration {
  override up(): void {
    this.addSql(`
create function lock_human_task(p_run uuid, p_task uuid, out run_status text, out version text, out now text, out late boolean)
language plpgsql as $$
declare
  expires timestamptz;
  at timestamptz;
begin
  select r.status into run_status from run r where r.id = p_run for update;
  select t.xmin::text, t.expires_at into version, expires from hitl_task t where t.id = p_task for update;
  -- The time after the waiting.
  at := clock_timestamp();
  now := to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  late := coalesce(expires <= at, false);
end $$;

create function audit_and_append(p_run uuid, p_audit json, p_events json, p_signal uuid) returns jsonb
language plpgsql as $$
begin
  insert into hitl_audit (id, task_id, run_id, actor_id, actor_name, action, via, as_admin, data)
  select id, task_id, run_id, actor_id, actor_name, action, via, as_admin, data
    from json_to_recordset(p_audit) as r (id uuid, task_id uuid, run_id uuid, actor_id uuid, actor_name text, action text,
                                          via text, as_admin boolean, data jsonb);
  return append_run_events(p_run, p_events, null, '{}', p_signal);
end $$;

create function decide_human_task(p_run uuid, p_decision json, p_audit json, p_events json, p_signal uuid, p_notice json) returns text
language plpgsql as $$
declare
  changed timestamptz;
begin
  insert into hitl_decision (id, task_id, decision, payload, comment, decided_by, decided_at, via, as_admin)
  select id, task_id, decision, payload, comment, decided_by, decided_at, via, as_admin
    from json_to_record(p_decision) as r (id uuid, task_id uuid, decision text, payload json, comment text, decided_by uuid,
                                          decided_at timestamptz, via text, as_admin boolean);
  update hitl_task set status = 'decided', updated_at = clock_timestamp() where id = (p_decision ->> 'task_id')::uuid
  returning updated_at into changed;
  perform audit_and_append(p_run, p_audit, p_events, p_signal);
  if p_notice is not null then
    -- The signal's id is the decision's. The run is locked, and was not over.
    insert into run_signal (id, run_id, kind, payload, by_id)
    values ((p_decision ->> 'id')::uuid, p_run, 'hitl.decision', p_notice, (p_decision ->> 'decided_by')::uuid);
  end if;
  return to_char(changed at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
end $$;
`);
  }
}
